#include "device.cuh"
#include "activations.cuh"
#include "conv_shape.cuh"

// Convolution with one thread for each output, for groups too small to fill a tile (depthwise above
// all). Shapes as in conv.cu. blockIdx.x counts blocks of one output channel's positions, then
// channels, then images. KERNEL_1 and KERNEL_2 are the window's size along the last two axes.

typedef SCALAR Scalar;
typedef Acc<Scalar>::type Accumulator;

extern "C" __global__ void conv_direct(const Scalar* __restrict__ x,
                                       const Scalar* __restrict__ weights,
                                       const Scalar* __restrict__ bias,
                                       const Scalar* __restrict__ residual,
                                       Scalar* __restrict__ y, ConvShape shape, float activation_a,
                                       float activation_b) {
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
  weights += (long long)filter * shape.channels * taps;

  Accumulator sum = Accumulator(0);
  for (int channel = 0; channel < shape.channels; ++channel) {
    const Scalar* from = x + (first_channel + channel) * inputs;
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
          const Accumulator element = inside ? Accumulator(from[offset]) : Accumulator(0);
          sum = cg_fma(element, Accumulator(*weights), sum);
        }
      }
    }
  }
  if (bias != nullptr) sum += Accumulator(bias[filter]);
  const long long at = (long long)plane * outputs + position;
  if (residual != nullptr) sum += Accumulator(residual[at]);
  y[at] = Scalar(ACTIVATION(sum, activation_a, activation_b));
}
