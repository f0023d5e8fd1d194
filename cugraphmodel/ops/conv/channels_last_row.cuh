#pragma once
// What the tiled kernels of channels-last convolutions share. Macros FIRST_AXIS and INDEX: see there.
#include "device.cuh"
#include "conv_shape.cuh"

typedef INDEX Index;

// A row of the left operand: where its window begins, which may be outside the input.
struct Row {
  int origin[3 - FIRST_AXIS];
  Index offset;  // of the group's first channel there

  CG_DEV Row() {}
  CG_DEV Row(const ConvShape& shape, int group, int image, int position) {
    const Window& w = shape.window;
    const int out[3] = {position / w.output[2] / w.output[1],
                        position / w.output[2] % w.output[1], position % w.output[2]};
    offset = FIRST_AXIS == 0 ? image : image * w.input[0];
#pragma unroll
    for (int axis = FIRST_AXIS; axis < 3; ++axis) {
      origin[axis - FIRST_AXIS] = out[axis] * w.stride[axis] - w.pad[axis];
      offset = offset * w.input[axis] + origin[axis - FIRST_AXIS];
    }
    offset = offset * (shape.groups * shape.channels) + group * shape.channels;
    if (image >= shape.images) origin[2 - FIRST_AXIS] = -(1 << 30);
  }
};
