#include "device.cuh"

// out[outer, axis_size, inner] = 1 where the position along the axis is positions[outer, inner],
// else 0. One thread an element.
//
// Macros
//   SCALAR   element type of out

extern "C" __global__ void __launch_bounds__(128)
    hardmax(SCALAR* __restrict__ out, const long long* __restrict__ positions, long long size,
            long long axis_size, long long inner) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const long long outer = i / inner / axis_size;
  const long long position = i / inner % axis_size;
  out[i] = cg_cast<SCALAR>(position == positions[outer * inner + i % inner] ? 1.0f : 0.0f);
}
