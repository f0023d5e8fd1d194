#include "device.cuh"
#include "quantization.cuh"
#include "sliding_pool.cuh"

// Averages of bytes, whose sums are exact: y = saturate(round(mean * x_scale / y_scale) + y_zero) for
// the mean of x less its zero point. A zero point may be null, which is 0. SCALAR: the type of x and y.

extern "C" __global__ void quantized_average_pool(
    const Scalar* __restrict__ x, const float* __restrict__ x_scale,
    const Scalar* __restrict__ x_zero, const float* __restrict__ y_scale,
    const Scalar* __restrict__ y_zero, Scalar* __restrict__ y, CG_PARAM Window w,
    int count_padding) {
  const Output output = Output::of_thread(w);
  if (!output.exists(w)) return;
  const Scalar* from = x + (long long)output.plane * (w.input[0] * w.input[1] * w.input[2]);
  const int zero = x_zero == nullptr ? 0 : int(*x_zero);
  int sum = 0;
  for_each_element(w, output, [&](int at) {
    sum += int(from[at]) - zero;
  });
  float count = 1;
  for (int axis = 0; axis < 3; ++axis) {
    count *= float(count_positions(w, output, axis, count_padding));
  }
  const float mean = float(sum) * *x_scale / count;
  y[output.offset(w)] =
      cg_quantize(mean / *y_scale, y_zero == nullptr ? Scalar(0) : *y_zero);
}
