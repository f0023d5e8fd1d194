// Every wrapper of an instruction, with every size that it takes: to be compiled, not to be run.
#include "device.cuh"
#include "async_copy.cuh"
#include "lanes.cuh"
#include "tensor_core.cuh"

extern "C" __global__ void wrappers(const float* x, const double* wide, float* y, int* z) {
  __shared__ __align__(16) float tile[128];
  cg_cp_async<4>(tile + threadIdx.x, x + threadIdx.x);
  cg_cp_async<8>(tile + 2 * threadIdx.x, x + 2 * threadIdx.x, z[0]);
  cg_cp_async_commit();
  cg_cp_async<16>(tile + 4 * threadIdx.x, x + 4 * threadIdx.x, z[1]);
  cg_cp_async_commit();
  cg_cp_async_wait<1>();
  cg_cp_async_wait_all();
  __syncthreads();
  unsigned a[4], a_transposed[4], b[2], b_transposed[2], c[1], c_transposed[1];
  cg_ldmatrix<4>(a, tile + 4 * threadIdx.x);
  cg_ldmatrix<2>(b, tile + 4 * threadIdx.x);
  cg_ldmatrix<1>(c, tile + 4 * threadIdx.x);
  cg_ldmatrix_transposed<4>(a_transposed, tile + 4 * threadIdx.x);
  cg_ldmatrix_transposed<2>(b_transposed, tile + 4 * threadIdx.x);
  cg_ldmatrix_transposed<1>(c_transposed, tile + 4 * threadIdx.x);
  a[0] ^= cg_to_tf32(x[threadIdx.x]) + c[0];
  float sums[4] = {};
  int counts[4] = {};
  cg_mma_m16n8k8_tf32(sums, a, b);
  cg_mma_m16n8k16_f16(sums, a_transposed, b);
  cg_mma_m16n8k16_bf16(sums, a, b_transposed);
  cg_mma_m16n8k32_s8(counts, a, b);
  cg_mma_m16n8k32_u8(counts, a, b);
  const Lanes<float, 4> lanes = load_lanes<4>(x + 4 * threadIdx.x);
  const Lanes<double, 2> two = load_lanes<2>(wide), pair = fma_lanes(spread_lanes<2>(2.0), two, two);
  for (int i = 0; i < 4; ++i) {
    y[threadIdx.x * 4 + i] = sums[i] + lanes.v[i] + float(pair.v[i % 2]);
    z[threadIdx.x * 4 + i] = counts[i] + c_transposed[0];
  }
}
