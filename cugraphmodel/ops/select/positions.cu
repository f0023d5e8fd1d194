// The positions of all elements that are not 0, in order, for a number of them that only a run knows.
//
// The elements are counted chunk by chunk first, so that each block then knows where its own go and no
// order of blocks or atomics decides.
//
// SCALAR: element type.
#include "device.cuh"

CG_DEV bool is_chosen(const SCALAR* x, long long at, long long end) {
  return at < end && cg_cast<bool>(x[at]);
}

// counts[b] = number of elements that are not 0 in chunk b. One block a chunk.
extern "C" __global__ void __launch_bounds__(256)
    count_chunks(const SCALAR* __restrict__ x, int* __restrict__ counts, long long size,
                 long long chunk) {
  const long long first = blockIdx.x * chunk, end = cg_min(first + chunk, size);
  int count = 0;
  for (long long at = first + threadIdx.x; at < end; at += blockDim.x) {
    count += is_chosen(x, at, end);
  }
  count = cg_block_sum(count);
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

// positions [size]: those found, then -1; and how many. One block a chunk.
extern "C" __global__ void __launch_bounds__(256)
    list_positions(const SCALAR* __restrict__ x, const int* __restrict__ counts,
                   long long* __restrict__ positions, long long* __restrict__ count, long long size,
                   long long chunk) {
  __shared__ int in_warp[8];
  long long before = 0, all = 0;
  for (int b = threadIdx.x; b < int(gridDim.x); b += blockDim.x) {
    all += counts[b];
    before += b < int(blockIdx.x) ? counts[b] : 0;
  }
  all = cg_block_sum(all);
  long long next = cg_block_sum(before);
  const long long first = blockIdx.x * chunk, end = cg_min(first + chunk, size);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (long long tile = first; tile < end; tile += blockDim.x) {
    const long long at = tile + threadIdx.x;
    const bool chosen = is_chosen(x, at, end);
    const unsigned votes = __ballot_sync(0xffffffffu, chosen);
    if (lane == 0) in_warp[warp] = __popc(votes);
    __syncthreads();
    long long mine = next + __popc(votes & ((1u << lane) - 1));
    for (int w = 0; w < 8; ++w) {
      if (w < warp) mine += in_warp[w];
      next += in_warp[w];
    }
    if (chosen) positions[mine] = at;
    if (at < end && at >= all) positions[at] = -1;
    __syncthreads();  // all have read `in_warp`
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *count = all;
}
