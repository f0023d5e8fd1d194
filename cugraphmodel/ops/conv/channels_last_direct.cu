#include "device.cuh"
#include "acc_pack.cuh"
#include "activations.cuh"
#include "conv_shape.cuh"

// Channels-last convolution for groups too small to fill a tile (depthwise above all). A thread makes
// VECTOR neighbouring filters of one output position; its neighbours make the filters beside them.
// Shapes as in channels_last.cu, but weights [*kernel, channels, groups * filters].
//
// Macros
//   DEPTHWISE           1 where each group is one channel and one filter, else 0
//   VECTOR              4, or 1; without DEPTHWISE the filters of one thread are of one group
//   KERNEL_1, KERNEL_2  the window's size along the last two axes
//   INDEX               type of offsets

// With this many blocks on a multiprocessor content, ptxas spills nothing.
constexpr int kMinBlocks = 8;

typedef SCALAR Scalar;
typedef Acc<Scalar>::type Accumulator;
typedef INDEX Index;
typedef AccPack<Scalar, VECTOR> Pack;

// What each of a thread's filters multiplies: its own channel if DEPTHWISE, else one for all.
CG_DEV Pack load_input(const Scalar* from, bool inside) {
  if (!inside) return Pack(Accumulator(0));
  if constexpr (DEPTHWISE) return Pack(from);
  return Pack(Accumulator(*from));
}

extern "C" __global__ void __launch_bounds__(128, kMinBlocks)
    channels_last_direct(const Scalar* __restrict__ x, const Scalar* __restrict__ weights,
                         const Scalar* __restrict__ bias, const Scalar* __restrict__ residual,
                         Scalar* __restrict__ y, ConvShape shape, float activation_a,
                         float activation_b) {
  const Window& w = shape.window;
  const int all_filters = shape.groups * shape.filters;
  const int all_channels = shape.groups * shape.channels;
  const int outputs = w.output[0] * w.output[1] * w.output[2];
  const Index pack = Index(blockIdx.x) * blockDim.x + threadIdx.x;
  const Index row = pack / (all_filters / VECTOR);  // image and output position
  if (row >= Index(outputs) * shape.images) return;
  const int filter = int(pack % (all_filters / VECTOR)) * VECTOR;
  const int position = int(row % outputs);
  const int origin0 = position / w.output[2] / w.output[1] * w.stride[0] - w.pad[0];
  const int origin1 = position / w.output[2] % w.output[1] * w.stride[1] - w.pad[1];
  const int origin2 = position % w.output[2] * w.stride[2] - w.pad[2];
  x += row / outputs * (w.input[0] * w.input[1] * w.input[2]) * all_channels +
       filter / shape.filters * shape.channels;
  weights += filter;

  Pack sum(Accumulator(0));
  for (int k0 = 0; k0 < w.kernel[0]; ++k0) {
    const int at0 = origin0 + k0 * w.dilation[0];
    const bool inside0 = unsigned(at0) < unsigned(w.input[0]);
    for (int k1 = 0; k1 < KERNEL_1; ++k1) {
      const int at1 = origin1 + k1 * w.dilation[1];
      const bool inside1 = inside0 && unsigned(at1) < unsigned(w.input[1]);
#pragma unroll
      for (int k2 = 0; k2 < KERNEL_2; ++k2) {
        const int at2 = origin2 + k2 * w.dilation[2];
        const bool inside = inside1 && unsigned(at2) < unsigned(w.input[2]);
        const Scalar* from = x + Index((at0 * w.input[1] + at1) * w.input[2] + at2) * all_channels;
        for (int channel = 0; channel < shape.channels; ++channel, weights += all_filters) {
          const Pack element = load_input(from + channel, inside);
          const Pack weight(weights);
#pragma unroll
          for (int i = 0; i < VECTOR; ++i) sum.v[i] = cg_fma(element.v[i], weight.v[i], sum.v[i]);
        }
      }
    }
  }
  const Index at = row * all_filters + filter;
  if (bias != nullptr) sum.add(Pack(bias + filter));
  if (residual != nullptr) sum.add(Pack(residual + at));
#pragma unroll
  for (int i = 0; i < VECTOR; ++i) sum.v[i] = ACTIVATION(sum.v[i], activation_a, activation_b);
  sum.store(y + at);
}
