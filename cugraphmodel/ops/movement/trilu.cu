// target[b, r, c] = source[b, r, c] above (or below) a diagonal, else 0. One thread an element.
//
// WORD: the type moved.
#include "device.cuh"

// The diagonal is c - r == *diagonal, or 0 without that. It belongs to what is kept.
extern "C" __global__ void __launch_bounds__(256)
    trilu(const WORD* __restrict__ source, const long long* __restrict__ diagonal,
          WORD* __restrict__ target, long long count, long long rows, long long columns,
          int keep_upper) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const long long line = position / columns;
  const long long beyond = position - line * columns - line % rows;
  const long long bound = diagonal ? *diagonal : 0;
  const bool kept = keep_upper ? beyond >= bound : beyond <= bound;
  target[position] = kept ? source[position] : (WORD)0;
}
