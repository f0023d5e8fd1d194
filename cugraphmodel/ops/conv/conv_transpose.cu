#include "device.cuh"
#include "conv_shape.cuh"

// Transposed convolution, one thread for each output, which gathers what would be scattered to it:
// input i reaches output i * stride - pad + k * dilation with the weight of k.
// x [images, groups * channels, *input], weights [groups * channels, filters, *kernel],
// y [images, groups * filters, *output], bias [groups * filters] or null.
// blockIdx.x counts blocks of one output channel's positions, then channels, then images.

typedef SCALAR Scalar;
typedef Acc<Scalar>::type Accumulator;

// The input along one axis that position `k` of the window carries to output `at`, or -1.
CG_DEV int source(const Window& w, int axis, int at, int k) {
  const int scaled = at + w.pad[axis] - k * w.dilation[axis];
  const int i = scaled / w.stride[axis];
  return scaled >= 0 && i * w.stride[axis] == scaled && i < w.input[axis] ? i : -1;
}

extern "C" __global__ void conv_transpose(const Scalar* __restrict__ x,
                                          const Scalar* __restrict__ weights,
                                          const Scalar* __restrict__ bias, Scalar* __restrict__ y,
                                          ConvShape shape) {
  const Window& w = shape.window;
  const int outputs = w.output[0] * w.output[1] * w.output[2];
  const int inputs = w.input[0] * w.input[1] * w.input[2];
  const int taps = w.kernel[0] * w.kernel[1] * w.kernel[2];
  const int blocks = (outputs - 1) / int(blockDim.x) + 1;
  const int plane = blockIdx.x / blocks;  // image and filter
  const int filter = plane % (shape.groups * shape.filters);
  const int image = plane / (shape.groups * shape.filters);
  const int position = blockIdx.x % blocks * blockDim.x + threadIdx.x;
  if (position >= outputs) return;
  const int group = filter / shape.filters;
  x += ((long long)image * shape.groups + group) * shape.channels * inputs;
  weights += ((long long)group * shape.channels * shape.filters + filter % shape.filters) * taps;

  Accumulator sum = Accumulator(0);
  for (int k0 = 0; k0 < w.kernel[0]; ++k0) {
    const int i0 = source(w, 0, position / w.output[2] / w.output[1], k0);
    if (i0 < 0) continue;
    for (int k1 = 0; k1 < w.kernel[1]; ++k1) {
      const int i1 = source(w, 1, position / w.output[2] % w.output[1], k1);
      if (i1 < 0) continue;
      for (int k2 = 0; k2 < w.kernel[2]; ++k2) {
        const int i2 = source(w, 2, position % w.output[2], k2);
        if (i2 < 0) continue;
        const Scalar* from = x + (i0 * w.input[1] + i1) * w.input[2] + i2;
        const Scalar* weight = weights + (k0 * w.kernel[1] + k1) * w.kernel[2] + k2;
        for (int channel = 0; channel < shape.channels; ++channel) {
          sum = cg_fma(Accumulator(from[(long long)channel * inputs]),
                       Accumulator(weight[(long long)channel * shape.filters * taps]), sum);
        }
      }
    }
  }
  if (bias != nullptr) sum += Accumulator(bias[filter]);
  y[(long long)plane * outputs + position] = Scalar(sum);
}
