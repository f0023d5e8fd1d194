#include "device.cuh"
#include "quantization.cuh"

// y = saturate(round(softmax((x - x_zero) * x_scale) / y_scale) + y_zero) over the middle axis of
// [outer, size, inner]. A warp makes one softmax; blocks hold four. A zero point may be null, which
// is 0; x's own cancels. SCALAR: the type of x and y, bytes.

typedef SCALAR Scalar;

extern "C" __global__ void __launch_bounds__(128)
    quantized_softmax(const Scalar* __restrict__ x, const float* __restrict__ x_scale,
                      const float* __restrict__ y_scale, const Scalar* __restrict__ y_zero,
                      Scalar* __restrict__ y, long long count, long long size, long long inner) {
  const long long which = (long long)blockIdx.x * 4 + threadIdx.x / 32;
  if (which >= count) return;  // a whole warp
  const int lane = threadIdx.x % 32;
  const long long first = which / inner * size * inner + which % inner;
  const float scale = *x_scale;
  int highest = -128;
  for (long long i = lane; i < size; i += 32) highest = cg_max(highest, int(x[first + i * inner]));
  highest = cg_warp_max(highest);
  float sum = 0;
  for (long long i = lane; i < size; i += 32) {
    sum += cg_exp(float(int(x[first + i * inner]) - highest) * scale);
  }
  sum = cg_warp_sum(sum);
  const float divisor = *y_scale;
  const Scalar zero = y_zero == nullptr ? Scalar(0) : *y_zero;
  for (long long i = lane; i < size; i += 32) {
    const long long at = first + i * inner;
    y[at] = cg_quantize(cg_exp(float(int(x[at]) - highest) * scale) / sum / divisor, zero);
  }
}
