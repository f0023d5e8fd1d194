// What cumsum.cu computes, for few long lines: one block of 256 threads a line. Each thread sums 8
// neighbours, then the sums of the threads are summed up, 2048 elements of the line at a time.
//
// SCALAR, SUM: as in cumsum.cu.
#include "device.cuh"

// Element i of a line in the direction of the sum.
CG_DEV long long line_place(long long i, long long size, int reverse) {
  return reverse ? size - 1 - i : i;
}

extern "C" __global__ void __launch_bounds__(256)
    cumsum_block(const SCALAR* __restrict__ source, SCALAR* __restrict__ target, long long size,
                 long long inner_size, int exclusive, int reverse) {
  __shared__ SUM sums[2][256];
  const long long outer = blockIdx.x / inner_size;
  const long long start = outer * size * inner_size + blockIdx.x - outer * inner_size;
  SUM carried = 0;
  for (long long first = 0; first < size; first += 2048) {
    const long long mine = first + threadIdx.x * 8;
    SUM sum = 0;
    for (long long i = mine; i < mine + 8 && i < size; ++i) {
      sum += cg_cast<SUM>(source[start + line_place(i, size, reverse) * inner_size]);
    }
    // sums[0][t] becomes the sum over threads 0 ... t (Hillis and Steele, 1986).
    sums[0][threadIdx.x] = sum;
    __syncthreads();
    for (int step = 0; step < 8; ++step) {
      const SUM* from = sums[step % 2];
      const int distance = 1 << step;
      SUM reached = from[threadIdx.x];
      if (threadIdx.x >= distance) reached += from[threadIdx.x - distance];
      sums[(step + 1) % 2][threadIdx.x] = reached;
      __syncthreads();
    }
    SUM running = carried;
    if (threadIdx.x > 0) running += sums[0][threadIdx.x - 1];
    carried += sums[0][255];
    __syncthreads();  // all have read `sums` before the next round writes it
    for (long long i = mine; i < mine + 8 && i < size; ++i) {
      const long long at = start + line_place(i, size, reverse) * inner_size;
      const SUM before = running;
      running += cg_cast<SUM>(source[at]);
      target[at] = cg_cast<SCALAR>(exclusive ? before : running);
    }
  }
}
