// Faulty kernels on purpose. `// <- kinds` marks each line that a finding may name, and the kinds it
// may have. A block is 64 threads, a grid 2 blocks, unless the test says otherwise.
#include "device.cuh"

extern "C" __global__ void write_past_the_end(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = x[0];  // <- memcheck
}
extern "C" __global__ void read_past_the_end(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float next = x[i + 1];  // <- memcheck
  if (i < n) y[i] = next;
}
extern "C" __global__ void read_before_the_start(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i - 1];  // <- memcheck
}
extern "C" __global__ void write_past_a_row(const float* x, float* y, int n) {
  for (int column = threadIdx.x; column <= n / 2; column += blockDim.x) {
    const int i = blockIdx.x * (n / 2) + column;
    if (i < n) y[i] = x[i];  // <- racecheck
  }
}
extern "C" __global__ void write_to_const(const float* x, float* y, int n) {
  ((float*)x)[threadIdx.x] = y[n - 1];  // <- memcheck
}
extern "C" __global__ void read_of_null(const float* x, float* y, int n) {
  y[n - 1] = x[0];  // <- memcheck
}
extern "C" __global__ void shared_too_small(const float* x, float* y, int n) {
  __shared__ float held[60];
  float* p = held;
  p[threadIdx.x] = x[n - 1];  // <- memcheck
  __syncthreads();
  y[threadIdx.x] = p[0];
}
extern "C" __global__ void shared_row_too_short(const float* x, float* y, int n) {
  __shared__ float held[2][32];
  held[0][threadIdx.x] = x[n - 1];  // <- ubcheck
  __syncthreads();
  y[threadIdx.x] = held[0][0];
}
extern "C" __global__ void dynamic_shared_too_small(const float* x, float* y, int n) {
  CG_DYN_SHARED(float, held);
  held[threadIdx.x] = x[n - 1];  // <- memcheck
  __syncthreads();
  y[threadIdx.x] = held[0];
}
extern "C" __global__ void missing_barrier_before_reading(const float* x, float* y, int n) {
  __shared__ float held[64];
  held[threadIdx.x] = x[n - 1];
  y[blockIdx.x * 64 + threadIdx.x] = held[63 - threadIdx.x];  // <- racecheck initcheck
}
extern "C" __global__ void missing_barrier_before_writing(const float* x, float* y, int n) {
  __shared__ float held[1];
  for (int round = 0; round < 2; ++round) {
    if (threadIdx.x == 0) held[0] = x[round];  // <- racecheck
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = held[0];  // <- racecheck
  }
}
extern "C" __global__ void missing_syncwarp(const float* x, float* y, int n) {
  __shared__ float held[64];
  const int lane = threadIdx.x % 32, first = threadIdx.x - lane;
  held[threadIdx.x] = x[n - 1];
  __syncwarp();
  const float other = held[first + 31 - lane];  // <- racecheck
  held[threadIdx.x] = other;  // <- racecheck
  __syncwarp();
  y[blockIdx.x * 64 + threadIdx.x] = held[threadIdx.x];
}
extern "C" __global__ void shuffle_taken_for_a_barrier(const float* x, float* y, int n) {
  __shared__ float held[64];
  const int lane = threadIdx.x % 32, first = threadIdx.x - lane;
  held[threadIdx.x] = x[n - 1];
  const float sum = cg_warp_sum(1.0f);
  y[blockIdx.x * 64 + threadIdx.x] = sum + held[first + 31 - lane];  // <- racecheck
}
extern "C" __global__ void syncwarp_taken_for_a_barrier(const float* x, float* y, int n) {
  __shared__ float held[64];
  held[threadIdx.x] = x[n - 1];
  __syncwarp();
  y[blockIdx.x * 64 + threadIdx.x] = held[63 - threadIdx.x];  // <- racecheck initcheck
}
extern "C" __global__ void missing_atomic(const float* x, float* y, int n) {
  y[threadIdx.x % 2] += x[n - 1];  // <- racecheck
}
extern "C" __global__ void atomic_against_plain(const float* x, float* y, int n) {
  if (threadIdx.x == 0) y[0] = x[0];  // <- racecheck
  atomicAdd(y, x[n - 1]);  // <- racecheck
}
extern "C" __global__ void blocks_that_overlap(const float* x, float* y, int n) {
  y[blockIdx.x * 32 + threadIdx.x] = x[n - 1];  // <- racecheck
}
extern "C" __global__ void blocks_that_talk(const float* x, float* y, int n) {
  y[blockIdx.x * 64 + threadIdx.x] = x[n - 1];  // <- racecheck
  __syncthreads();
  if (blockIdx.x == 1) y[64 + threadIdx.x] += y[threadIdx.x];  // <- racecheck
}
extern "C" __global__ void unwritten_global(const float* x, float* y, int n) {
  y[blockIdx.x * 64 + threadIdx.x] += x[n - 1];  // <- initcheck
}
extern "C" __global__ void unwritten_shared(const float* x, float* y, int n) {
  __shared__ float held[64];
  if (threadIdx.x < 63) held[threadIdx.x] = x[n - 1];
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = held[threadIdx.x];  // <- initcheck
}
extern "C" __global__ void two_barriers_meet(const float* x, float* y, int n) {
  if (threadIdx.x < 40) {
    __syncthreads();  // <- synccheck
  } else {
    __syncthreads();  // <- synccheck
  }
  y[blockIdx.x * 64 + threadIdx.x] = x[n - 1];
}
extern "C" __global__ void waits_for_ever(const float* x, float* y, int n) {
  if (threadIdx.x == 3) {
    __syncwarp();  // <- synccheck
  } else if (threadIdx.x < 32) {
    __syncthreads();  // <- synccheck
  }
  y[blockIdx.x * 64 + threadIdx.x] = x[n - 1];
}
extern "C" __global__ void outside_its_mask(const float* x, float* y, int n) {
  if (threadIdx.x % 2) {
    y[threadIdx.x] = __shfl_xor_sync(0x55555555u, x[n - 1], 2);  // <- synccheck
  }
}
extern "C" __global__ void lanes_that_have_ended(const float* x, float* y, int n) {
  if (threadIdx.x % 32 < 12) return;
  y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, x[n - 1], 16);  // <- synccheck
}
extern "C" __global__ void two_warp_operations_meet(const float* x, float* y, int n) {
  if (threadIdx.x % 2) {
    y[threadIdx.x] = __shfl_sync(0xffffffffu, x[n - 1], 0);  // <- synccheck
  } else {
    y[threadIdx.x] = __ballot_sync(0xffffffffu, 1);  // <- synccheck
  }
}
extern "C" __global__ void left_before_a_reduction(const float* x, float* y, int n) {
  if (threadIdx.x >= 32) return;
  y[threadIdx.x] = cg_block_sum(x[n - 1]);  // <- synccheck
}
extern "C" __global__ void misaligned_load(const float* x, float* y, int n) {
  y[blockIdx.x * 64 + threadIdx.x] = cg_load4(x + 1).v[n - n];  // <- memcheck
}
extern "C" __global__ void misaligned_store(const float* x, float* y, int n) {
  cg_store4(y + 2, cg_load4(x));  // <- memcheck
}
extern "C" __global__ void local_array_too_small(const float* x, float* y, int n) {
  float held[8];
  for (int i = 0; i < 8; ++i) held[i] = x[i];
  y[blockIdx.x * 64 + threadIdx.x] = held[n / 16];  // <- ubcheck
}
extern "C" __global__ void shift_too_far(const float* x, float* y, int n) {
  y[blockIdx.x * 64 + threadIdx.x] = x[0] + (1 << (n - 96));  // <- ubcheck
}
extern "C" __global__ void integer_overflow(const float* x, float* y, int n) {
  y[blockIdx.x * 64 + threadIdx.x] = x[0] + n * n * n * n * n;  // <- ubcheck
}
extern "C" __global__ void division_by_zero(const float* x, float* y, int n) {
  y[blockIdx.x * 64 + threadIdx.x] = x[0] + n / (n - 128);  // <- ubcheck
}
extern "C" __global__ void float_too_large_for_int(const float* x, float* y, int n) {
  const int i = (int)(x[0] * 1e30f * n);  // <- ubcheck
  y[blockIdx.x * 64 + threadIdx.x] = i;
}
