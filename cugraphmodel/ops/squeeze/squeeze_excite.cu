#include "device.cuh"

#include "acc_pack.cuh"
#include "activations.cuh"
#include "reduction.cuh"
#include "shared_product.cuh"

// Squeeze-and-excite of small images, each by one block: what squeeze.cu and excite.cu do together.
//   x                 [images, positions, channels]
//   squeeze_weights   [squeezed, channels]; squeeze_bias [squeezed], may be null
//   excite_weights    [scales, squeezed]; excite_bias [scales], may be null
//   scale             [images, scales]
// channels / CHANNEL_VECTOR is at most kThreads, squeezed at most kMaxSqueezed. What a last row of
// threads that is not whole adds up is not used.
//
// Macros
//   SCALAR                            element type
//   CHANNEL_VECTOR, SQUEEZED_VECTOR   elements that one load brings, of rows of channels and of
//                                     squeezed elements: 4, or 1
//   SQUEEZE, EXCITE                   functions of activations.cuh
//   INDEX                             integer type of offsets

typedef SCALAR Scalar;
typedef Acc<Scalar>::type Accumulator;

constexpr int kThreads = 512;
constexpr int kMaxSqueezed = 256;
constexpr int kShare = 8;  // threads that make one mean, or one element of the scale, together
constexpr int kGroups = kThreads / kShare;

extern "C" __global__ void __launch_bounds__(kThreads)
    squeeze_excite(Scalar* __restrict__ scale, const Scalar* __restrict__ x,
                   const Scalar* __restrict__ squeeze_weights,
                   const Scalar* __restrict__ squeeze_bias,
                   const Scalar* __restrict__ excite_weights,
                   const Scalar* __restrict__ excite_bias, int positions, int channels,
                   int squeezed, int scales, float squeeze_a, float squeeze_b, float excite_a,
                   float excite_b) {
  __shared__ Accumulator sums[kThreads * CHANNEL_VECTOR];   // [rows, channels]
  __shared__ Accumulator means[kThreads * CHANNEL_VECTOR];  // [channels]
  __shared__ Accumulator hidden[kMaxSqueezed];
  const int packs = channels / CHANNEL_VECTOR, num_rows = kThreads / packs;
  const int row = threadIdx.x / packs, channel = threadIdx.x % packs * CHANNEL_VECTOR;
  const Scalar* image = x + INDEX(blockIdx.x) * positions * channels + channel;
  RunningSum<Accumulator> own[CHANNEL_VECTOR];
#pragma unroll 4
  for (int p = row; p < positions; p += num_rows) {
    const AccPack<Scalar, CHANNEL_VECTOR> pack(image + INDEX(p) * channels);
#pragma unroll
    for (int i = 0; i < CHANNEL_VECTOR; ++i) own[i].add(pack.v[i]);
  }
#pragma unroll
  for (int i = 0; i < CHANNEL_VECTOR; ++i) {
    sums[threadIdx.x * CHANNEL_VECTOR + i] = own[i].total();
  }
  __syncthreads();
  for (int first = 0; first < channels; first += kGroups) {
    const int c = first + threadIdx.x / kShare;
    RunningSum<Accumulator> column;
    if (c < channels) {
      for (int r = threadIdx.x % kShare; r < num_rows; r += kShare) {
        column.add(sums[r * channels + c]);
      }
    }
    const Accumulator total = sum_of_lanes<kShare>(column.total());
    if (threadIdx.x % kShare == 0) means[c] = total / Accumulator(positions);
  }
  __syncthreads();
  for (int s = threadIdx.x / 32; s < squeezed; s += kThreads / 32) {
    const Scalar* weights = squeeze_weights + INDEX(s) * channels;
    Accumulator sum =
        cg_warp_sum(share_of_product<32, CHANNEL_VECTOR>(weights, means, channels));
    if (squeeze_bias != nullptr) sum += Accumulator(squeeze_bias[s]);
    if (threadIdx.x % 32 == 0) hidden[s] = SQUEEZE(sum, squeeze_a, squeeze_b);
  }
  __syncthreads();
  for (int first = 0; first < scales; first += kGroups) {
    const int m = first + threadIdx.x / kShare;
    Accumulator sum = Accumulator(0);
    if (m < scales) {
      sum = share_of_product<kShare, SQUEEZED_VECTOR>(excite_weights + INDEX(m) * squeezed, hidden,
                                                      squeezed);
    }
    sum = sum_of_lanes<kShare>(sum);
    if (threadIdx.x % kShare == 0 && m < scales) {
      if (excite_bias != nullptr) sum += Accumulator(excite_bias[m]);
      scale[INDEX(blockIdx.x) * scales + m] = Scalar(EXCITE(sum, excite_a, excite_b));
    }
  }
}
