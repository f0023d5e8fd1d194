// One dimension of a linear or cubic Resize:
//     target[outer, c, inner] = sum_k weight(x(c) - k) * source[outer, k, inner]
//     x(c) = (c + shift) * multiplier / divisor + offset
// over the `taps` coordinates k nearest to x(c). One thread an element of the target.
//
// SOURCE, TARGET: element types. ACCUMULATE: float or double. FILTER: filter_*, the weight.
#include "device.cuh"

// Weights by the distance t from a sample.
CG_DEV ACCUMULATE filter_linear(ACCUMULATE t, ACCUMULATE) {
  return cg_max(ACCUMULATE(1) - cg_abs(t), ACCUMULATE(0));
}
// Keys, "Cubic convolution interpolation for digital image processing" (1981), with his a.
CG_DEV ACCUMULATE filter_cubic(ACCUMULATE t, ACCUMULATE a) {
  const ACCUMULATE d = cg_abs(t);
  const ACCUMULATE near = ((a + 2) * d - (a + 3)) * d * d + 1;
  const ACCUMULATE far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return d <= ACCUMULATE(1) ? near : d < ACCUMULATE(2) ? far : ACCUMULATE(0);
}

// Integers round to nearest even and saturate.
template <class T>
CG_DEV T rounded(ACCUMULATE x) {
  if constexpr (CgLimits<typename Acc<T>::type>::is_float) {
    return cg_cast<T>(x);
  } else {
    return cg_cast<T>(cg_round(x));
  }
}

// A coordinate outside the source takes the nearest inside; if `exclude_outside` it weighs nothing.
// If `normalize`, weights are divided by their sum. If `extrapolate`, x outside [0, size - 1] gives
// `extrapolation_value`. `filter_scale` below 1 stretches the filter (antialiasing).
extern "C" __global__ void __launch_bounds__(256)
    resize_axis(const SOURCE* __restrict__ source, TARGET* __restrict__ target, long long count,
                long long target_size, long long source_size, long long inner_size, double shift,
                double multiplier, double divisor, double offset, int taps, double filter_scale,
                double cubic_a, int exclude_outside, int normalize, int extrapolate,
                double extrapolation_value) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const long long row = position / inner_size;
  const long long outer = row / target_size;
  const long long inner = position - row * inner_size;
  const double x = ((double)(row - outer * target_size) + shift) * multiplier / divisor + offset;
  if (extrapolate && (x < 0.0 || x > (double)(source_size - 1))) {
    target[position] = rounded<TARGET>((ACCUMULATE)extrapolation_value);
    return;
  }
  const double below = cg_floor(x);
  const ACCUMULATE fraction = (ACCUMULATE)(x - below);
  const int first = 1 - taps / 2;
  ACCUMULATE sum = 0;
  ACCUMULATE total = 0;
  for (int tap = 0; tap < taps; ++tap) {
    const long long k = (long long)below + first + tap;
    const long long inside = cg_min(cg_max(k, 0LL), source_size - 1);
    if (exclude_outside && k != inside) continue;
    const ACCUMULATE distance = ((ACCUMULATE)(first + tap) - fraction) * (ACCUMULATE)filter_scale;
    const ACCUMULATE weight = FILTER(distance, (ACCUMULATE)cubic_a);
    if (weight == ACCUMULATE(0)) continue;  // it may lie on Inf or NaN
    const long long from = (outer * source_size + inside) * inner_size + inner;
    sum = cg_fma(weight, cg_cast<ACCUMULATE>(source[from]), sum);
    total += weight;
  }
  target[position] = rounded<TARGET>(normalize ? sum / total : sum);
}
