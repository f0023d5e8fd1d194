#include "device.cuh"
#include "acc_pack.cuh"
#include "sliding_pool.cuh"

// Pools of channels-last tensors: x [images, *input, channels], y [images, *output, channels]. A thread
// makes VECTOR neighbouring channels of one output position; its neighbours make those beside them.
//
// Macros
//   SCALAR  element type
//   VECTOR  4 where it divides `channels`, else 1
//   INDEX   type of offsets

// With this many blocks on a multiprocessor content, ptxas spills nothing.
constexpr int kMinBlocks = 8;

typedef INDEX Index;
typedef AccPack<Scalar, VECTOR> Pack;

// What this thread makes: channels from `channel` on of an output, whose plane is an image.
struct Share {
  Index pack;
  int channel;

  CG_DEV explicit Share(int channels) : pack(Index(blockIdx.x) * blockDim.x + threadIdx.x) {
    channel = int(pack % (channels / VECTOR)) * VECTOR;
  }
  CG_DEV Output output(const Window& w, int channels) const {
    const Index row = pack / (channels / VECTOR);
    const Index outputs = w.output[0] * w.output[1] * w.output[2];
    return Output(w, int(row / outputs), int(row % outputs));
  }
  CG_DEV const Scalar* first(const Scalar* x, const Window& w, int channels, int image) const {
    return x + Index(image) * (w.input[0] * w.input[1] * w.input[2]) * channels + channel;
  }
};

// NaN wins. A window with no element inside the input gives the lowest value.
extern "C" __global__ void __launch_bounds__(128, kMinBlocks)
    channels_last_max_pool(const Scalar* __restrict__ x, Scalar* __restrict__ y, Window w,
                           int channels, long long num_packs) {
  const Share share(channels);
  if (share.pack >= Index(num_packs)) return;
  const Output output = share.output(w, channels);
  const Scalar* from = share.first(x, w, channels, output.plane);
  Pack best(CgLimits<Accumulator>::lowest());
  for_each_element(w, output, [&](int at) {
    const Pack element(from + Index(at) * channels);
#pragma unroll
    for (int i = 0; i < VECTOR; ++i) best.v[i] = cg_max(best.v[i], element.v[i]);
  });
  best.store(y + share.pack * VECTOR);
}

extern "C" __global__ void __launch_bounds__(128, kMinBlocks)
    channels_last_average_pool(const Scalar* __restrict__ x, Scalar* __restrict__ y, Window w,
                               int channels, long long num_packs, int count_padding) {
  const Share share(channels);
  if (share.pack >= Index(num_packs)) return;
  const Output output = share.output(w, channels);
  const Scalar* from = share.first(x, w, channels, output.plane);
  Pack sum(Accumulator(0));
  for_each_element(w, output, [&](int at) {
    sum.add(Pack(from + Index(at) * channels));
  });
  Accumulator count = Accumulator(1);
  for (int axis = 0; axis < 3; ++axis) {
    count *= Accumulator(count_positions(w, output, axis, count_padding));
  }
#pragma unroll
  for (int i = 0; i < VECTOR; ++i) sum.v[i] /= count;
  sum.store(y + share.pack * VECTOR);
}
