// What cumulative.cu computes, for few long lines: one block of 256 threads a line. Each thread
// takes 8 neighbours, then the totals of the threads are accumulated, 2048 elements of the line at a
// time.
//
// SCALAR, TOTAL, OPERATION: as in cumulative.cu.
#include "device.cuh"
#include "reduction.cuh"

// Element i of a line in the direction of the accumulation.
CG_DEV long long line_place(long long i, long long size, int reverse) {
  return reverse ? size - 1 - i : i;
}

extern "C" __global__ void __launch_bounds__(256)
    cumulative_block(const SCALAR* __restrict__ source, SCALAR* __restrict__ target, long long size,
                     long long inner_size, int exclusive, int reverse) {
  __shared__ TOTAL totals[2][256];
  const long long outer = blockIdx.x / inner_size;
  const long long start = outer * size * inner_size + blockIdx.x - outer * inner_size;
  TOTAL carried = OPERATION::identity<TOTAL>();
  for (long long first = 0; first < size; first += 2048) {
    const long long mine = first + threadIdx.x * 8;
    TOTAL total = OPERATION::identity<TOTAL>();
    for (long long i = mine; i < mine + 8 && i < size; ++i) {
      const long long at = start + line_place(i, size, reverse) * inner_size;
      total = OPERATION::combine(total, cg_cast<TOTAL>(source[at]));
    }
    // totals[0][t] becomes the total over threads 0 ... t (Hillis and Steele, 1986).
    totals[0][threadIdx.x] = total;
    __syncthreads();
    for (int step = 0; step < 8; ++step) {
      const TOTAL* from = totals[step % 2];
      const int distance = 1 << step;
      TOTAL reached = from[threadIdx.x];
      if (threadIdx.x >= distance) {
        reached = OPERATION::combine(from[threadIdx.x - distance], reached);
      }
      totals[(step + 1) % 2][threadIdx.x] = reached;
      __syncthreads();
    }
    TOTAL running = carried;
    if (threadIdx.x > 0) running = OPERATION::combine(running, totals[0][threadIdx.x - 1]);
    carried = OPERATION::combine(carried, totals[0][255]);
    __syncthreads();  // all have read `totals` before the next round writes it
    for (long long i = mine; i < mine + 8 && i < size; ++i) {
      const long long at = start + line_place(i, size, reverse) * inner_size;
      const TOTAL before = running;
      running = OPERATION::combine(running, cg_cast<TOTAL>(source[at]));
      target[at] = cg_cast<SCALAR>(exclusive ? before : running);
    }
  }
}
