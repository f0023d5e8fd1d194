// What tests/kernels/test_twins.py launches, on the CPU and on a GPU.
#include "device.cuh"
#include "lanes.cuh"
#if !defined(SCALAR)
#define SCALAR float
#endif

// Of each LANES neighbours of x, in a row of y: x0 + 0, and x0 * x + z by lanes and one by one.
constexpr int kLanes = 16 / sizeof(SCALAR);
extern "C" __global__ void lanes(const SCALAR* x, const SCALAR* z, SCALAR* y) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * kLanes;
  const Lanes<SCALAR, kLanes> a = spread_lanes<kLanes>(x[first]);
  const Lanes<SCALAR, kLanes> sum =
      fma_lanes(a, load_lanes<kLanes>(x + first), load_lanes<kLanes>(z + first));
  for (int i = 0; i < kLanes; ++i) {
    y[3 * (first + i)] = a.v[i];
    y[3 * (first + i) + 1] = sum.v[i];
    y[3 * (first + i) + 2] = cg_fma(x[first], x[first + i], z[first + i]);
  }
}
