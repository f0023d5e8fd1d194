#include "device.cuh"

// y = x @ weights.T + bias for weights of BITS bits (2, 4, 8), quantised in blocks along the depth:
// (w - zero_point) * scale, with a scale and a zero point for each block.
//   x        [rows, depth]
//   weights  [columns, num_blocks * block_size], packed, the low bits of a byte first
//   scales   [columns, num_blocks]
//   zeros    likewise: packed, each row padded to whole bytes, if ZEROS is 1; of x's type if it is 2;
//            the middle of the range if it is 0
//   bias     [columns] or null
//   y        [rows, columns]
// A warp makes one column of NUM_ROWS rows; its lanes share the depth, a word of weights at a time.
// blockIdx.x counts groups of kWarpsPerBlock columns, then groups of rows. VECTOR is 4 where depth is a
// multiple of 4, else 1. SCALAR: the type of x, scales, bias and y.

typedef SCALAR Scalar;

constexpr int kWarpsPerBlock = 4;
constexpr int kPerWord = 32 / BITS;
constexpr unsigned kMask = (1u << BITS) - 1;

// Elements k to k + kPerWord - 1 of a row, 0 beyond its end.
CG_DEV void load_elements(const Scalar* row, int k, int depth, float (&element)[kPerWord]) {
#pragma unroll
  for (int i = 0; i < kPerWord; i += VECTOR) {
    if constexpr (VECTOR == 4) {
      Pack4<Scalar> pack = {};
      if (k + i < depth) pack = cg_load4(row + k + i);
#pragma unroll
      for (int j = 0; j < 4; ++j) element[i + j] = float(pack.v[j]);
    } else {
      element[i] = k + i < depth ? float(row[k + i]) : 0.0f;
    }
  }
}

CG_DEV float zero_point(const void* zeros, int column, int block, int num_blocks) {
#if ZEROS == 0
  return float(1 << (BITS - 1));
#elif ZEROS == 1
  const long long row_bytes = ((long long)num_blocks * BITS + 7) / 8;
  const unsigned byte =
      static_cast<const unsigned char*>(zeros)[column * row_bytes + block * BITS / 8];
  return float(byte >> block * BITS % 8 & kMask);
#else
  return float(static_cast<const Scalar*>(zeros)[(long long)column * num_blocks + block]);
#endif
}

extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock)
    block_quantized(const Scalar* __restrict__ x, const unsigned* __restrict__ weights,
                    const Scalar* __restrict__ scales, const void* __restrict__ zeros,
                    const Scalar* __restrict__ bias, Scalar* __restrict__ y, int rows, int columns,
                    int depth, int block_size, int num_blocks) {
  const int lane = threadIdx.x % 32;
  const int groups = (columns - 1) / kWarpsPerBlock + 1;
  const int column = blockIdx.x % groups * kWarpsPerBlock + threadIdx.x / 32;
  const long long row0 = (long long)(blockIdx.x / groups) * NUM_ROWS;
  if (column >= columns) return;  // a whole warp
  const int num_words = num_blocks * (block_size / kPerWord);
  const unsigned* from = weights + (long long)column * num_words;

  float sums[NUM_ROWS] = {};
  for (int word = lane; word < num_words; word += 32) {
    const int k = word * kPerWord;
    if (k >= depth) break;
    const int block = k / block_size;
    const unsigned packed = from[word];
    const float scale = float(scales[(long long)column * num_blocks + block]);
    const float zero = zero_point(zeros, column, block, num_blocks);
    float weight[kPerWord];
#pragma unroll
    for (int i = 0; i < kPerWord; ++i) {
      weight[i] = (float(packed >> BITS * i & kMask) - zero) * scale;
    }
#pragma unroll
    for (int r = 0; r < NUM_ROWS; ++r) {
      if (row0 + r >= rows) continue;
      float element[kPerWord];
      load_elements(x + (row0 + r) * depth, k, depth, element);
#pragma unroll
      for (int i = 0; i < kPerWord; ++i) sums[r] = cg_fma(element[i], weight[i], sums[r]);
    }
  }
  const float term = bias == nullptr ? 0.0f : float(bias[column]);
#pragma unroll
  for (int r = 0; r < NUM_ROWS; ++r) {
    const float sum = cg_warp_sum(sums[r]) + term;
    if (lane == 0 && row0 + r < rows) y[(row0 + r) * columns + column] = cg_cast<Scalar>(sum);
  }
}
