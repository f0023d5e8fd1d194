// scores[row, e] = sum over f of x[row, f] * coefficients[e, f] + intercepts[e]. One thread a score.
//
// Macros
//   SCALAR    element type of x
//   COMPUTE   float or double
#include "device.cuh"
#include "reduction.cuh"

extern "C" __global__ void __launch_bounds__(128)
    linear_scores(const SCALAR* __restrict__ x, const float* __restrict__ coefficients,
                  const float* __restrict__ intercepts, float* __restrict__ scores,
                  long long num_rows, long long num_features, long long num_scores) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= num_rows * num_scores) return;
  const long long row = position / num_scores;
  const long long e = position - row * num_scores;
  RunningSum<COMPUTE> sum;
  sum.add(COMPUTE(intercepts[e]));
  for (long long f = 0; f < num_features; ++f) {
    sum.add(cg_cast<COMPUTE>(x[row * num_features + f]) * COMPUTE(coefficients[e * num_features + f]));
  }
  scores[position] = float(sum.total());
}
