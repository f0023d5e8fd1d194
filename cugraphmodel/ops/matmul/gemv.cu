#include "device.cuh"
#include "lanes.cuh"
#include "product.cuh"

// The product of gemm.cu for few rows (NUM_ROWS), where time goes into reading `right` once.
//   left   element (r, k) of a batch at r * left_row_stride + k * left_depth_stride
// gemv_dot     right is [columns, depth]: a warp makes one column, its lanes share the depth
// gemv_column  right is [depth, columns]: a lane makes one column, NUM_SLICES warps share the depth
// VECTOR is 4 where depth is a multiple of 4, else 1. blockIdx.x counts groups of columns, then batches.

constexpr int kWarpsPerBlock = 4;

typedef Lanes<Accumulator, VECTOR> Vector;

// VECTOR neighbouring elements, 4 in one access.
CG_DEV Vector load_neighbours(const Scalar* from) {
  Vector result;
#if VECTOR == 4
  const Pack4<Scalar> pack = cg_load4(from);
#pragma unroll
  for (int i = 0; i < 4; ++i) result.v[i] = Accumulator(pack.v[i]);
#else
  result.v[0] = Accumulator(*from);
#endif
  return result;
}

CG_DEV Vector load_strided(const Scalar* from, long long stride) {
  Vector result;
#pragma unroll
  for (int i = 0; i < VECTOR; ++i) result.v[i] = Accumulator(from[i * stride]);
  return result;
}

extern "C" __global__ void __launch_bounds__(32 * kWarpsPerBlock)
    gemv_dot(const Scalar* __restrict__ left, const Scalar* __restrict__ right,
             const Scalar* __restrict__ bias, const Result* __restrict__ residual,
             Result* __restrict__ y, int columns, int depth, long long left_row_stride,
             long long left_depth_stride, int batch_rank, Dims batch_shape, Dims left_strides,
             Dims right_strides, long long bias_row_stride, long long bias_column_stride,
             float alpha, float beta, float activation_a, float activation_b) {
  const int lane = threadIdx.x % 32;
  const int groups = (columns - 1) / kWarpsPerBlock + 1;
  const int batch = blockIdx.x / groups;
  const int column = blockIdx.x % groups * kWarpsPerBlock + threadIdx.x / 32;
  const Operands mine =
      of_batch({left, right}, batch, batch_rank, batch_shape, left_strides, right_strides);
  const Scalar* weights = mine.right + (long long)column * depth;

  Vector sums[NUM_ROWS] = {};
  if (column < columns) {
#pragma unroll 4
    for (int k = lane * VECTOR; k < depth; k += 32 * VECTOR) {
      const Vector weight = load_neighbours(weights + k);
#pragma unroll
      for (int r = 0; r < NUM_ROWS; ++r) {
        const Scalar* from = mine.left + r * left_row_stride + k * left_depth_stride;
        const Vector element =
            left_depth_stride == 1 ? load_neighbours(from) : load_strided(from, left_depth_stride);
        sums[r] = fma_lanes(element, weight, sums[r]);
      }
    }
  }
  const long long first = (long long)batch * NUM_ROWS * columns;
  const Epilogue finish = {bias, bias_row_stride, bias_column_stride, alpha, beta, activation_a,
                           activation_b, residual == nullptr ? nullptr : residual + first, columns};
#pragma unroll
  for (int r = 0; r < NUM_ROWS; ++r) {
    Accumulator sum = sums[r].v[0];
#pragma unroll
    for (int i = 1; i < VECTOR; ++i) sum += sums[r].v[i];
    sum = cg_warp_sum(sum);
    if (lane == 0 && column < columns) {
      y[first + (long long)r * columns + column] = finish(sum, r, column);
    }
  }
}

extern "C" __global__ void __launch_bounds__(32 * NUM_SLICES)
    gemv_column(const Scalar* __restrict__ left, const Scalar* __restrict__ right,
                const Scalar* __restrict__ bias, const Result* __restrict__ residual,
                Result* __restrict__ y, int columns, int depth, long long left_row_stride,
                long long left_depth_stride, int batch_rank, Dims batch_shape, Dims left_strides,
                Dims right_strides, long long bias_row_stride, long long bias_column_stride,
                float alpha, float beta, float activation_a, float activation_b) {
  __shared__ Accumulator partial[NUM_ROWS][NUM_SLICES][32];
  const int lane = threadIdx.x % 32;
  const int slice = threadIdx.x / 32;
  const int groups = (columns - 1) / 32 + 1;
  const int batch = blockIdx.x / groups;
  const int column = blockIdx.x % groups * 32 + lane;
  const Operands mine =
      of_batch({left, right}, batch, batch_rank, batch_shape, left_strides, right_strides);

  Accumulator sums[NUM_ROWS];
#pragma unroll
  for (int r = 0; r < NUM_ROWS; ++r) sums[r] = Accumulator(0);
  if (column < columns) {
#pragma unroll 8
    for (int k = slice; k < depth; k += NUM_SLICES) {
      const Accumulator weight = Accumulator(mine.right[(long long)k * columns + column]);
#pragma unroll
      for (int r = 0; r < NUM_ROWS; ++r) {
        const Scalar element = mine.left[r * left_row_stride + k * left_depth_stride];
        sums[r] = cg_fma(Accumulator(element), weight, sums[r]);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < NUM_ROWS; ++r) partial[r][slice][lane] = sums[r];
  __syncthreads();
  const long long first = (long long)batch * NUM_ROWS * columns;
  const Epilogue finish = {bias, bias_row_stride, bias_column_stride, alpha, beta, activation_a,
                           activation_b, residual == nullptr ? nullptr : residual + first, columns};
  if (slice < NUM_ROWS && column < columns) {
    Accumulator sum = partial[slice][0][lane];
    for (int s = 1; s < NUM_SLICES; ++s) sum += partial[slice][s][lane];
    y[first + (long long)slice * columns + column] = finish(sum, slice, column);
  }
}
