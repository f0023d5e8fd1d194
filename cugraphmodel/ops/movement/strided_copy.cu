// target[target_offset + sum(c[d] * target_strides[d])] =
//     source[source_offset + sum(c[d] * source_strides[d])]
// for every coordinate c of `shape`. One thread a word, in row-major order of `shape`.
//
// WORD: the type moved. RANK: dimensions used, the leading ones. INDEX: integer that holds `count`.
// Strides and offsets count words; a source stride may be 0 (broadcast) or negative (reversal).
#include "device.cuh"
#include "word.cuh"

extern "C" __global__ void __launch_bounds__(256)
    strided_copy(const void* __restrict__ source, void* __restrict__ target, long long count,
                 CG_PARAM Dims shape, CG_PARAM Dims source_strides, CG_PARAM Dims target_strides,
                 long long source_offset, long long target_offset) {
  const long long index = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= count) return;
  INDEX rest = (INDEX)index;
  long long from = source_offset;
  long long to = target_offset;
#pragma unroll
  for (int d = RANK - 1; d > 0; --d) {
    const INDEX size = (INDEX)shape.v[d];
    const INDEX next = rest / size;
    const INDEX coordinate = rest - next * size;
    from += coordinate * source_strides.v[d];
    to += coordinate * target_strides.v[d];
    rest = next;
  }
  from += rest * source_strides.v[0];
  to += rest * target_strides.v[0];
  static_cast<WORD*>(target)[to] = static_cast<const WORD*>(source)[from];
}
