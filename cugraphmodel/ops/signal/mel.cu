// weights [bins, NUM_BANDS]: triangles of height 1 over the bins of a spectrum. Band b rises from bin
// edges[b] to its peak at edges[b + 1] and falls to 0 at edges[b + 2]. One thread a weight.
//
// SCALAR: element type. NUM_BANDS.
#include "device.cuh"

struct Edges {
  int v[NUM_BANDS + 2];
};

extern "C" __global__ void __launch_bounds__(256)
    mel_weights(SCALAR* __restrict__ weights, long long count, Edges edges) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const int bin = int(position / NUM_BANDS), band = int(position % NUM_BANDS);
  const int low = edges.v[band], peak = edges.v[band + 1], high = edges.v[band + 2];
  double weight = 0.0;
  if (bin == peak) {
    weight = 1.0;
  } else if (bin >= low && bin < peak) {
    weight = double(bin - low) / double(peak - low);
  } else if (bin > peak && bin < high) {
    weight = double(high - bin) / double(high - peak);
  }
  weights[position] = cg_cast<SCALAR>(weight);
}
