#include "device.cuh"

#include "acc_pack.cuh"
#include "reduction.cuh"

// The first half of squeeze-and-excite, shared by blocks: each takes 32 channels and a part of an
// image's positions, and multiplies its share of their means by the first weights.
//   x        [images, positions, channels]
//   weights  [squeezed, channels]
//   partial  [images, channel groups, parts, squeezed]: products whose sum over groups and parts is
//            weights @ mean of x
// blockIdx is (image, group, part); a part has part_size positions, the last one maybe fewer.
//
// Macros
//   SCALAR   element type
//   VECTOR   channels that one load brings: 4, or 1 where their number is no multiple of it
//   INDEX    integer type of offsets

typedef SCALAR Scalar;
typedef Acc<Scalar>::type Accumulator;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kGroup = 32;  // channels of a block
constexpr int kRows = kThreads / (kGroup / VECTOR);  // positions that are read together

// Pairwise, so that rounding errors grow with the logarithm.
template <int kCount>
CG_DEV Accumulator sum_of_rows(const Accumulator (*rows)[kGroup], int column) {
  if constexpr (kCount == 1) {
    return rows[0][column];
  } else {
    constexpr int kHalf = kCount / 2;
    return sum_of_rows<kHalf>(rows, column) + sum_of_rows<kHalf>(rows + kHalf, column);
  }
}

// Shares of the means of a block's channels; each warp has that of channel l in its lane l.
CG_DEV Accumulator share_of_mean(const Scalar* image, int channels, int positions, int part_size) {
  __shared__ Accumulator sums[kRows][kGroup];
  const int row = threadIdx.x / (kGroup / VECTOR);
  const int column = threadIdx.x % (kGroup / VECTOR) * VECTOR;
  const int channel = blockIdx.y * kGroup + column;
  const int first = blockIdx.z * part_size, last = cg_min(first + part_size, positions);
  RunningSum<Accumulator> own[VECTOR];
  if (channel < channels) {
#pragma unroll 4
    for (int p = first + row; p < last; p += kRows) {
      const AccPack<Scalar, VECTOR> x(image + INDEX(p) * channels + channel);
#pragma unroll
      for (int i = 0; i < VECTOR; ++i) own[i].add(x.v[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < VECTOR; ++i) sums[row][column + i] = own[i].total();
  __syncthreads();
  return sum_of_rows<kRows>(sums, threadIdx.x % 32) / Accumulator(positions);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    squeeze(Accumulator* __restrict__ partial, const Scalar* __restrict__ x,
            const Scalar* __restrict__ weights, int positions, int channels, int squeezed,
            int part_size) {
  const int channel = blockIdx.y * kGroup + threadIdx.x % 32;
  const Scalar* image = x + INDEX(blockIdx.x) * positions * channels;
  const Accumulator mean = share_of_mean(image, channels, positions, part_size);
  partial += INDEX((blockIdx.x * gridDim.y + blockIdx.y) * gridDim.z + blockIdx.z) * squeezed;
#pragma unroll 4
  for (int s = threadIdx.x / 32; s < squeezed; s += kWarps) {
    const Accumulator product =
        channel < channels ? mean * Accumulator(weights[INDEX(s) * channels + channel])
                           : Accumulator(0);
    const Accumulator sum = cg_warp_sum(product);
    if (threadIdx.x % 32 == 0) partial[s] = sum;
  }
}
