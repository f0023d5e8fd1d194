// y[b] = the inverse of the square matrix x[b], by Gauss-Jordan elimination in double with the largest
// pivot of each column. One block a matrix, which it first copies to shared memory, or to `scratch`
// where it does not fit: rows of 2 * size, the matrix and beside it the identity, which becomes the
// inverse.
//
// SCALAR: element type. IN_SHARED: 0 or 1.
#include "device.cuh"
#include "pivot.cuh"

extern "C" __global__ void __launch_bounds__(256)
    inverse(const SCALAR* __restrict__ x, SCALAR* __restrict__ y, double* scratch, int size) {
  CG_DYN_SHARED(double, shared);
  const int pitch = 2 * size;
  const long long first = (long long)blockIdx.x * size * size;
  double* matrix = IN_SHARED ? shared : scratch + 2 * first;
  for (int i = threadIdx.x; i < size * pitch; i += blockDim.x) {
    const int row = i / pitch, column = i - row * pitch;
    matrix[i] = column < size ? cg_cast<double>(x[first + row * size + column])
                              : double(column - size == row);
  }
  __syncthreads();
  for (int k = 0; k < size; ++k) {
    double pivot;
    const int row = find_pivot(matrix, size, pitch, k, pivot);
    __syncthreads();  // all have read the pivot
    for (int j = k + threadIdx.x; j < pitch; j += blockDim.x) {
      const double chosen = matrix[(row < 0 ? k : row) * pitch + j];
      if (row > k) matrix[row * pitch + j] = matrix[k * pitch + j];
      matrix[k * pitch + j] = chosen / pivot;
    }
    __syncthreads();
    // Column k is left as it is: nothing reads it any more.
    const int width = pitch - k - 1;
    for (int i = threadIdx.x; i < size * width; i += blockDim.x) {
      const int other = i / width, column = k + 1 + i % width;
      if (other == k) continue;
      double& element = matrix[other * pitch + column];
      element = cg_fma(-matrix[other * pitch + k], matrix[k * pitch + column], element);
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < size * size; i += blockDim.x) {
    y[first + i] = cg_cast<SCALAR>(matrix[i / size * pitch + size + i % size]);
  }
}
