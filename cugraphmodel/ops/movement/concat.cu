// A tensor seen as [rows, row_stride] and up to 8 parts of it, each [rows, runs[k]], that lie side
// by side in its rows: part k starts at column offsets[k]. `concat` writes the tensor from its
// parts, `split` the parts from the tensor. One thread a word of a part; part k has the blocks from
// first_blocks[k] on.
//
// WORD: the type moved. INDEX: integer that holds the words of a part.
#include "device.cuh"
#include "word.cuh"

// The part this block belongs to, and where in part and tensor this thread's word is.
struct Place {
  int part;
  bool inside;
  long long in_part;
  long long in_tensor;
};

CG_DEV Place find_place(int num_parts, const Dims& first_blocks, const Dims& counts,
                        const Dims& runs, const Dims& offsets, long long row_stride) {
  int part = 0;
  for (int k = 1; k < num_parts; ++k) {
    if (blockIdx.x >= first_blocks.v[k]) part = k;
  }
  const long long in_part = (blockIdx.x - first_blocks.v[part]) * blockDim.x + threadIdx.x;
  const INDEX row = (INDEX)in_part / (INDEX)runs.v[part];
  const INDEX column = (INDEX)in_part - row * (INDEX)runs.v[part];
  return Place{part, in_part < counts.v[part], in_part,
               offsets.v[part] + row * row_stride + column};
}

// p0 ... p7 by number; an array of them would live in local memory.
#define PART(k)                                                                             \
  (k == 0 ? p0 : k == 1 ? p1 : k == 2 ? p2 : k == 3 ? p3 : k == 4 ? p4 : k == 5 ? p5 : \
   k == 6 ? p6 : p7)

extern "C" __global__ void __launch_bounds__(256)
    concat(const void* __restrict__ p0, const void* __restrict__ p1, const void* __restrict__ p2,
           const void* __restrict__ p3, const void* __restrict__ p4, const void* __restrict__ p5,
           const void* __restrict__ p6, const void* __restrict__ p7, void* __restrict__ target,
           int num_parts, CG_PARAM Dims first_blocks, CG_PARAM Dims counts, CG_PARAM Dims runs,
           CG_PARAM Dims offsets, long long row_stride) {
  const Place place = find_place(num_parts, first_blocks, counts, runs, offsets, row_stride);
  if (!place.inside) return;
  const WORD* source = static_cast<const WORD*>(PART(place.part));
  static_cast<WORD*>(target)[place.in_tensor] = source[place.in_part];
}

extern "C" __global__ void __launch_bounds__(256)
    split(void* __restrict__ p0, void* __restrict__ p1, void* __restrict__ p2,
          void* __restrict__ p3, void* __restrict__ p4, void* __restrict__ p5,
          void* __restrict__ p6, void* __restrict__ p7, const void* __restrict__ source,
          int num_parts, CG_PARAM Dims first_blocks, CG_PARAM Dims counts, CG_PARAM Dims runs,
          CG_PARAM Dims offsets, long long row_stride) {
  const Place place = find_place(num_parts, first_blocks, counts, runs, offsets, row_stride);
  if (!place.inside) return;
  WORD* target = static_cast<WORD*>(PART(place.part));
  target[place.in_part] = static_cast<const WORD*>(source)[place.in_tensor];
}
