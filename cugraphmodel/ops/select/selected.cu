// What is made of positions that positions.cu listed; -1 stands for none. One thread an element.
//
// WORD: the type moved.
#include "device.cuh"

// coordinates [rank, size] of positions in a tensor; -1 for none. blockIdx.y is the axis.
extern "C" __global__ void __launch_bounds__(256)
    coordinates_of(const long long* __restrict__ positions, long long* __restrict__ coordinates,
                   long long size, CG_PARAM Dims shape, CG_PARAM Dims strides) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const long long at = positions[i], axis = blockIdx.y;
  coordinates[axis * size + i] = at < 0 ? -1 : at / strides.v[axis] % shape.v[axis];
}

// y [outer, size, inner] = the slices of x [outer, slices, inner] at the positions; 0 for none.
extern "C" __global__ void __launch_bounds__(256)
    slices_at(const WORD* __restrict__ x, const long long* __restrict__ positions,
              WORD* __restrict__ y, long long count, long long size, long long slices,
              long long inner) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const long long row = i / inner, outer = row / size;
  const long long at = positions[row - outer * size];
  y[i] = at < 0 ? (WORD)0 : x[(outer * slices + at) * inner + (i - row * inner)];
}
