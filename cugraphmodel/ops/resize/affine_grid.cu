// grid[n, place, :] = theta[n] applied to the place's coordinates, of which the last axis comes
// first: x, y or x, y, z, each from -1 to 1. One thread a place.
//
// Macros
//   SCALAR, COMPUTE   element type; type of the arithmetic
//   RANK              2 or 3 axes
//   ALIGN_CORNERS     1: -1 and 1 are the centers of the outermost places; 0: their outer edges
#include "device.cuh"

CG_DEV COMPUTE coordinate_of(long long index, long long size) {
  if (ALIGN_CORNERS) {
    return size > 1 ? COMPUTE(2 * index - (size - 1)) / COMPUTE(size - 1) : COMPUTE(0);
  }
  return COMPUTE(2 * index + 1 - size) / COMPUTE(size);
}

extern "C" __global__ void __launch_bounds__(256)
    affine_grid(const SCALAR* __restrict__ theta, SCALAR* __restrict__ grid, long long count,
                long long places, CG_PARAM Dims shape) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const long long sample = position / places;
  long long rest = position - sample * places;
  COMPUTE coordinates[RANK];
#pragma unroll
  for (int d = RANK - 1; d >= 0; --d) {
    const long long next = rest / shape.v[d];
    coordinates[RANK - 1 - d] = coordinate_of(rest - next * shape.v[d], shape.v[d]);
    rest = next;
  }
  const SCALAR* matrix = theta + sample * (RANK * (RANK + 1));
#pragma unroll
  for (int row = 0; row < RANK; ++row) {
    COMPUTE sum = cg_cast<COMPUTE>(matrix[row * (RANK + 1) + RANK]);
#pragma unroll
    for (int column = 0; column < RANK; ++column) {
      sum = cg_fma(cg_cast<COMPUTE>(matrix[row * (RANK + 1) + column]), coordinates[column], sum);
    }
    grid[position * RANK + row] = cg_cast<SCALAR>(sum);
  }
}
