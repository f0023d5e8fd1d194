// What post_transform makes of scores, in place. One thread a row: scores are few.
//
// Macros
//   SCALAR      float or double
//   TRANSFORM   a function of scores.cuh
#include "device.cuh"
#include "scores.cuh"

extern "C" __global__ void __launch_bounds__(128)
    transform_scores(SCALAR* scores, long long num_rows, int num_scores) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row < num_rows) TRANSFORM(scores + row * num_scores, num_scores);
}
