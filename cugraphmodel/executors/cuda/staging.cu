// Copies blocks of bytes between pinned host memory and the GPU, one block a row of the grid.
//
// A thread moves 16 bytes. Addresses of blocks of 16 bytes or more are multiples of 16; the last
// bytes of a block that do not fill a word are moved one by one.
#include "device.cuh"

struct Copies {
  unsigned long long target[8];
  unsigned long long source[8];
  long long num_bytes[8];
};

struct alignas(16) Word {
  unsigned long long low;
  unsigned long long high;
};

extern "C" __global__ void __launch_bounds__(256) copy_blocks(Copies copies) {
  const long long begin = 16 * ((long long)blockIdx.x * blockDim.x + threadIdx.x);
  const long long num_bytes = copies.num_bytes[blockIdx.y];
  if (begin >= num_bytes) return;
  char* target = reinterpret_cast<char*>(copies.target[blockIdx.y]) + begin;
  const char* source = reinterpret_cast<const char*>(copies.source[blockIdx.y]) + begin;
  if (begin + 16 <= num_bytes) {
    *reinterpret_cast<Word*>(target) = *reinterpret_cast<const Word*>(source);
    return;
  }
  const int num_left = (int)(num_bytes - begin);
  for (int i = 0; i < num_left; ++i) target[i] = source[i];
}
