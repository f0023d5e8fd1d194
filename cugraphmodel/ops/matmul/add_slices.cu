#include "device.cuh"
#include "product.cuh"

// y = ACTIVATION(alpha * (partial[0] + partial[1] + ...) + beta * bias + residual), one thread an
// element
//   partial  [slices, size], added in order
//   bias     any strides over the rows and columns of a matrix; may be null
//   y        [size], matrices of [rows, columns]; so is residual, which may be null
extern "C" __global__ void add_slices(const float* __restrict__ partial,
                                      const Scalar* __restrict__ bias,
                                      const Result* __restrict__ residual,
                                      Result* __restrict__ y, int num_slices, long long size, int rows, int columns,
                                      long long bias_row_stride, long long bias_column_stride,
                                      float alpha, float beta, float activation_a,
                                      float activation_b) {
  const long long n = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= size) return;
  float sum = partial[n];
  for (int slice = 1; slice < num_slices; ++slice) sum += partial[slice * size + n];
  const int row = int(n / columns % rows), column = int(n % columns);
  const long long first = n - (long long)row * columns - column;
  const Epilogue finish = {bias, bias_row_stride, bias_column_stride, alpha, beta, activation_a,
                           activation_b, residual == nullptr ? nullptr : residual + first, columns};
  y[n] = finish(sum, row, column);
}
