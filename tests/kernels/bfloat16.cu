// What tests/kernels/test_bfloat16.py launches, on the CPU and on a GPU.
#include "device.cuh"

extern "C" __global__ void to_bfloat16(const float* x, unsigned short* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = bfloat16(x[i]).bits;
}
extern "C" __global__ void from_bfloat16(const unsigned short* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  bfloat16 value;
  value.bits = i < n ? x[i] : 0;
  if (i < n) y[i] = float(value);
}
