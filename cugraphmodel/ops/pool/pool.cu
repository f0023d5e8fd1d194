#include "device.cuh"
#include "window.cuh"

// Pools over sliding windows, one thread for each output.
// x [planes, *input], y [planes, *output]; a plane is a channel of an image. blockIdx.x counts blocks
// of one plane's positions, then planes.

typedef SCALAR Scalar;
typedef Acc<Scalar>::type Accumulator;

// An output of this thread, or none if `position` lies outside.
struct Output {
  int plane;
  int position;
  int origin[3];  // input position of the window's first element

  CG_DEV Output(const Window& w) {
    const int outputs = w.output[0] * w.output[1] * w.output[2];
    const int blocks = (outputs - 1) / int(blockDim.x) + 1;
    plane = blockIdx.x / blocks;
    position = blockIdx.x % blocks * blockDim.x + threadIdx.x;
    const int out[3] = {position / w.output[2] / w.output[1],
                        position / w.output[2] % w.output[1], position % w.output[2]};
    for (int axis = 0; axis < 3; ++axis) origin[axis] = out[axis] * w.stride[axis] - w.pad[axis];
  }
  CG_DEV bool exists(const Window& w) const {
    return position < w.output[0] * w.output[1] * w.output[2];
  }
  CG_DEV long long offset(const Window& w) const {
    return (long long)plane * (w.output[0] * w.output[1] * w.output[2]) + position;
  }
};

// Calls visit(at0, at1, at2) for every element of the window that lies inside the input.
template <class Visit>
CG_DEV void for_each_element(const Window& w, const Output& output, Visit visit) {
  for (int k0 = 0; k0 < w.kernel[0]; ++k0) {
    const int at0 = output.origin[0] + k0 * w.dilation[0];
    if (unsigned(at0) >= unsigned(w.input[0])) continue;
    for (int k1 = 0; k1 < w.kernel[1]; ++k1) {
      const int at1 = output.origin[1] + k1 * w.dilation[1];
      if (unsigned(at1) >= unsigned(w.input[1])) continue;
      for (int k2 = 0; k2 < w.kernel[2]; ++k2) {
        const int at2 = output.origin[2] + k2 * w.dilation[2];
        if (unsigned(at2) < unsigned(w.input[2])) visit(at0, at1, at2);
      }
    }
  }
}

// NaN wins. `indices` (may be null) gets the position of the first largest element in all of x, which
// inside a plane counts the last axis fastest, or the first axis if `column_major`. A window
// with no element inside the input gives the lowest value and the index -1.
extern "C" __global__ void max_pool(const Scalar* __restrict__ x, Scalar* __restrict__ y,
                                    long long* __restrict__ indices, Window w, int column_major) {
  const Output output(w);
  if (!output.exists(w)) return;
  const long long inputs = (long long)w.input[0] * w.input[1] * w.input[2];
  const Scalar* from = x + output.plane * inputs;
  Accumulator best = CgLimits<Accumulator>::lowest();
  int best_at = -1;
  for_each_element(w, output, [&](int at0, int at1, int at2) {
    const int at = (at0 * w.input[1] + at1) * w.input[2] + at2;
    const Accumulator value = Accumulator(from[at]);
    if (best_at < 0 || value > best || (value != value && best == best)) {
      best = value;
      best_at = at;
    }
  });
  y[output.offset(w)] = Scalar(best);
  if (indices == nullptr) return;
  long long index = best_at;
  if (column_major && best_at >= 0) {
    const int at0 = best_at / w.input[2] / w.input[1];
    const int at1 = best_at / w.input[2] % w.input[1];
    const int at2 = best_at % w.input[2];
    index = at0 + ((long long)at2 * w.input[1] + at1) * w.input[0];
  }
  indices[output.offset(w)] = best_at < 0 ? -1 : output.plane * inputs + index;
}

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
  for_each_element(w, output, [&](int at0, int at1, int at2) {
    sum += Accumulator(from[(at0 * w.input[1] + at1) * w.input[2] + at2]);
  });
  Accumulator count = Accumulator(1);
  for (int axis = 0; axis < 3; ++axis) {
    count *= Accumulator(count_positions(w, output, axis, count_padding));
  }
  y[output.offset(w)] = Scalar(sum / count);
}

// (sum of |x|^p)^(1/p)
extern "C" __global__ void lp_pool(const Scalar* __restrict__ x, Scalar* __restrict__ y, Window w,
                                   int p) {
  const Output output(w);
  if (!output.exists(w)) return;
  const Scalar* from = x + (long long)output.plane * (w.input[0] * w.input[1] * w.input[2]);
  Accumulator sum = Accumulator(0);
  for_each_element(w, output, [&](int at0, int at1, int at2) {
    const Accumulator value = Accumulator(from[(at0 * w.input[1] + at1) * w.input[2] + at2]);
    sum += p == 1 ? cg_abs(value) : p == 2 ? value * value : cg_pow(cg_abs(value), Accumulator(p));
  });
  y[output.offset(w)] = Scalar(p == 1   ? sum
                               : p == 2 ? cg_sqrt(sum)
                                        : cg_pow(sum, Accumulator(1) / Accumulator(p)));
}
