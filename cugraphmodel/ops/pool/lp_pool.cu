#include "device.cuh"
#include "lp_norm.cuh"
#include "sliding_pool.cuh"

extern "C" __global__ void lp_pool(const Scalar* __restrict__ x, Scalar* __restrict__ y, Window w,
                                   int p) {
  const Output output = Output::of_thread(w);
  if (!output.exists(w)) return;
  const Scalar* from = x + (long long)output.plane * (w.input[0] * w.input[1] * w.input[2]);
  Accumulator sum = Accumulator(0);
  for_each_element(w, output, [&](int at) {
    sum += lp_term(Accumulator(from[at]), p);
  });
  y[output.offset(w)] = Scalar(lp_root(sum, p));
}
