// A contraction of two tensors (einsum.cuh), one thread an output.
#include "device.cuh"
#include "einsum.cuh"

extern "C" __global__ void __launch_bounds__(256)
    contract_by_thread(const LEFT* __restrict__ left, const RIGHT* __restrict__ right,
                       RESULT* __restrict__ y, long long count, Axes kept, Axes reduced) {
  const long long output = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (output >= count) return;
  const LEFT* a = left;
  const RIGHT* b = right;
  advance<KEPT_RANK>(a, b, (INDEX)output, kept);
  SUM sum = 0;
  add_products<0>(sum, a, b, reduced);
  y[output] = cg_cast<RESULT>(sum);
}
