// Tensors that follow from numbers known at capture. One thread an element.
//
// SCALAR: the element type.
#include "device.cuh"

// target[i] = the low bytes of pattern
extern "C" __global__ void __launch_bounds__(256)
    fill(SCALAR* __restrict__ target, long long count, long long pattern) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) target[i] = (SCALAR)pattern;
}

// target[i] = start + i * delta, rounded once
extern "C" __global__ void __launch_bounds__(256)
    fill_range(SCALAR* __restrict__ target, long long count, double start, double delta) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) target[i] = cg_cast<SCALAR>(cg_fma((double)i, delta, start));
}

// target[i] = start + i * delta, wrapping
extern "C" __global__ void __launch_bounds__(256)
    fill_integer_range(SCALAR* __restrict__ target, long long count, long long start,
                       long long delta) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) target[i] = cg_cast<SCALAR>(start + i * delta);
}

// target[r, c] = c - r == diagonal
extern "C" __global__ void __launch_bounds__(256)
    fill_diagonal(SCALAR* __restrict__ target, long long count, long long columns,
                  long long diagonal) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const long long row = i / columns;
  target[i] = cg_cast<SCALAR>(i - row * columns - row == diagonal ? 1.0f : 0.0f);
}

// target[i] = numbers[i]
extern "C" __global__ void __launch_bounds__(256)
    fill_numbers(SCALAR* __restrict__ target, long long count, CG_PARAM Dims numbers) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) target[i] = cg_cast<SCALAR>(numbers.v[i]);
}
