#include "device.cuh"

#include "activations.cuh"
#include "reduction.cuh"
#include "shared_product.cuh"

// The second half of squeeze-and-excite: each block adds up what `squeeze` left, which is little,
// and makes 32 elements of the scale.
//   partial        [images, num_partial, squeezed]
//   squeezed_bias  [squeezed], may be null
//   weights        [channels, squeezed]
//   bias           [channels], may be null
//   scale          [images, channels]
// blockIdx is (image, group of channels).
//
// Macros
//   SCALAR                     element type
//   VECTOR                     elements of `weights` that one load brings: 4, or 1
//   SQUEEZE, EXCITE            functions of activations.cuh, after the first and the second product
//   INDEX                      integer type of offsets

typedef SCALAR Scalar;
typedef Acc<Scalar>::type Accumulator;

constexpr int kThreads = 256;
constexpr int kShare = 8;  // threads that make one element together
constexpr int kGroup = kThreads / kShare;
constexpr int kMaxRows = 16;  // threads that add up one element of the hidden layer

extern "C" __global__ void __launch_bounds__(kThreads)
    excite(Scalar* __restrict__ scale, const Accumulator* __restrict__ partial,
           const Scalar* __restrict__ squeezed_bias, const Scalar* __restrict__ weights,
           const Scalar* __restrict__ bias, int num_partial, int squeezed, int channels,
           float squeeze_a, float squeeze_b, float excite_a, float excite_b) {
  __shared__ Accumulator sums[kThreads];    // [rows, squeezed]
  __shared__ Accumulator hidden[kThreads];  // [squeezed]
  const int num_rows = cg_min(kThreads / squeezed, kMaxRows);
  const int row = threadIdx.x / squeezed, column = threadIdx.x % squeezed;
  RunningSum<Accumulator> own;
  if (row < num_rows) {
    const Accumulator* from = partial + INDEX(blockIdx.x) * num_partial * squeezed + column;
#pragma unroll 8
    for (int p = row; p < num_partial; p += num_rows) own.add(from[p * squeezed]);
  }
  sums[threadIdx.x] = own.total();
  __syncthreads();
  if (threadIdx.x < squeezed) {
    RunningSum<Accumulator> total;
#pragma unroll 4
    for (int r = 0; r < num_rows; ++r) total.add(sums[r * squeezed + threadIdx.x]);
    if (squeezed_bias != nullptr) total.add(Accumulator(squeezed_bias[threadIdx.x]));
    hidden[threadIdx.x] = SQUEEZE(total.total(), squeeze_a, squeeze_b);
  }
  __syncthreads();

  const int channel = blockIdx.y * kGroup + threadIdx.x / kShare;
  Accumulator sum = Accumulator(0);
  if (channel < channels) {
    sum = share_of_product<kShare, VECTOR>(weights + INDEX(channel) * squeezed, hidden, squeezed);
  }
  sum = sum_of_lanes<kShare>(sum);
  if (threadIdx.x % kShare == 0 && channel < channels) {
    if (bias != nullptr) sum += Accumulator(bias[channel]);
    scale[INDEX(blockIdx.x) * channels + channel] = Scalar(EXCITE(sum, excite_a, excite_b));
  }
}
