// Bitonic sorting (Batcher, "Sorting networks and their applications", 1968) of lines of entries,
// chunk by chunk in shared memory. A line has `padded_size` entries, a power of two, in chunks of
// CHUNK; one block of CHUNK / 2 threads (32 at least) a chunk.
//
// SCALAR: the element type. CHUNK: a power of two, at most 2048.
#include "device.cuh"
#include "entry.cuh"

// Larger values have larger keys; NaN has the largest, and -0 that of 0.
template <class T>
CG_DEV unsigned long long sort_key(T x) {
  if constexpr (!CgSame<T, typename Acc<T>::type>::value) {
    return sort_key(typename Acc<T>::type(x));
  } else if constexpr (CgSame<T, float>::value) {
    const unsigned bits = (unsigned)__float_as_int(x == 0.0f ? 0.0f : x);
    return x != x ? ~0ull : bits >> 31 ? (unsigned)~bits : bits | 0x80000000u;
  } else if constexpr (CgSame<T, double>::value) {
    const unsigned long long bits = (unsigned long long)__double_as_longlong(x == 0.0 ? 0.0 : x);
    return x != x ? ~0ull : bits >> 63 ? ~bits : bits | 1ull << 63;
  } else if constexpr (CgSame<T, unsigned long long>::value) {
    return x;
  } else {
    return (unsigned long long)(long long)x ^ 1ull << 63;
  }
}

// All steps of the network from runs of `size` down to neighbours, `stride` first.
CG_DEV void sort_steps(Entry* entries, long long first, long long size, int stride) {
  for (; stride > 0; stride /= 2) {
    const int low = threadIdx.x / stride * 2 * stride + threadIdx.x % stride;
    if (threadIdx.x < CHUNK / 2) {
      compare_exchange(entries[low], entries[low + stride], first + low, size);
    }
    __syncthreads();
  }
}

// entries = the lines [outer, size, inner] of the source, each chunk sorted. Places beyond `size`
// hold what comes last of all.
extern "C" __global__ void __launch_bounds__(1024)
    sort_chunks(const SCALAR* __restrict__ source, Entry* __restrict__ entries, long long size,
                long long padded_size, long long inner_size, int largest) {
  __shared__ Entry chunk[CHUNK];
  const long long chunks_per_line = padded_size / CHUNK;
  const long long line = blockIdx.x / chunks_per_line;
  const long long first = (blockIdx.x - line * chunks_per_line) * CHUNK;
  const long long outer = line / inner_size;
  const long long start = outer * size * inner_size + line - outer * inner_size;
  for (int i = threadIdx.x; i < CHUNK; i += blockDim.x) {
    const long long place = first + i;
    chunk[i].key = 0;
    chunk[i].index = ~0u;
    if (place < size) {
      const unsigned long long key = sort_key(source[start + place * inner_size]);
      chunk[i].key = largest ? key : ~key;
      chunk[i].index = (unsigned)place;
    }
  }
  __syncthreads();
  for (int run = 2; run <= CHUNK; run *= 2) sort_steps(chunk, first, run, run / 2);
  for (int i = threadIdx.x; i < CHUNK; i += blockDim.x) {
    entries[line * padded_size + first + i] = chunk[i];
  }
}

// The steps of the network for runs of `run` entries whose strides fit a chunk.
extern "C" __global__ void __launch_bounds__(1024)
    merge_chunks(Entry* __restrict__ entries, long long padded_size, long long run) {
  __shared__ Entry chunk[CHUNK];
  const long long start = (long long)blockIdx.x * CHUNK;
  for (int i = threadIdx.x; i < CHUNK; i += blockDim.x) chunk[i] = entries[start + i];
  __syncthreads();
  sort_steps(chunk, start % padded_size, run, CHUNK / 2);
  for (int i = threadIdx.x; i < CHUNK; i += blockDim.x) entries[start + i] = chunk[i];
}
