// What tests/kernels/test_tensor_core.py launches, on the CPU and on a GPU.
#include "device.cuh"
#include "async_copy.cuh"
#include "tensor_core.cuh"
#if !defined(MULTIPLY)
#define MULTIPLY cg_mma_m16n8k8_tf32
#define RESULT float
#endif
#if !defined(LOAD)
#define LOAD cg_ldmatrix
#define NUM_MATRICES 4
#endif

extern "C" __global__ void to_tf32(const float* x, unsigned* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = cg_to_tf32(x[i]);
}
// d += a * b, a multiplication a block. In 32-bit words, whatever they hold: a is 16 x 8 by rows, b is
// 8 x 8 by columns; d is 16 x 8.
extern "C" __global__ void multiply(const unsigned* a, const unsigned* b, RESULT* d) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  unsigned in_a[4], in_b[2];
  RESULT in_d[4];
  for (int r = 0; r < 4; ++r) in_a[r] = a[blockIdx.x * 128 + (g + r % 2 * 8) * 8 + t + r / 2 * 4];
  for (int r = 0; r < 2; ++r) in_b[r] = b[blockIdx.x * 64 + g * 8 + t + r * 4];
  RESULT* out = d + blockIdx.x * 128;
  for (int i = 0; i < 4; ++i) in_d[i] = out[(g + i / 2 * 8) * 8 + t * 2 + i % 2];
  MULTIPLY(in_d, in_a, in_b);
  for (int i = 0; i < 4; ++i) out[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = in_d[i];
}

// NUM_MATRICES matrices of 8 x 8 from x (32 x 8), whose rows lane l finds at row_of[l]; the words of
// lane l are y[l].
extern "C" __global__ void load(const unsigned short* x, const int* row_of, unsigned* y) {
  __shared__ __align__(16) unsigned short tile[32][8];
  for (int k = 0; k < 8; ++k) tile[threadIdx.x][k] = x[threadIdx.x * 8 + k];
  __syncthreads();
  unsigned words[NUM_MATRICES];
  LOAD<NUM_MATRICES>(words, tile[row_of[threadIdx.x]]);
  for (int i = 0; i < NUM_MATRICES; ++i) y[threadIdx.x * NUM_MATRICES + i] = words[i];
}

// y = a * b for a [m, k], b [k, n], y [m, n], with k and n multiples of 8. A block of 4 warps computes
// 64 x 64, a warp 32 x 32, over depths of 16 that are fetched one ahead. Rows are padded so that
// ldmatrix has no bank conflicts.
extern "C" __global__ void __launch_bounds__(128)
    gemm(const half* a, const half* b, float* y, int m, int n, int k) {
  __shared__ __align__(16) half tiles_a[2][64][16 + 8];
  __shared__ __align__(16) half tiles_b[2][16][64 + 8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
  const int num_steps = (k + 15) / 16;
  auto fetch = [&](int step) {
    const int stage = step % 2, depth0 = step * 16;
    const int row = threadIdx.x / 2, depth = threadIdx.x % 2 * 8;
    const bool in_a = row0 + row < m && depth0 + depth < k;
    cg_cp_async<16>(&tiles_a[stage][row][depth],
                    in_a ? a + (long long)(row0 + row) * k + depth0 + depth : a, in_a ? 16 : 0);
    const int outer = threadIdx.x / 8, column = threadIdx.x % 8 * 8;
    const bool in_b = depth0 + outer < k && column0 + column < n;
    cg_cp_async<16>(&tiles_b[stage][outer][column],
                    in_b ? b + (long long)(depth0 + outer) * n + column0 + column : b,
                    in_b ? 16 : 0);
    cg_cp_async_commit();
  };
  const int row_of_warp = warp / 2 * 32, column_of_warp = warp % 2 * 32;
  float sums[2][4][4] = {};
  fetch(0);
  for (int step = 0; step < num_steps; ++step) {
    cg_cp_async_wait<0>();
    __syncthreads();
    if (step + 1 < num_steps) fetch(step + 1);
    unsigned in_a[2][4], in_b[4][2];
    const int stage = step % 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      cg_ldmatrix<4>(in_a[i], &tiles_a[stage][row_of_warp + i * 16 + lane % 16][lane / 16 * 8]);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      cg_ldmatrix_transposed<2>(in_b[j], &tiles_b[stage][lane % 16][column_of_warp + j * 8]);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) cg_mma_m16n8k16_f16(sums[i][j], in_a[i], in_b[j]);
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = row0 + row_of_warp + i * 16 + lane / 4 + e / 2 * 8;
        const int column = column0 + column_of_warp + j * 8 + lane % 4 * 2 + e % 2;
        if (row < m && column < n) y[(long long)row * n + column] = sums[i][j][e];
      }
    }
  }
}
