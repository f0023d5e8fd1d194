#pragma once
// What the pools over sliding windows share. One thread makes one output.
// x [planes, *input], y [planes, *output]; a plane is a channel of an image. blockIdx.x counts blocks
// of one plane's positions, then planes.
#include "device.cuh"
#include "window.cuh"

typedef SCALAR Scalar;
typedef Acc<Scalar>::type Accumulator;

// An output of this thread, or none if `position` lies outside.
struct Output {
  int plane;
  int position;
  int origin[3];  // input position of the window's first element

  CG_DEV Output(const Window& w, int plane, int position) : plane(plane), position(position) {
    const int out[3] = {position / w.output[2] / w.output[1],
                        position / w.output[2] % w.output[1], position % w.output[2]};
    for (int axis = 0; axis < 3; ++axis) origin[axis] = out[axis] * w.stride[axis] - w.pad[axis];
  }
  CG_DEV static Output of_thread(const Window& w) {
    const int outputs = w.output[0] * w.output[1] * w.output[2];
    const int blocks = (outputs - 1) / int(blockDim.x) + 1;
    return Output(w, blockIdx.x / blocks, blockIdx.x % blocks * blockDim.x + threadIdx.x);
  }
  CG_DEV bool exists(const Window& w) const {
    return position < w.output[0] * w.output[1] * w.output[2];
  }
  CG_DEV long long offset(const Window& w) const {
    return (long long)plane * (w.output[0] * w.output[1] * w.output[2]) + position;
  }
};

// Calls visit(offset in the plane) for every element of the window that lies inside the input.
template <class Visit>
CG_DEV void for_each_element(const Window& w, const Output& output, Visit visit) {
  for (int k0 = 0; k0 < w.kernel[0]; ++k0) {
    const int at0 = output.origin[0] + k0 * w.dilation[0];
    if (unsigned(at0) >= unsigned(w.input[0])) continue;
    for (int k1 = 0; k1 < w.kernel[1]; ++k1) {
      const int at1 = output.origin[1] + k1 * w.dilation[1];
      if (unsigned(at1) >= unsigned(w.input[1])) continue;
      const int row = (at0 * w.input[1] + at1) * w.input[2];
      for (int k2 = 0; k2 < w.kernel[2]; ++k2) {
        const int at2 = output.origin[2] + k2 * w.dilation[2];
        if (unsigned(at2) < unsigned(w.input[2])) visit(row + at2);
      }
    }
  }
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
