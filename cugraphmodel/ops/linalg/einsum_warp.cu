// A contraction of two tensors (einsum.cuh), one warp an output: for few outputs of many summands.
#include "device.cuh"
#include "einsum.cuh"

extern "C" __global__ void __launch_bounds__(128)
    contract_by_warp(const LEFT* __restrict__ left, const RIGHT* __restrict__ right,
                     RESULT* __restrict__ y, long long count, Axes kept, Axes reduced,
                     long long num_summands) {
  const long long output = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (output >= count) return;
  const LEFT* a = left;
  const RIGHT* b = right;
  advance<KEPT_RANK>(a, b, (INDEX)output, kept);
  SUM sum = 0;
  for (long long r = threadIdx.x % 32; r < num_summands; r += 32) {
    const LEFT* one = a;
    const RIGHT* other = b;
    advance<REDUCED_RANK>(one, other, (INDEX)r, reduced);
    sum = cg_fma(cg_cast<SUM>(*one), cg_cast<SUM>(*other), sum);
  }
  sum = cg_warp_sum(sum);
  if (threadIdx.x % 32 == 0) y[output] = cg_cast<RESULT>(sum);
}
