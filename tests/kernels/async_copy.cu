// What tests/kernels/test_async_copy.py launches, on the CPU and on a GPU.
#include "device.cuh"
#include "async_copy.cuh"
#if !defined(BYTES)
#define BYTES 16
#endif
#if !defined(STAGES)
#define STAGES 2
#endif

// Chunk i of BYTES bytes of x, of which valid[i] are to be copied, by one thread each of a block of 64.
extern "C" __global__ void copy(const unsigned char* x, const int* valid, unsigned char* y) {
  __shared__ __align__(16) unsigned char tile[64 * BYTES];
  const int i = blockIdx.x * 64 + threadIdx.x;
  for (int k = 0; k < BYTES; ++k) tile[threadIdx.x * BYTES + k] = 0xa5;
  cg_cp_async<BYTES>(tile + threadIdx.x * BYTES, x + i * BYTES, valid[i]);
#if defined(WAIT_ALL)
  cg_cp_async_wait_all();
#else
  cg_cp_async_commit();
  cg_cp_async_wait<0>();
#endif
  __syncthreads();
  const int other = 63 - threadIdx.x;
  for (int k = 0; k < BYTES; ++k) {
    y[(blockIdx.x * 64 + other) * BYTES + k] = tile[other * BYTES + k];
  }
}

// Sums of the rows of x, tile by tile of 64 x 4 through STAGES tiles of shared memory; y[r] is
// computed by thread 63 - r % 64 from what other threads copied.
extern "C" __global__ void row_sums(const float* x, float* y, int rows, int columns) {
  __shared__ __align__(16) float tiles[STAGES][64][4];
  const int row = blockIdx.x * 64 + threadIdx.x, other = 63 - threadIdx.x;
  const int num_tiles = (columns + 3) / 4;
  auto fetch = [&](int tile) {
    const int left = row < rows && tile < num_tiles ? columns - tile * 4 : 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float* from = left > k ? x + (long long)row * columns + tile * 4 + k : x;
      cg_cp_async<4>(&tiles[tile % STAGES][threadIdx.x][k], from, left > k ? 4 : 0);
    }
    cg_cp_async_commit();
  };
  for (int tile = 0; tile < STAGES - 1; ++tile) fetch(tile);
  float sum = 0;
  for (int tile = 0; tile < num_tiles; ++tile) {
    cg_cp_async_wait<STAGES - 2>();
    __syncthreads();
    fetch(tile + STAGES - 1);
    for (int k = 0; k < 4; ++k) sum += tiles[tile % STAGES][other][k];
  }
  cg_cp_async_wait_all();
  if (blockIdx.x * 64 + other < rows) y[blockIdx.x * 64 + other] = sum;
}
