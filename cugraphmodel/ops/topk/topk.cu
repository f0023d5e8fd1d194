// The parts of TopK that need no shared memory: one thread a pair, or an output element.
//
// WORD: the type moved.
#include "device.cuh"
#include "entry.cuh"

// One step of the network, for runs of `run` entries and strides beyond a chunk.
extern "C" __global__ void __launch_bounds__(256)
    merge_far(Entry* __restrict__ entries, long long num_pairs, long long padded_size,
              long long run, long long stride) {
  const long long pair = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (pair >= num_pairs) return;
  const long long low = pair / stride * 2 * stride + pair % stride;
  compare_exchange(entries[low], entries[low + stride], low % padded_size, run);
}

// values, indices [outer, k, inner] = the first k entries of each line; either may be left out.
extern "C" __global__ void __launch_bounds__(256)
    take_first(const WORD* __restrict__ source, const Entry* __restrict__ entries,
               WORD* __restrict__ values, long long* __restrict__ indices, long long count,
               long long k, long long size, long long padded_size, long long inner_size) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const long long row = position / inner_size;
  const long long outer = row / k;
  const long long inner = position - row * inner_size;
  const long long line = outer * inner_size + inner;
  const long long index = entries[line * padded_size + row - outer * k].index;
  if (values) values[position] = source[(outer * size + index) * inner_size + inner];
  if (indices) indices[position] = index;
}
