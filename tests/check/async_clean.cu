// Kernels with asynchronous copies and without a fault, each close to one that has one.
#include "async_copy.cuh"
#include "device.cuh"
#include "tensor_core.cuh"

extern "C" __global__ void copy_wait_barrier(const float* x, float* y, int n) {
  __shared__ __align__(16) float held[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x < 16) {
    cg_cp_async<16>(held + 4 * threadIdx.x, x + blockIdx.x * 64 + 4 * threadIdx.x);
  }
  cg_cp_async_commit();
  cg_cp_async_wait<0>();
  __syncthreads();
  y[i] = held[63 - threadIdx.x] + n;
}
extern "C" __global__ void its_own_needs_no_barrier(const float* x, float* y, int n) {
  __shared__ float held[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  cg_cp_async<4>(held + threadIdx.x, x + i);
  cg_cp_async_wait_all();
  held[threadIdx.x] += n;
  y[i] = held[threadIdx.x];
}
extern "C" __global__ void syncwarp_within_a_warp(const float* x, float* y, int n) {
  __shared__ float held[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  cg_cp_async<4>(held + threadIdx.x, x + i);
  cg_cp_async_wait_all();
  __syncwarp();
  y[i] = held[threadIdx.x ^ 31] + n;
}
// Of the last tile only what the tensor has is read; nothing is, if the address is outside.
extern "C" __global__ void tail_filled_with_zeros(const float* x, float* y, int n) {
  __shared__ __align__(16) float held[4 * 64];
  const int first = 4 * (blockIdx.x * 64 + threadIdx.x) - 2 * (n - 128), left = n - 2 - first;
  const unsigned num_bytes = left >= 4 ? 16 : left > 0 ? 4 * left : 0;
  cg_cp_async<16>(held + 4 * threadIdx.x, x + first, num_bytes);
  cg_cp_async_wait_all();
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = held[255 - threadIdx.x];
}
extern "C" __global__ void two_stages(const float* x, float* y, int n) {
  __shared__ float held[2][64];
  const int num_tiles = (n - 28 + 63) / 64;  // the last one is not full
  auto fetch = [&](int tile) {
    const int i = tile * 64 + threadIdx.x;
    cg_cp_async<4>(&held[tile % 2][threadIdx.x], x + i, i < n - 28 ? 4 : 0);
    cg_cp_async_commit();
  };
  float sum = 0;
  fetch(0);
  for (int tile = 0; tile < num_tiles; ++tile) {
    if (tile + 1 < num_tiles) {
      fetch(tile + 1);
      cg_cp_async_wait<1>();
    } else {
      cg_cp_async_wait<0>();
    }
    __syncthreads();
    sum += held[tile % 2][63 - threadIdx.x];
    __syncthreads();
  }
  y[blockIdx.x * 64 + threadIdx.x] = sum;
}
// One barrier a tile: it also says that all have read the tile that is overwritten next.
extern "C" __global__ void three_stages(const float* x, float* y, int n) {
  __shared__ float held[3][32];
  const int num_tiles = (n - 28 + 31) / 32;
  auto fetch = [&](int tile) {
    const int i = tile * 32 + threadIdx.x;
    if (threadIdx.x < 32) {
      cg_cp_async<4>(&held[tile % 3][threadIdx.x], x + i, i < n - 28 ? 4 : 0);
    }
    cg_cp_async_commit();  // an empty group in the other warp and after the last tile
  };
  float sum = 0;
  fetch(0);
  fetch(1);
  for (int tile = 0; tile < num_tiles; ++tile) {
    cg_cp_async_wait<1>();
    __syncthreads();
    fetch(tile + 2);
    sum += held[tile % 3][31 - threadIdx.x % 32];
  }
  y[blockIdx.x * 64 + threadIdx.x] = sum;
}
extern "C" __global__ void source_written_after_the_wait(float* x, float* y, int n) {
  __shared__ float held[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  cg_cp_async<4>(held + threadIdx.x, x + i);
  cg_cp_async_wait_all();
  __syncthreads();
  x[blockIdx.x * 64 + 63 - threadIdx.x] = n;
  y[i] = held[63 - threadIdx.x];
}
extern "C" __global__ void halves_of_a_row(const float* x, float* y, int n) {
  __shared__ __align__(16) float held[2][64];
  cg_cp_async<8>(&held[threadIdx.x / 32][threadIdx.x % 32 * 2], x + 2 * (threadIdx.x % 32));
  cg_cp_async_wait_all();
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = held[0][threadIdx.x] + held[1][63 - threadIdx.x] + n;
}
// y = t * transposed(t), where t are the first 16 x 16 of x, by one warp.
extern "C" __global__ void tile_product(const float* x, float* y, int n) {
  __shared__ __align__(16) half tile[16][16];
  if (threadIdx.x >= 32 || blockIdx.x > 0) return;
  for (int i = threadIdx.x; i < 128; i += 32) tile[i / 16][i % 16] = half(i < n ? x[i] : 0.0f);
  for (int i = threadIdx.x; i < 128; i += 32) tile[8 + i / 16][i % 16] = half(1.0f);
  __syncwarp();
  unsigned a[4], b[2];
  float sums[4] = {};
  cg_ldmatrix<4>(a, &tile[threadIdx.x % 16][threadIdx.x / 16 * 8]);
  cg_ldmatrix<2>(b, &tile[threadIdx.x % 8][threadIdx.x / 8 % 2 * 8]);
  cg_mma_m16n8k16_f16(sums, a, b);
  for (int e = 0; e < 4; ++e) {
    y[(threadIdx.x / 4 + e / 2 * 8) * 8 + threadIdx.x % 4 * 2 + e % 2] = sums[e];
  }
}
