// target[outer, i, inner] = the sum or product of source[outer, j, inner] over j <= i (j < i if
// exclusive), or over j >= i (j > i) in reverse. One thread a line, elements in order, so that the
// result for a line is the same at every run; floats are accumulated in double and rounded once an
// element.
//
// SCALAR: the element type. TOTAL: double, or unsigned long long for integers, which wrap.
// OPERATION: CgSum or CgProduct.
#include "device.cuh"
#include "reduction.cuh"

extern "C" __global__ void __launch_bounds__(256)
    cumulative(const SCALAR* __restrict__ source, SCALAR* __restrict__ target, long long lines,
               long long size, long long inner_size, int exclusive, int reverse) {
  const long long line = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (line >= lines) return;
  const long long outer = line / inner_size;
  const long long step = reverse ? -inner_size : inner_size;
  long long at = outer * size * inner_size + line - outer * inner_size;
  if (reverse) at += (size - 1) * inner_size;
  TOTAL total = OPERATION::identity<TOTAL>();
  for (long long i = 0; i < size; ++i, at += step) {
    const TOTAL before = total;
    total = OPERATION::combine(total, cg_cast<TOTAL>(source[at]));
    target[at] = cg_cast<SCALAR>(exclusive ? before : total);
  }
}
