// What tests/kernels/test_byte_words.py launches, on the CPU and on a GPU.
#define LEFT signed char
#define RIGHT signed char
#define SCALE float
#define BIAS int
#define OUT int
#define TILE_ROWS 32
#define TILE_COLUMNS 32
#define TILE_WORDS 4
#define THREAD_ROWS 4
#define THREAD_COLUMNS 4
#define LEFT_SUMS 1
#define RIGHT_SUMS 1
#include "device.cuh"
#include "quantized_tile.cuh"

// Of words a, b, c, in a row of y: the dot product by itself and by lanes, and bytes of a and b.
extern "C" __global__ void words(const unsigned* a, const unsigned* b, const unsigned* c,
                                 unsigned* y) {
  using quantized_product::pick_bytes;
  using quantized_tile::kRun;
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * kRun;
  const quantized_tile::Words sums = quantized_tile::dot4_lanes(
      load_lanes<kRun>(a + first), load_lanes<kRun>(b + first), load_lanes<kRun>(c + first));
  for (int k = 0; k < kRun; ++k) {
    const int i = first + k;
    y[5 * i] = quantized_product::dot4(a[i], b[i], c[i]);
    y[5 * i + 1] = sums.v[k];
    y[5 * i + 2] = pick_bytes<0x3210>(a[i], b[i]);
    y[5 * i + 3] = pick_bytes<0x5140>(a[i], b[i]);
    y[5 * i + 4] = pick_bytes<0x7362>(a[i], b[i]);
  }
}
