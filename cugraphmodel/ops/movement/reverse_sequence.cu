// Turns the first sequence_lens[b] elements of each batch entry around. One thread a word of the
// output.
//
// WORD: the type moved. INDEX: integer that holds the number of output words.
#include "device.cuh"
#include "word.cuh"

// The tensors are [first_size, second_size, inner_size]; time is the first axis if TIME_FIRST, else
// the second, and the batch is the other. A length outside [0, time size] is reported, and the
// entry is copied as it is.
extern "C" __global__ void __launch_bounds__(256)
    reverse_sequence(const void* __restrict__ source, const long long* __restrict__ sequence_lens,
                     void* __restrict__ target, long long count, long long first_size,
                     long long second_size, long long inner_size, unsigned* error_word,
                     unsigned error_code) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const INDEX row = (INDEX)position / (INDEX)inner_size;
  const INDEX inner = (INDEX)position - row * (INDEX)inner_size;
  const INDEX first = row / (INDEX)second_size;
  const INDEX second = row - first * (INDEX)second_size;
  const long long time = TIME_FIRST ? first : second;
  const long long time_size = TIME_FIRST ? first_size : second_size;
  const long long length = sequence_lens[TIME_FIRST ? second : first];
  long long from = time;
  if (length < 0 || length > time_size) {
    cg_report_index_error(error_word, error_code);
  } else if (time < length) {
    from = length - 1 - time;
  }
  const long long source_row =
      TIME_FIRST ? from * second_size + second : first * second_size + from;
  static_cast<WORD*>(target)[position] =
      static_cast<const WORD*>(source)[source_row * inner_size + inner];
}
