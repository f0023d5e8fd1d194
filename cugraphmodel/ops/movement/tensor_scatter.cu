// target[outer, s, inner] = update[outer, s - start, inner] where 0 <= s - start < length, else
// past[outer, s, inner], with one start for each sample of the batch; circular: s - start is taken
// modulo size. One thread a word of the target.
//
// WORD: the type moved. INDEX: integer that holds `count`. starts may be null: all are 0.
#include "device.cuh"
#include "word.cuh"

extern "C" __global__ void __launch_bounds__(256)
    tensor_scatter(const void* __restrict__ past, const void* __restrict__ update,
                   const long long* __restrict__ starts, void* __restrict__ target,
                   long long count, long long words_per_sample, long long size, long long length,
                   long long inner_size, int circular, unsigned* error_word,
                   unsigned error_code) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const INDEX line = (INDEX)position / (INDEX)inner_size;
  const INDEX outer = line / (INDEX)size;
  const long long inner = position - (long long)line * inner_size;
  long long start = starts ? starts[(INDEX)position / (INDEX)words_per_sample] : 0;
  if (circular) {
    start %= size;
  } else if (start < 0 || start > size - length) {
    cg_report_index_error(error_word, error_code);
    start = size;
  }
  long long offset = (long long)(line - outer * (INDEX)size) - start;
  if (circular) offset = offset < 0 ? offset + size : offset >= size ? offset - size : offset;
  const bool updated = offset >= 0 && offset < length;
  const WORD* source = static_cast<const WORD*>(updated ? update : past);
  const long long from =
      updated ? ((long long)outer * length + offset) * inner_size + inner : position;
  static_cast<WORD*>(target)[position] = source[from];
}
