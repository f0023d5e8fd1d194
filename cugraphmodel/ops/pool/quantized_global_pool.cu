#include "device.cuh"
#include "quantization.cuh"

// The average of each plane of bytes, as in quantized_pool.cu: x [planes, size] -> y [planes]. One block
// a plane. SCALAR: the type of x and y.

typedef SCALAR Scalar;

extern "C" __global__ void quantized_global_pool(
    const Scalar* __restrict__ x, const float* __restrict__ x_scale,
    const Scalar* __restrict__ x_zero, const float* __restrict__ y_scale,
    const Scalar* __restrict__ y_zero, Scalar* __restrict__ y, int size) {
  x += (long long)blockIdx.x * size;
  const int zero = x_zero == nullptr ? 0 : int(*x_zero);
  long long sum = 0;
  for (int i = threadIdx.x; i < size; i += blockDim.x) sum += int(x[i]) - zero;
  sum = cg_block_sum(sum);
  if (threadIdx.x == 0) {
    const float mean = float(sum) * *x_scale / float(size);
    y[blockIdx.x] = cg_quantize(mean / *y_scale, y_zero == nullptr ? Scalar(0) : *y_zero);
  }
}
