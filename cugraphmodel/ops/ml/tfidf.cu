// y[row, column] = how often the n-grams of a column occur in x[row, 0 ... row_size - 1], with up to
// max_skips elements left out between neighbours. One thread an element of y.
//
// grams[g] = (first element in pool, n), in the order of their columns, of which column_starts says
// where each starts.
//
// Macros
//   SCALAR     element type of x
//   WEIGHTED   of `count` and `weight`: what is stored
#include "device.cuh"

struct alignas(8) Gram {
  int first, size;
};

CG_DEV bool is_gram(const SCALAR* x, const long long* gram, int size, int distance) {
#pragma unroll 1
  for (; size > 0; --size, ++gram, x += distance) {
    if ((long long)*x != *gram) return false;
  }
  return true;
}

extern "C" __global__ void __launch_bounds__(128)
    count_grams(const SCALAR* __restrict__ x, const long long* __restrict__ pool,
                const Gram* __restrict__ grams, const int* __restrict__ column_starts,
                const float* __restrict__ weights, float* __restrict__ y, long long num_elements,
                long long num_columns, long long row_size, int max_skips) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= num_elements) return;
  const long long row = position / num_columns;
  const long long column = position - row * num_columns;
  const SCALAR* words = x + row * row_size;
  float count = 0;
  for (int g = column_starts[column]; g < column_starts[column + 1]; ++g) {
    const Gram gram = grams[g];
    const int skips = gram.size == 1 ? 0 : max_skips;
    for (int distance = 1; distance <= skips + 1; ++distance) {
      const long long starts = row_size - (long long)distance * (gram.size - 1);
#pragma unroll 1
      for (long long start = 0; start < starts; ++start) {
        if (is_gram(words + start, pool + gram.first, gram.size, distance)) count += 1;
      }
    }
  }
  [[maybe_unused]] const float weight = weights[column];
  y[position] = WEIGHTED;
}
