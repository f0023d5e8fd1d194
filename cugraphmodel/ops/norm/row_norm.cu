#include "device.cuh"

#include "reduction.cuh"

// out = (x - mean) / sqrt(variance + epsilon) * scale + bias over each row of
// x[num_rows, row_size].
//
// A row belongs to ROW_THREADS threads: one warp (four rows a block), or the whole block. The mean
// is refined once, so that neither a large mean nor a long row costs digits.
//
// Where there is a residual, x + residual is normalised in the place of x, and stored in
// sum_out[num_rows, row_size] unless that is null. ITEMS is not 0 then.
//
// Macros
//   SCALAR, COMPUTE, STAT    element types of x and out; of the arithmetic; of mean and inv_std
//   CENTERED                 1; 0 takes 0 for the mean, and mean(x^2) for the variance
//   AFFINE_INDEX             element of scale and bias, from row, i, row_size, period and inner
//   ROW_THREADS, ITEMS       threads a row; elements a thread keeps in registers, 0 for none
//
// residual, sum_out, bias, mean and inv_std may be null.

#define BLOCK_THREADS (ROW_THREADS == 32 ? 128 : ROW_THREADS)

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    row_norm(SCALAR* out, const SCALAR* x, const SCALAR* residual, SCALAR* sum_out,
             const SCALAR* scale, const SCALAR* bias, STAT* mean, STAT* inv_std, long long num_rows,
             long long row_size, long long period, long long inner, float epsilon) {
  const int lane = threadIdx.x % ROW_THREADS;
  const long long row =
      (long long)blockIdx.x * (BLOCK_THREADS / ROW_THREADS) + threadIdx.x / ROW_THREADS;
  const bool inside = row < num_rows;
  RowItems<SCALAR, ROW_THREADS, ITEMS> items(x + row * row_size, lane, inside ? row_size : 0);
  if (residual != nullptr) {
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      if (items.index(k) >= items.size) continue;
      const long long at = row * row_size + items.index(k);
      items.held[k] += cg_cast<COMPUTE>(residual[at]);
      if (sum_out != nullptr) sum_out[at] = cg_cast<SCALAR>(items.held[k]);
    }
  }
  const COMPUTE count = COMPUTE(row_size);

  COMPUTE center = COMPUTE(0);
  COMPUTE shift = COMPUTE(0);
  if (CENTERED) {
    RunningSum<COMPUTE> sum;
    items.each([&](long long, COMPUTE v) { sum.add(v); });
    center = row_sum<ROW_THREADS>(sum.total()) / count;
  }
  RunningSum<COMPUTE> first, second;
  items.each([&](long long, COMPUTE v) {
    const COMPUTE d = v - center;
    first.add(d);
    second.add(d * d);
  });
  if (CENTERED) shift = row_sum<ROW_THREADS>(first.total()) / count;
  const COMPUTE square = row_sum<ROW_THREADS>(second.total()) / count;
  const COMPUTE scaling = cg_rsqrt(cg_fma(-shift, shift, square) + COMPUTE(epsilon));

  items.each([&](long long i, COMPUTE v) {
    const long long at = AFFINE_INDEX;
    const COMPUTE normalized = (v - center - shift) * scaling;
    const COMPUTE offset = bias == nullptr ? COMPUTE(0) : cg_cast<COMPUTE>(bias[at]);
    out[row * row_size + i] =
        cg_cast<SCALAR>(cg_fma(normalized, cg_cast<COMPUTE>(scale[at]), offset));
  });
  if (inside && lane == 0) {
    // Around an infinite center the shift is NaN.
    if (mean != nullptr) mean[row] = cg_cast<STAT>(shift == shift ? center + shift : center);
    if (inv_std != nullptr) inv_std[row] = cg_cast<STAT>(scaling);
  }
}
