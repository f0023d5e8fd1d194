#include "device.cuh"
#include "sliding_pool.cuh"

// Positions of the window along one axis that count for an average: those inside the input, and with
// `count_padding` those inside its padding too.
CG_DEV int count_positions(const Window& w, const Output& output, int axis, int count_padding) {
  const int least = count_padding ? -w.pad[axis] : 0;
  const int end = w.input[axis] + (count_padding ? w.pad_end[axis] : 0);
  int count = 0;
  for (int k = 0; k < w.kernel[axis]; ++k) {
    const int at = output.origin[axis] + k * w.dilation[axis];
    count += at >= least && at < end;
  }
  return count;
}

extern "C" __global__ void average_pool(const Scalar* __restrict__ x, Scalar* __restrict__ y,
                                        Window w, int count_padding) {
  const Output output(w);
  if (!output.exists(w)) return;
  const Scalar* from = x + (long long)output.plane * (w.input[0] * w.input[1] * w.input[2]);
  Accumulator sum = Accumulator(0);
  for_each_element(w, output, [&](int at) {
    sum += Accumulator(from[at]);
  });
  Accumulator count = Accumulator(1);
  for (int axis = 0; axis < 3; ++axis) {
    count *= Accumulator(count_positions(w, output, axis, count_padding));
  }
  y[output.offset(w)] = Scalar(sum / count);
}
