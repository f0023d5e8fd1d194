#include "device.cuh"
#include "sliding_pool.cuh"

extern "C" __global__ void average_pool(const Scalar* __restrict__ x, Scalar* __restrict__ y,
                                        Window w, int count_padding) {
  const Output output = Output::of_thread(w);
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
