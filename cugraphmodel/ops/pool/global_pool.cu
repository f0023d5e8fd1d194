#include "device.cuh"
#include "lp_norm.cuh"

// Pools over all positions of a plane: x [planes, size] -> y [planes]. One block a plane, whose threads
// sum strided parts that then meet in a tree.

typedef SCALAR Scalar;
typedef Acc<Scalar>::type Accumulator;

extern "C" __global__ void global_average_pool(const Scalar* __restrict__ x, Scalar* __restrict__ y,
                                               int size) {
  x += (long long)blockIdx.x * size;
  Accumulator sum = Accumulator(0);
  for (int i = threadIdx.x; i < size; i += blockDim.x) sum += Accumulator(x[i]);
  sum = cg_block_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = Scalar(sum / Accumulator(size));
}

extern "C" __global__ void global_max_pool(const Scalar* __restrict__ x, Scalar* __restrict__ y,
                                           int size) {
  x += (long long)blockIdx.x * size;
  Accumulator best = CgLimits<Accumulator>::lowest();
  for (int i = threadIdx.x; i < size; i += blockDim.x) best = cg_max(best, Accumulator(x[i]));
  best = cg_block_max(best);
  if (threadIdx.x == 0) y[blockIdx.x] = Scalar(best);
}

extern "C" __global__ void global_lp_pool(const Scalar* __restrict__ x, Scalar* __restrict__ y,
                                          int size, int p) {
  x += (long long)blockIdx.x * size;
  Accumulator sum = Accumulator(0);
  for (int i = threadIdx.x; i < size; i += blockDim.x) sum += lp_term(Accumulator(x[i]), p);
  sum = cg_block_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = Scalar(lp_root(sum, p));
}
