#pragma once
#include "window.cuh"

// cugraphmodel.ops.conv: the window, channels and filters of one group, groups, images.
struct ConvShape {
  Window window;
  int channels;
  int filters;
  int groups;
  int images;
};
