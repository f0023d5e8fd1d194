#include "device.cuh"
#include "quantized_product.cuh"

// The product of quantized_gemm.cu for few rows (NUM_ROWS), where time goes into reading `right` once.
//   left   element (r, k) of a batch at r * left_row_stride + k * left_depth_stride
// quantized_gemv_dot     right is [columns, depth]: a warp makes one column, its lanes share the depth
// quantized_gemv_column  right is [depth, columns]: a lane makes COLUMNS neighbouring columns (4 where
//                        these are words, or 1), NUM_SLICES warps share the depth
// LEFT_WORDS and RIGHT_WORDS tell that four elements that are neighbours in the depth are words of the
// operand's memory. blockIdx.x counts groups of columns, then batches.

using quantized_product::dot4;
using quantized_product::kOnes;
using quantized_product::Left;
using quantized_product::Out;
using quantized_product::Right;
using quantized_product::Signed;

constexpr int kWarpsPerBlock = 4;

// Elements k to k + 3 of a row of the depth, 0 beyond it.
template <bool kWords, class T>
CG_DEV unsigned load_word(const T* row, long long stride, int k, int depth) {
  if constexpr (kWords) {
    return Signed<T>::word(row + k);
  } else {
    unsigned word = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (k + i < depth) word |= Signed<T>::byte(row[(k + i) * stride]) << 8 * i;
    }
    return word;
  }
}

// What (l - left_zero) * (r - right_zero) sums up to over `depth` elements.
CG_DEV unsigned centred(unsigned products, unsigned left_sum, unsigned right_sum, int left_zero,
                        int right_zero, int depth) {
  return products - unsigned(right_zero) * left_sum - unsigned(left_zero) * right_sum +
         unsigned(depth) * unsigned(left_zero) * unsigned(right_zero);
}

extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock)
    quantized_gemv_dot(const LEFT* __restrict__ left, const RIGHT* __restrict__ right,
                       OUT* __restrict__ y, const LEFT* __restrict__ left_zero,
                       const RIGHT* __restrict__ right_zero, const SCALE* __restrict__ left_scale,
                       const SCALE* __restrict__ right_scale, const SCALE* __restrict__ y_scale,
                       const OUT* __restrict__ y_zero, const BIAS* __restrict__ bias, int columns,
                       int depth, long long left_row_stride, long long left_depth_stride,
                       int batch_rank, CG_PARAM Dims batch_shape, CG_PARAM Dims left_strides,
                       CG_PARAM Dims right_strides, quantized_product::Counts counts, float alpha) {
  const int lane = threadIdx.x % 32;
  const int groups = (columns - 1) / kWarpsPerBlock + 1;
  const int batch = blockIdx.x / groups;
  const int column = blockIdx.x % groups * kWarpsPerBlock + threadIdx.x / 32;
  if (column >= columns) return;  // a whole warp
  const quantized_product::Offsets offsets =
      quantized_product::batch_offsets(batch, batch_rank, batch_shape, left_strides, right_strides);
  const Left* from = left + offsets.left;
  const Right* weights = right + offsets.right + (long long)column * depth;

  unsigned products[NUM_ROWS] = {}, left_sums[NUM_ROWS] = {}, right_sum = 0;
#pragma unroll 4
  for (int k = 4 * lane; k < depth; k += 4 * 32) {
    const unsigned b = load_word<RIGHT_WORDS>(weights, 1, k, depth);
    right_sum = dot4(b, kOnes, right_sum);
#pragma unroll
    for (int r = 0; r < NUM_ROWS; ++r) {
      const unsigned a =
          load_word<LEFT_WORDS>(from + r * left_row_stride, left_depth_stride, k, depth);
      left_sums[r] = dot4(a, kOnes, left_sums[r]);
      products[r] = dot4(a, b, products[r]);
    }
  }
  const quantized_product::Epilogue finish = {left_zero, right_zero, left_scale, right_scale, y_scale,
                                              y_zero,    bias,       counts,     alpha};
  const int left_index0 = depth > 0 ? int(offsets.left / depth) : 0;
  const int right_index = (depth > 0 ? int(offsets.right / depth) : 0) + column;
  const int right_zero_point = finish.right_zero_point(right_index);
  right_sum = cg_warp_sum(right_sum);
#pragma unroll
  for (int r = 0; r < NUM_ROWS; ++r) {
    const unsigned sum =
        centred(cg_warp_sum(products[r]), cg_warp_sum(left_sums[r]), right_sum,
                finish.left_zero_point(left_index0 + r), right_zero_point, depth);
    if (lane == 0) {
      y[((long long)batch * NUM_ROWS + r) * columns + column] =
          finish(sum, r, column, left_index0 + r, right_index);
    }
  }
}

