// places[k] = the k-th i below length with condition[i]. One block of 256 threads, each of which
// takes 8 neighbours at a time.
#include "device.cuh"

extern "C" __global__ void __launch_bounds__(256)
    find_places(const bool* __restrict__ condition, long long* __restrict__ places,
                long long length) {
  __shared__ int counts[2][256];
  long long found = 0;
  for (long long first = 0; first < length; first += 2048) {
    const long long mine = first + threadIdx.x * 8;
    int count = 0;
    for (long long i = mine; i < mine + 8 && i < length; ++i) count += condition[i];
    // counts[0][t] becomes the count over threads 0 ... t (Hillis and Steele, 1986).
    counts[0][threadIdx.x] = count;
    __syncthreads();
    for (int step = 0; step < 8; ++step) {
      const int* from = counts[step % 2];
      const int distance = 1 << step;
      int reached = from[threadIdx.x];
      if (threadIdx.x >= distance) reached += from[threadIdx.x - distance];
      counts[(step + 1) % 2][threadIdx.x] = reached;
      __syncthreads();
    }
    long long next = found + counts[0][threadIdx.x] - count;
    found += counts[0][255];
    __syncthreads();  // all have read `counts` before the next round writes it
    for (long long i = mine; i < mine + 8 && i < length; ++i) {
      if (condition[i]) places[next++] = i;
    }
  }
}
