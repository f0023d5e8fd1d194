// target[c] = source[the nearest coordinate to each x(c_d)], where along a resized dimension
//     x(c) = (c + shift) * multiplier / divisor + offset
// and along the others x(c) = c. One thread an element of the target.
//
// WORD: the type moved. NEAREST: nearest_*, how to round. INDEX: integer that holds `count`.
#include "device.cuh"

struct Reals {
  double v[8];
};

CG_DEV double nearest_round_prefer_floor(double x) { return cg_ceil(x - 0.5); }
CG_DEV double nearest_round_prefer_ceil(double x) { return cg_floor(x + 0.5); }
CG_DEV double nearest_floor(double x) { return cg_floor(x); }
CG_DEV double nearest_ceil(double x) { return cg_ceil(x); }

// `resized`: bit d stands for dimension d. If `extrapolate`, an element with some x outside
// [0, size - 1] is `pattern`; else x clamps.
extern "C" __global__ void __launch_bounds__(256)
    resize_nearest(const WORD* __restrict__ source, WORD* __restrict__ target, long long count,
                   int rank, int resized, CG_PARAM Dims target_shape, CG_PARAM Dims source_shape,
                   CG_PARAM Dims source_strides, CG_PARAM Reals shift, CG_PARAM Reals multiplier,
                   CG_PARAM Reals divisor, CG_PARAM Reals offset, int extrapolate,
                   long long pattern) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  INDEX rest = (INDEX)position;
  long long from = 0;
  bool inside = true;
  for (int d = rank - 1; d >= 0; --d) {
    const INDEX next = rest / (INDEX)target_shape.v[d];
    long long coordinate = (long long)(rest - next * (INDEX)target_shape.v[d]);
    if (resized >> d & 1) {
      const double last = (double)(source_shape.v[d] - 1);
      const double x =
          ((double)coordinate + shift.v[d]) * multiplier.v[d] / divisor.v[d] + offset.v[d];
      inside = inside && x >= 0.0 && x <= last;
      coordinate = (long long)cg_min(cg_max(NEAREST(x), 0.0), last);
    }
    from += coordinate * source_strides.v[d];
    rest = next;
  }
  target[position] = inside || !extrapolate ? source[from] : (WORD)pattern;
}
