#include "device.cuh"
#include "conv_shape.cuh"
#include "quantized_product.cuh"

// Convolution of 8-bit integers with one thread for each output, for groups too small to fill a tile.
// Operands, macros and parameters as in quantized_conv.cu, geometry as in conv_direct.cu.

using quantized_product::Left;
using quantized_product::Right;
using quantized_product::Signed;

extern "C" __global__ void quantized_conv_direct(
    const LEFT* __restrict__ weights, const RIGHT* __restrict__ x, OUT* __restrict__ y,
    const LEFT* __restrict__ weights_zero, const RIGHT* __restrict__ x_zero,
    const SCALE* __restrict__ weights_scale, const SCALE* __restrict__ x_scale,
    const SCALE* __restrict__ y_scale, const OUT* __restrict__ y_zero,
    const BIAS* __restrict__ bias, ConvShape shape, quantized_product::Counts counts,
    float alpha) {
  const Window& w = shape.window;
  const int outputs = w.output[0] * w.output[1] * w.output[2];
  const int taps = w.kernel[0] * w.kernel[1] * w.kernel[2];
  const int blocks = (outputs - 1) / int(blockDim.x) + 1;
  const int plane = blockIdx.x / blocks;  // image and filter
  const int filter = plane % (shape.groups * shape.filters);
  const int image = plane / (shape.groups * shape.filters);
  const int position = blockIdx.x % blocks * blockDim.x + threadIdx.x;
  if (position >= outputs) return;
  const int origin0 = position / w.output[2] / w.output[1] * w.stride[0] - w.pad[0];
  const int origin1 = position / w.output[2] % w.output[1] * w.stride[1] - w.pad[1];
  const int origin2 = position % w.output[2] * w.stride[2] - w.pad[2];
  const long long first_channel =
      ((long long)image * shape.groups + filter / shape.filters) * shape.channels;
  const int inputs = w.input[0] * w.input[1] * w.input[2];
  const quantized_product::Epilogue finish = {
      weights_zero, x_zero, weights_scale, x_scale, y_scale, y_zero, bias, counts, alpha};
  const int weights_zero_point = finish.left_zero_point(filter) + Signed<Left>::lowered;
  const int x_zero_point = finish.right_zero_point(0) + Signed<Right>::lowered;
  weights += (long long)filter * shape.channels * taps;

  unsigned sum = 0;
  for (int channel = 0; channel < shape.channels; ++channel) {
    const Right* from = x + (first_channel + channel) * inputs;
    for (int k0 = 0; k0 < w.kernel[0]; ++k0) {
      const int at0 = origin0 + k0 * w.dilation[0];
      const bool inside0 = unsigned(at0) < unsigned(w.input[0]);
      for (int k1 = 0; k1 < KERNEL_1; ++k1) {
        const int at1 = origin1 + k1 * w.dilation[1];
        const bool inside1 = inside0 && unsigned(at1) < unsigned(w.input[1]);
#pragma unroll
        for (int k2 = 0; k2 < KERNEL_2; ++k2, ++weights) {
          const int at2 = origin2 + k2 * w.dilation[2];
          const bool inside = inside1 && unsigned(at2) < unsigned(w.input[2]);
          const int offset = (at0 * w.input[1] + at1) * w.input[2] + at2;
          const int element = inside ? int(from[offset]) - x_zero_point : 0;
          sum += unsigned(element * (int(*weights) - weights_zero_point));
        }
      }
    }
  }
  y[(long long)plane * outputs + position] = finish(sum, filter, 0, filter, 0);
}
