#include "device.cuh"

// out = (x - mean) / sqrt(variance + epsilon) * scale + bias with one mean, variance, scale and
// bias a channel, for x[batch, num_channels, inner]. Each thread makes VECTOR neighbouring elements
// of one channel.
//
// Macros
//   SCALAR, PARAM, STAT   element types of x and out; of scale and bias; of mean and variance
//   COMPUTE               type of the arithmetic
//   VECTOR                1, or 4 where it divides inner

extern "C" __global__ void __launch_bounds__(128)
    batch_norm(SCALAR* __restrict__ out, const SCALAR* __restrict__ x,
               const PARAM* __restrict__ scale, const PARAM* __restrict__ bias,
               const STAT* __restrict__ mean, const STAT* __restrict__ variance, long long size,
               long long num_channels, long long inner, float epsilon) {
  const long long first = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * VECTOR;
  if (first >= size) return;
  const long long channel = first / inner % num_channels;
  const COMPUTE center = cg_cast<COMPUTE>(mean[channel]);
  const COMPUTE deviation = cg_sqrt(cg_cast<COMPUTE>(variance[channel]) + COMPUTE(epsilon));
  const COMPUTE factor = cg_cast<COMPUTE>(scale[channel]);
  const COMPUTE offset = cg_cast<COMPUTE>(bias[channel]);
#if VECTOR == 4
  Pack4<SCALAR> pack = cg_load4(x + first);
  for (int k = 0; k < 4; ++k) {
    const COMPUTE normalized = (cg_cast<COMPUTE>(pack.v[k]) - center) / deviation;
    pack.v[k] = cg_cast<SCALAR>(cg_fma(normalized, factor, offset));
  }
  cg_store4(out + first, pack);
#else
  const COMPUTE normalized = (cg_cast<COMPUTE>(x[first]) - center) / deviation;
  out[first] = cg_cast<SCALAR>(cg_fma(normalized, factor, offset));
#endif
}
