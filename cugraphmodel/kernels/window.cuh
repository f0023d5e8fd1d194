#pragma once
// Windows that slide over up to three spatial axes (cugraphmodel.ops.window). Missing axes come first
// and have size 1.

struct Window {
  int input[3];
  int kernel[3];
  int output[3];
  int stride[3];
  int dilation[3];
  int pad[3];
  int pad_end[3];
};