extern "C" __global__ void __launch_bounds__(32 * NUM_SLICES)
    quantized_gemv_column(const LEFT* __restrict__ left, const RIGHT* __restrict__ right,
                          OUT* __restrict__ y, const LEFT* __restrict__ left_zero,
                          const RIGHT* __restrict__ right_zero,
                          const SCALE* __restrict__ left_scale,
                          const SCALE* __restrict__ right_scale, const SCALE* __restrict__ y_scale,
                          const OUT* __restrict__ y_zero, const BIAS* __restrict__ bias,
                          int columns, int depth, long long left_row_stride,
                          long long left_depth_stride, int batch_rank, CG_PARAM Dims batch_shape,
                          CG_PARAM Dims left_strides, CG_PARAM Dims right_strides,
                          quantized_product::Counts counts, float alpha) {
  constexpr int kGroup = 32 * COLUMNS;
  __shared__ unsigned partial[NUM_ROWS][NUM_SLICES][kGroup];
  const int lane = threadIdx.x % 32;
  const int slice = threadIdx.x / 32;
  const int groups = (columns - 1) / kGroup + 1;
  const int batch = blockIdx.x / groups;
  const int group0 = blockIdx.x % groups * kGroup;
  const int column0 = group0 + lane * COLUMNS;
  const quantized_product::Offsets offsets =
      quantized_product::batch_offsets(batch, batch_rank, batch_shape, left_strides, right_strides);
  const Left* from = left + offsets.left;
  const Right* weights = right + offsets.right + column0;
  const quantized_product::Epilogue finish = {left_zero, right_zero, left_scale, right_scale, y_scale,
                                              y_zero,    bias,       counts,     alpha};
  const int left_index0 = depth > 0 ? int(offsets.left / depth) : 0;
  const int right_index0 = depth > 0 ? int(offsets.right / depth) : 0;

  unsigned products[NUM_ROWS][COLUMNS] = {}, left_sums[NUM_ROWS] = {}, right_sums[COLUMNS] = {};
  int own_depth = 0;
  if (column0 < columns) {
#pragma unroll 2
    for (int k = 4 * slice; k < depth; k += 4 * NUM_SLICES) {
      unsigned b[4] = {};  // of column j: elements k to k + 3
      if constexpr (COLUMNS == 4) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (k + i < depth) b[i] = Signed<Right>::word(weights + (long long)(k + i) * columns);
        }
        quantized_product::transpose_bytes(b);
      } else {
        b[0] = load_word<false>(weights, columns, k, depth);
      }
      own_depth += depth - k < 4 ? depth - k : 4;
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) right_sums[j] = dot4(b[j], kOnes, right_sums[j]);
#pragma unroll
      for (int r = 0; r < NUM_ROWS; ++r) {
        const unsigned a =
            load_word<LEFT_WORDS>(from + r * left_row_stride, left_depth_stride, k, depth);
        left_sums[r] = dot4(a, kOnes, left_sums[r]);
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) products[r][j] = dot4(a, b[j], products[r][j]);
      }
    }
  }
#pragma unroll
  for (int j = 0; j < COLUMNS; ++j) {
    const bool inside = column0 + j < columns;
    const int right_zero_point =
        inside ? finish.right_zero_point(right_index0 + column0 + j) : 0;
#pragma unroll
    for (int r = 0; r < NUM_ROWS; ++r) {
      partial[r][slice][lane * COLUMNS + j] =
          centred(products[r][j], left_sums[r], right_sums[j],
                  finish.left_zero_point(left_index0 + r), right_zero_point, own_depth);
    }
  }
  __syncthreads();
  for (int output = threadIdx.x; output < NUM_ROWS * kGroup; output += 32 * NUM_SLICES) {
    const int r = output / kGroup, column = group0 + output % kGroup;
    if (column >= columns) continue;
    unsigned sum = 0;
    for (int s = 0; s < NUM_SLICES; ++s) sum += partial[r][s][output % kGroup];
    y[((long long)batch * NUM_ROWS + r) * columns + column] =
        finish(sum, r, column, left_index0 + r, right_index0 + column);
  }
}
