#include "device.cuh"
#include "sliding_pool.cuh"

// (sum of |x|^p)^(1/p)
extern "C" __global__ void lp_pool(const Scalar* __restrict__ x, Scalar* __restrict__ y, Window w,
                                   int p) {
  const Output output(w);
  if (!output.exists(w)) return;
  const Scalar* from = x + (long long)output.plane * (w.input[0] * w.input[1] * w.input[2]);
  Accumulator sum = Accumulator(0);
  for_each_element(w, output, [&](int at) {
    const Accumulator value = Accumulator(from[at]);
    sum += p == 1 ? cg_abs(value) : p == 2 ? value * value : cg_pow(cg_abs(value), Accumulator(p));
  });
  y[output.offset(w)] = Scalar(p == 1   ? sum
                               : p == 2 ? cg_sqrt(sum)
                                        : cg_pow(sum, Accumulator(1) / Accumulator(p)));
}
