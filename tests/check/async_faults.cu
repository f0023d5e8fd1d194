// Faulty asynchronous copies on purpose; marked as in faults.cu.
#include "async_copy.cuh"
#include "device.cuh"
#include "tensor_core.cuh"

extern "C" __global__ void no_wait(const float* x, float* y, int n) {
  __shared__ float held[64];
  cg_cp_async<4>(held + threadIdx.x, x + n - 1);
  cg_cp_async_commit();
  y[blockIdx.x * 64 + threadIdx.x] = held[threadIdx.x];  // <- racecheck
}
extern "C" __global__ void no_wait_but_a_barrier(const float* x, float* y, int n) {
  __shared__ float held[64];
  cg_cp_async<4>(held + threadIdx.x, x + n - 1);
  cg_cp_async_commit();
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = held[63 - threadIdx.x];  // <- racecheck
}
extern "C" __global__ void no_commit(const float* x, float* y, int n) {
  __shared__ float held[64];
  cg_cp_async<4>(held + threadIdx.x, x + n - 1);
  cg_cp_async_wait<0>();
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = held[63 - threadIdx.x];  // <- racecheck
}
extern "C" __global__ void no_barrier_after_the_wait(const float* x, float* y, int n) {
  __shared__ float held[64];
  cg_cp_async<4>(held + threadIdx.x, x + n - 1);
  cg_cp_async_wait_all();
  y[blockIdx.x * 64 + threadIdx.x] = held[63 - threadIdx.x];  // <- racecheck initcheck
}
extern "C" __global__ void barrier_before_the_wait(const float* x, float* y, int n) {
  __shared__ float held[64];
  cg_cp_async<4>(held + threadIdx.x, x + n - 1);
  __syncthreads();
  cg_cp_async_wait_all();
  y[blockIdx.x * 64 + threadIdx.x] = held[63 - threadIdx.x];  // <- racecheck
}
extern "C" __global__ void syncwarp_for_two_warps(const float* x, float* y, int n) {
  __shared__ float held[64];
  cg_cp_async<4>(held + threadIdx.x, x + n - 1);
  cg_cp_async_wait_all();
  __syncwarp();
  y[blockIdx.x * 64 + threadIdx.x] = held[63 - threadIdx.x];  // <- racecheck initcheck
}
extern "C" __global__ void shuffle_after_the_wait(const float* x, float* y, int n) {
  __shared__ float held[64];
  cg_cp_async<4>(held + threadIdx.x, x + n - 1);
  __syncthreads();
  cg_cp_async_wait_all();
  const float sum = cg_warp_sum(1.0f);
  y[blockIdx.x * 64 + threadIdx.x] = sum + held[threadIdx.x ^ 31];  // <- racecheck
}
extern "C" __global__ void wait_too_weak_by_one(const float* x, float* y, int n) {
  __shared__ float held[2][64];
  float sum = 0;
  cg_cp_async<4>(&held[0][threadIdx.x], x + threadIdx.x);
  cg_cp_async_commit();
  for (int tile = 0; tile < n / 64; ++tile) {
    const int next = (tile + 1) * 64 + threadIdx.x;
    cg_cp_async<4>(&held[(tile + 1) % 2][threadIdx.x], x + next, next < n ? 4 : 0);
    cg_cp_async_commit();
    cg_cp_async_wait<2>();
    __syncthreads();
    sum += held[tile % 2][63 - threadIdx.x];  // <- racecheck
    __syncthreads();
  }
  y[blockIdx.x * 64 + threadIdx.x] = sum;
}
extern "C" __global__ void wait_too_weak_in_the_last_round(const float* x, float* y, int n) {
  __shared__ float held[2][64];
  float sum = 0;
  cg_cp_async<4>(&held[0][threadIdx.x], x + threadIdx.x);
  cg_cp_async_commit();
  for (int tile = 0; tile < n / 64; ++tile) {
    if (tile + 1 < n / 64) {
      cg_cp_async<4>(&held[(tile + 1) % 2][threadIdx.x], x + (tile + 1) * 64 + threadIdx.x);
      cg_cp_async_commit();
    }
    cg_cp_async_wait<1>();
    __syncthreads();
    sum += held[tile % 2][63 - threadIdx.x];  // <- racecheck
    __syncthreads();
  }
  y[blockIdx.x * 64 + threadIdx.x] = sum;
}
extern "C" __global__ void stage_overwritten_too_soon(const float* x, float* y, int n) {
  __shared__ float held[64];
  float sum = 0;
  for (int tile = 0; tile < 2; ++tile) {
    cg_cp_async<4>(held + threadIdx.x, x + n - 1 - tile);  // <- racecheck
    cg_cp_async_wait_all();
    __syncthreads();
    sum += held[63 - threadIdx.x];  // <- racecheck
  }
  y[blockIdx.x * 64 + threadIdx.x] = sum;
}
extern "C" __global__ void written_while_in_flight(const float* x, float* y, int n) {
  __shared__ float held[64];
  cg_cp_async<4>(held + threadIdx.x, x + n - 1);
  cg_cp_async_commit();
  held[threadIdx.x] = 1;  // <- racecheck
  cg_cp_async_wait<0>();
  y[blockIdx.x * 64 + threadIdx.x] = held[threadIdx.x];
}
extern "C" __global__ void copied_twice_at_once(const float* x, float* y, int n) {
  __shared__ float held[64];
  cg_cp_async<4>(held + threadIdx.x, x);
  cg_cp_async<4>(held + threadIdx.x, x + n - 1);  // <- racecheck
  cg_cp_async_wait_all();
  y[blockIdx.x * 64 + threadIdx.x] = held[threadIdx.x];
}
extern "C" __global__ void threads_that_overlap(const float* x, float* y, int n) {
  __shared__ __align__(16) float held[2 * 64];
  cg_cp_async<16>(held + threadIdx.x / 2 * 4, x);  // <- racecheck
  cg_cp_async_wait_all();
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = held[n - 1 - threadIdx.x];
}
extern "C" __global__ void source_overwritten_by_another(float* x, float* y, int n) {
  __shared__ float held[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  cg_cp_async<4>(held + threadIdx.x, x + i);  // <- racecheck
  cg_cp_async_commit();
  x[blockIdx.x * 64 + 63 - threadIdx.x] = n;  // <- racecheck
  cg_cp_async_wait<0>();
  y[i] = held[threadIdx.x];
}
extern "C" __global__ void source_overwritten_by_itself(float* x, float* y, int n) {
  __shared__ float held[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  cg_cp_async<4>(held + threadIdx.x, x + i);
  cg_cp_async_commit();
  x[i] = n;  // <- racecheck
  cg_cp_async_wait<0>();
  y[i] = held[threadIdx.x];
}
extern "C" __global__ void source_overwritten_after_a_barrier(float* x, float* y, int n) {
  __shared__ float held[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  cg_cp_async<4>(held + threadIdx.x, x + i);
  __syncthreads();
  x[blockIdx.x * 64 + 63 - threadIdx.x] = n;  // <- racecheck
  cg_cp_async_wait_all();
  y[i] = held[threadIdx.x];
}
extern "C" __global__ void source_overwritten_without_a_barrier(float* x, float* y, int n) {
  __shared__ float held[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  cg_cp_async<4>(held + threadIdx.x, x + i);  // <- racecheck
  __syncthreads();
  cg_cp_async_wait_all();  // <- racecheck
  x[blockIdx.x * 64 + 63 - threadIdx.x] = n;  // <- racecheck
  y[i] = held[threadIdx.x];
}
extern "C" __global__ void source_overwritten_after_a_shuffle(float* x, float* y, int n) {
  __shared__ float held[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  cg_cp_async<4>(held + threadIdx.x, x + i);
  __syncthreads();
  cg_cp_async_wait_all();
  x[i ^ 31] = n + cg_warp_sum(1.0f);  // <- racecheck
  y[i] = held[threadIdx.x];
}
extern "C" __global__ void source_unwritten(const float* x, float* y, int n) {
  __shared__ float held[64];
  cg_cp_async<4>(held + threadIdx.x, x + n - 1);  // <- initcheck
  cg_cp_async_wait_all();
  y[blockIdx.x * 64 + threadIdx.x] = held[threadIdx.x];
}
extern "C" __global__ void source_past_the_end(const float* x, float* y, int n) {
  __shared__ __align__(16) float held[4 * 64];
  cg_cp_async<16>(held + 4 * threadIdx.x, x + 4 * (threadIdx.x % 33));  // <- memcheck
  cg_cp_async_wait_all();
  y[blockIdx.x * 64 + threadIdx.x] = held[4 * threadIdx.x] + n;
}
extern "C" __global__ void valid_bytes_past_the_end(const float* x, float* y, int n) {
  __shared__ __align__(16) float held[4 * 64];
  const int first = 4 * threadIdx.x, left = n - 4 - first;
  cg_cp_async<16>(held + first, x + first + 4, left > 0 ? 16 : left + 4 > 0 ? 4 : 0);  // <- memcheck
  cg_cp_async_wait_all();
  y[blockIdx.x * 64 + threadIdx.x] = held[first];
}
extern "C" __global__ void more_valid_bytes_than_copied(const float* x, float* y, int n) {
  __shared__ float held[64];
  cg_cp_async<4>(held + threadIdx.x, x + n - 8, 16);  // <- memcheck
  cg_cp_async_wait_all();
  y[blockIdx.x * 64 + threadIdx.x] = held[threadIdx.x];
}
extern "C" __global__ void destination_past_the_end(const float* x, float* y, int n) {
  __shared__ float held[60];
  float* p = held;
  cg_cp_async<4>(p + threadIdx.x, x + n - 1);  // <- memcheck
  cg_cp_async_wait_all();
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = p[0];
}
extern "C" __global__ void misaligned_source(const float* x, float* y, int n) {
  __shared__ __align__(16) float held[4 * 64];
  cg_cp_async<16>(held + 4 * threadIdx.x, x + 2);  // <- memcheck
  cg_cp_async_wait_all();
  y[blockIdx.x * 64 + threadIdx.x] = held[4 * threadIdx.x] + n;
}
extern "C" __global__ void misaligned_destination(const float* x, float* y, int n) {
  __shared__ __align__(16) float held[2 * 64 + 2];
  cg_cp_async<8>(held + 2 * threadIdx.x + 1, x + n - 2);  // <- memcheck
  cg_cp_async_wait_all();
  y[blockIdx.x * 64 + threadIdx.x] = held[2 * threadIdx.x + 1];
}
extern "C" __global__ void copied_to_global_memory(const float* x, float* y, int n) {
  cg_cp_async<4>(y + blockIdx.x * 64 + threadIdx.x, x + n - 1);  // <- memcheck
  cg_cp_async_wait_all();
}
extern "C" __global__ void copied_from_shared_memory(const float* x, float* y, int n) {
  __shared__ float held[2][64];
  held[0][threadIdx.x] = x[n - 1];
  cg_cp_async<4>(&held[1][threadIdx.x], &held[0][threadIdx.x]);  // <- memcheck
  cg_cp_async_wait_all();
  y[blockIdx.x * 64 + threadIdx.x] = held[1][threadIdx.x];
}
extern "C" __global__ void copied_from_local_memory(const float* x, float* y, int n) {
  __shared__ float held[64];
  float own[2] = {x[0], x[n - 1]};
  cg_cp_async<4>(held + threadIdx.x, own + n % 2);  // <- memcheck
  cg_cp_async_wait_all();
  y[blockIdx.x * 64 + threadIdx.x] = held[threadIdx.x];
}
extern "C" __global__ void matrices_without_a_barrier(const float* x, float* y, int n) {
  __shared__ __align__(16) half tile[64][8];
  for (int k = 0; k < 8; ++k) tile[threadIdx.x][k] = half(x[n - 1]);
  unsigned words[4];
  cg_ldmatrix<4>(words, tile[threadIdx.x]);  // <- racecheck
  y[blockIdx.x * 64 + threadIdx.x] = words[0] + words[3];
}
extern "C" __global__ void matrices_overwritten_too_soon(const float* x, float* y, int n) {
  __shared__ __align__(16) half tile[64][8];
  for (int k = 0; k < 8; ++k) tile[threadIdx.x][k] = half(x[n - 1]);
  __syncwarp();
  unsigned words[2];
  cg_ldmatrix_transposed<2>(words, tile[threadIdx.x]);  // <- racecheck
  tile[threadIdx.x][0] = half(1.0f);  // <- racecheck
  y[blockIdx.x * 64 + threadIdx.x] = words[0] + words[1];
}
extern "C" __global__ void matrices_not_waited_for(const float* x, float* y, int n) {
  __shared__ __align__(16) half tile[64][8];
  cg_cp_async<16>(tile[threadIdx.x], x + n - 4);
  cg_cp_async_commit();
  __syncthreads();
  unsigned words[1];
  cg_ldmatrix<1>(words, tile[threadIdx.x]);  // <- racecheck
  y[blockIdx.x * 64 + threadIdx.x] = words[0];
}
extern "C" __global__ void misaligned_matrix_row(const float* x, float* y, int n) {
  __shared__ __align__(16) half tile[64][9];
  for (int k = 0; k < 9; ++k) tile[threadIdx.x][k] = half(x[n - 1]);
  __syncthreads();
  unsigned words[4];
  cg_ldmatrix<4>(words, tile[threadIdx.x]);  // <- memcheck
  y[blockIdx.x * 64 + threadIdx.x] = words[0];
}
extern "C" __global__ void matrix_past_the_end(const float* x, float* y, int n) {
  __shared__ __align__(16) half tile[60][8];
  if (threadIdx.x < 60) {
    for (int k = 0; k < 8; ++k) tile[threadIdx.x][k] = half(x[n - 1]);
  }
  __syncthreads();
  half(*rows)[8] = tile;
  unsigned words[4];
  cg_ldmatrix<4>(words, rows[threadIdx.x]);  // <- memcheck
  y[blockIdx.x * 64 + threadIdx.x] = words[0];
}
extern "C" __global__ void matrices_of_global_memory(const float* x, float* y, int n) {
  unsigned words[4];
  cg_ldmatrix<4>(words, x + n - 4);  // <- memcheck
  y[blockIdx.x * 64 + threadIdx.x] = words[0];
}
extern "C" __global__ void product_by_half_a_warp(const float* x, float* y, int n) {
  const unsigned a[4] = {1, 2, 3, 4}, b[2] = {5, 6};
  float sums[4] = {x[n - 1]};
  if (threadIdx.x % 32 < 16) {
    cg_mma_m16n8k8_tf32(sums, a, b);  // <- synccheck
  } else {
    __syncwarp(0xffff0000u);
  }
  y[blockIdx.x * 64 + threadIdx.x] = sums[0];
}
