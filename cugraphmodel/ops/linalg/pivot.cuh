#pragma once
#include "device.cuh"

// The first row from the diagonal down whose element is the largest of the column, or -1 if all are 0
// or one is NaN. `pivot` becomes the element. Rows are `pitch` elements apart. Contains barriers.
CG_DEV int find_pivot(const double* matrix, int size, int pitch, int column, double& pivot) {
  double largest = 0.0;
  for (int row = column + threadIdx.x; row < size; row += blockDim.x) {
    largest = cg_max(largest, cg_abs(matrix[(long long)row * pitch + column]));
  }
  largest = cg_block_max(largest);
  int chosen = size;
  for (int row = column + threadIdx.x; row < size; row += blockDim.x) {
    const bool is_largest = cg_abs(matrix[(long long)row * pitch + column]) == largest;
    chosen = cg_min(chosen, is_largest ? row : size);
  }
  chosen = cg_block_min(chosen);
  pivot = largest == 0.0 || chosen == size ? largest : matrix[(long long)chosen * pitch + column];
  return largest == 0.0 || chosen == size ? -1 : chosen;
}
