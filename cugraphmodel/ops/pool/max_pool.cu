#include "device.cuh"
#include "sliding_pool.cuh"

// NaN wins. If WITH_INDICES, `indices` gets the position in all of x of the first largest element:
// inside a plane the last axis counts fastest, or the first one if `column_major`. A window with
// no element inside the input gives the lowest value and the index -1.
extern "C" __global__ void max_pool(const Scalar* __restrict__ x, Scalar* __restrict__ y,
                                    long long* __restrict__ indices, Window w, int column_major) {
  const Output output = Output::of_thread(w);
  if (!output.exists(w)) return;
  const long long inputs = (long long)w.input[0] * w.input[1] * w.input[2];
  const Scalar* from = x + output.plane * inputs;
  Accumulator best = CgLimits<Accumulator>::lowest();
  int best_at = -1;
  for_each_element(w, output, [&](int at) {
    const Accumulator value = Accumulator(from[at]);
    if (!WITH_INDICES) {
      best = cg_max(best, value);
    } else if (best_at < 0 || value > best || (value != value && best == best)) {
      best = value;
      best_at = at;
    }
  });
  y[output.offset(w)] = Scalar(best);
  if (!WITH_INDICES) return;
  long long index = best_at;
  if (column_major && best_at >= 0) {
    const int at0 = best_at / w.input[2] / w.input[1];
    const int at1 = best_at / w.input[2] % w.input[1];
    const int at2 = best_at % w.input[2];
    index = at0 + ((long long)at2 * w.input[1] + at1) * w.input[0];
  }
  indices[output.offset(w)] = best_at < 0 ? -1 : output.plane * inputs + index;
}
