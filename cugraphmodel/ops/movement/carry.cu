// Copies up to four tensors in one launch, one a row of the grid, unless a kernel of this run has
// reported bad index data. A thread moves 16 bytes; all tensors start at multiples of 16.
#include "device.cuh"
#include "word.cuh"

namespace {

constexpr unsigned kNoError = 0xffffffffu;

CG_DEV void copy_part(const void* source, void* target, long long begin, long long num_bytes) {
  const char* from = static_cast<const char*>(source) + begin;
  char* to = static_cast<char*>(target) + begin;
  if (begin + 16 <= num_bytes) {
    *reinterpret_cast<Word16*>(to) = *reinterpret_cast<const Word16*>(from);
    return;
  }
  const int num_left = int(num_bytes - begin);
  for (int i = 0; i < num_left; ++i) to[i] = from[i];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    carry(const void* source0, void* target0, long long num_bytes0, const void* source1,
          void* target1, long long num_bytes1, const void* source2, void* target2,
          long long num_bytes2, const void* source3, void* target3, long long num_bytes3,
          const unsigned* error_word) {
  if (error_word != nullptr && *error_word != kNoError) return;
  const long long begin = 16 * ((long long)blockIdx.x * blockDim.x + threadIdx.x);
  if (blockIdx.y == 0 && begin < num_bytes0) copy_part(source0, target0, begin, num_bytes0);
  if (blockIdx.y == 1 && begin < num_bytes1) copy_part(source1, target1, begin, num_bytes1);
  if (blockIdx.y == 2 && begin < num_bytes2) copy_part(source2, target2, begin, num_bytes2);
  if (blockIdx.y == 3 && begin < num_bytes3) copy_part(source3, target3, begin, num_bytes3);
}
