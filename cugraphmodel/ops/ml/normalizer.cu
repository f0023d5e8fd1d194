// out = x / norm over each row of x[num_rows, row_size]; a row whose norm is 0 stays. One warp a
// row.
//
// Macros
//   SCALAR, COMPUTE   element type of x; float or double
//   NORM              norm_max (the largest element, with its sign), norm_l1 or norm_l2
#include "device.cuh"
#include "reduction.cuh"

typedef Acc<SCALAR>::type Item;

CG_DEV COMPUTE norm_max(const RowItems<SCALAR, 32, 0>& items) {
  COMPUTE highest = CgLimits<COMPUTE>::lowest();
  items.each([&](long long, Item v) { highest = cg_max(highest, cg_cast<COMPUTE>(v)); });
  return cg_warp_max(highest);
}

CG_DEV COMPUTE norm_l1(const RowItems<SCALAR, 32, 0>& items) {
  RunningSum<COMPUTE> sum;
  items.each([&](long long, Item v) { sum.add(cg_abs(cg_cast<COMPUTE>(v))); });
  return cg_warp_sum(sum.total());
}

CG_DEV COMPUTE norm_l2(const RowItems<SCALAR, 32, 0>& items) {
  RunningSum<COMPUTE> sum;
  items.each([&](long long, Item v) { sum.add(cg_cast<COMPUTE>(v) * cg_cast<COMPUTE>(v)); });
  return cg_sqrt(cg_warp_sum(sum.total()));
}

extern "C" __global__ void __launch_bounds__(128)
    normalize_rows(const SCALAR* __restrict__ x, float* __restrict__ out, long long num_rows,
                   long long row_size) {
  const int lane = threadIdx.x % 32;
  const long long row = (long long)blockIdx.x * 4 + threadIdx.x / 32;
  const RowItems<SCALAR, 32, 0> items(x + row * row_size, lane, row < num_rows ? row_size : 0);
  const COMPUTE norm = NORM(items);
  items.each([&](long long i, Item v) {
    const COMPUTE value = cg_cast<COMPUTE>(v);
    out[row * row_size + i] = float(norm == COMPUTE(0) ? value : value / norm);
  });
}
