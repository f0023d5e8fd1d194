// Reads of a tensor at positions that come from index tensors. One thread a word of the output; an
// index out of range is reported, and its output is 0.
//
// WORD: the type moved. INDICES: int or long long, that of the index tensor. INDEX: integer that
// holds the number of output words.
#include "device.cuh"
#include "index.cuh"
#include "word.cuh"

// target[outer, k, inner] = source[outer, indices[k], inner]
extern "C" __global__ void __launch_bounds__(256)
    gather(const void* __restrict__ source, const INDICES* __restrict__ indices,
           void* __restrict__ target, long long count, long long num_indices, long long inner_size,
           long long axis_size, unsigned* error_word, unsigned error_code) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const INDEX row = (INDEX)position / (INDEX)inner_size;
  const INDEX inner = (INDEX)position - row * (INDEX)inner_size;
  const INDEX outer = row / (INDEX)num_indices;
  long long index = indices[row - outer * (INDEX)num_indices];
  WORD word = {};
  if (resolve_index(index, axis_size, error_word, error_code)) {
    word = static_cast<const WORD*>(source)[(outer * axis_size + index) * inner_size + inner];
  }
  static_cast<WORD*>(target)[position] = word;
}

// target[c] = source[c with indices[c] in place of the axis coordinate], c in the indices' shape.
// source_strides is 0 along the axis, whose stride is axis_stride.
extern "C" __global__ void __launch_bounds__(256)
    gather_elements(const void* __restrict__ source, const INDICES* __restrict__ indices,
                    void* __restrict__ target, long long count, int rank, CG_PARAM Dims shape,
                    CG_PARAM Dims source_strides, long long axis_size, long long axis_stride,
                    unsigned* error_word, unsigned error_code) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  INDEX rest = (INDEX)position;
  long long from = 0;
  for (int d = rank - 1; d >= 0; --d) {
    const INDEX next = rest / (INDEX)shape.v[d];
    from += (rest - next * (INDEX)shape.v[d]) * source_strides.v[d];
    rest = next;
  }
  long long index = indices[position];
  WORD word = {};
  if (resolve_index(index, axis_size, error_word, error_code)) {
    word = static_cast<const WORD*>(source)[from + index * axis_stride];
  }
  static_cast<WORD*>(target)[position] = word;
}

// target[batch, n, inner] = source[batch, indices[batch, n, 0], ..., indices[batch, n, depth - 1],
// inner]
extern "C" __global__ void __launch_bounds__(256)
    gather_nd(const void* __restrict__ source, const INDICES* __restrict__ indices,
              void* __restrict__ target, long long count, long long tuples_per_batch,
              long long batch_stride, long long inner_size, int depth, CG_PARAM Dims sizes,
              CG_PARAM Dims strides, unsigned* error_word, unsigned error_code) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const INDEX tuple = (INDEX)position / (INDEX)inner_size;
  long long from = tuple / (INDEX)tuples_per_batch * batch_stride;
  from += (INDEX)position - tuple * (INDEX)inner_size;
  bool inside = true;
  for (int d = 0; d < depth; ++d) {
    long long index = indices[(long long)tuple * depth + d];
    inside = resolve_index(index, sizes.v[d], error_word, error_code) && inside;
    from += index * strides.v[d];
  }
  WORD word = {};
  if (inside) word = static_cast<const WORD*>(source)[from];
  static_cast<WORD*>(target)[position] = word;
}
