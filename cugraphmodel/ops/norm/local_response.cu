#include "device.cuh"

// out = x / (bias + alpha / window * sum of x^2 over the window of channels)^beta, for x[batch,
// num_channels, inner]. One thread an element; its window is (window - 1) / 2 channels before and
// window / 2 channels after it, cut at the ends.
//
// Macros
//   SCALAR   element type

extern "C" __global__ void __launch_bounds__(128)
    local_response(SCALAR* __restrict__ out, const SCALAR* __restrict__ x, long long size,
                   long long num_channels, long long inner, int window, float alpha, float beta,
                   float bias) {
  typedef typename Acc<SCALAR>::type A;
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const long long channel = i / inner % num_channels;
  const long long before = cg_min(channel, (long long)((window - 1) / 2));
  const long long after = cg_min(num_channels - 1 - channel, (long long)(window / 2));
  A square_sum = A(0);
  for (long long c = -before; c <= after; ++c) {
    const A v = cg_cast<A>(x[i + c * inner]);
    square_sum = cg_fma(v, v, square_sum);
  }
  const A base = cg_fma(A(alpha) / A(window), square_sum, A(bias));
  out[i] = cg_cast<SCALAR>(cg_cast<A>(x[i]) / cg_pow(base, A(beta)));
}
