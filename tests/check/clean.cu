// Kernels without a fault, each close to one that has one.
#include "device.cuh"

extern "C" __global__ void tail(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" __global__ void everyone_reads_one(const float* x, float* y, int n) {
  y[blockIdx.x * 64 + threadIdx.x] = x[0] + x[n - 1];
}
extern "C" __global__ void exchange_in_a_block(const float* x, float* y, int n) {
  __shared__ float held[64];
  for (int round = 0; round < 3; ++round) {
    held[threadIdx.x] = x[threadIdx.x + round];
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = held[63 - threadIdx.x];
    __syncthreads();
  }
}
extern "C" __global__ void exchange_in_a_warp(const float* x, float* y, int n) {
  __shared__ float held[64];
  const int lane = threadIdx.x % 32, first = threadIdx.x - lane;
  held[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  const float other = held[first + 31 - lane];
  __syncwarp();
  held[threadIdx.x] = other;
  __syncwarp();
  y[blockIdx.x * 64 + threadIdx.x] = held[first + 31 - lane];
}
extern "C" __global__ void shuffles(const float* x, float* y, int n) {
  const float sum = cg_warp_sum(x[threadIdx.x]) + __shfl_down_sync(0xffffffffu, x[0], 4);
  y[blockIdx.x * 64 + threadIdx.x] = sum;
}
extern "C" __global__ void block_sum_is_a_barrier(const float* x, float* y, int n) {
  __shared__ float held[64];
  held[threadIdx.x] = x[threadIdx.x];
  const float sum = cg_block_sum(x[threadIdx.x]);
  y[blockIdx.x * 64 + threadIdx.x] = sum + held[63 - threadIdx.x];
}
extern "C" __global__ void atomics(const float* x, float* y, int n) {
  atomicAdd(y + threadIdx.x % 2, x[n - 1]);
  atomicMax((int*)y + 2 + blockIdx.x, 5);
}
extern "C" __global__ void return_before_a_barrier(const float* x, float* y, int n) {
  if (threadIdx.x >= 20) return;
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = x[n - 1];
}
extern "C" __global__ void dynamic_shared(const float* x, float* y, int n) {
  CG_DYN_SHARED(float, held);
  held[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = held[63 - threadIdx.x];
}
extern "C" __global__ void neighbouring_bytes(const float* x, float* y, int n) {
  __shared__ unsigned char bytes[64];
  __shared__ half halves[64];
  bytes[threadIdx.x] = (unsigned char)threadIdx.x;
  halves[threadIdx.x] = half(x[threadIdx.x]);
  y[blockIdx.x * 64 + threadIdx.x] = float(halves[threadIdx.x]) + bytes[threadIdx.x];
}
struct Padded {
  double value;
  int index;
};
extern "C" __global__ void padded_struct(const float* x, float* y, int n) {
  __shared__ Padded held[64];
  held[threadIdx.x].value = x[threadIdx.x];
  held[threadIdx.x].index = n;
  __syncthreads();
  const Padded other = held[63 - threadIdx.x];
  y[blockIdx.x * 64 + threadIdx.x] = float(other.value) + other.index;
}
extern "C" __global__ void vectors(const float* x, float* y, int n) {
  const int i = 4 * (blockIdx.x * 64 + threadIdx.x);
  if (i < n) cg_store4(y + i, cg_load4(x + i));
}
extern "C" __global__ void table_of_constants(const float* x, float* y, int n) {
  static const float table[4] = {1, 2, 4, 8};
  y[blockIdx.x * 64 + threadIdx.x] = table[threadIdx.x % 4] + x[n - 1];
}
extern "C" __global__ void unsigned_wraps(const float* x, float* y, int n) {
  y[blockIdx.x * 64 + threadIdx.x] = x[0] + float(unsigned(n) * 123456789u * 3u >> 31);
}
extern "C" __global__ void writes_then_reads_its_own(const float* x, float* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  y[i] = x[n - 1];
  y[i] += y[i];
}
