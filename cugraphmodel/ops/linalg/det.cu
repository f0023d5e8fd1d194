// y[b] = the determinant of the square matrix x[b], by Gaussian elimination in double with the largest
// pivot of each column. One block a matrix, which it first copies to shared memory, or to `scratch`
// (matrices of size * size) where it does not fit.
//
// SCALAR: element type. IN_SHARED: 0 or 1.
#include "device.cuh"
#include "pivot.cuh"

extern "C" __global__ void __launch_bounds__(256)
    determinant(const SCALAR* __restrict__ x, SCALAR* __restrict__ y, double* scratch, int size) {
  CG_DYN_SHARED(double, shared);
  const int count = size * size;
  double* matrix = IN_SHARED ? shared : scratch + (long long)blockIdx.x * count;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    matrix[i] = cg_cast<double>(x[(long long)blockIdx.x * count + i]);
  }
  __syncthreads();
  double product = 1.0;
  for (int k = 0; k < size; ++k) {
    double pivot;
    const int row = find_pivot(matrix, size, size, k, pivot);
    __syncthreads();  // all have read the pivot
    product *= row == k || row < 0 ? pivot : -pivot;
    if (row < 0) break;
    if (row != k) {
      for (int j = k + threadIdx.x; j < size; j += blockDim.x) {
        const double other = matrix[row * size + j];
        matrix[row * size + j] = matrix[k * size + j];
        matrix[k * size + j] = other;
      }
    }
    __syncthreads();
    const int rest = size - k - 1;
    for (int i = threadIdx.x; i < rest * rest; i += blockDim.x) {
      const int below = k + 1 + i / rest, right = k + 1 + i % rest;
      const double factor = matrix[below * size + k] / pivot;
      matrix[below * size + right] =
          cg_fma(-factor, matrix[k * size + right], matrix[below * size + right]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = cg_cast<SCALAR>(product);
}
