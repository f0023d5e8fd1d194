// scores[row] = sum over s of coefficients[s] * KERNEL(x[row], vectors[s]) + offset, or its sign.
// One warp a row, which shares out the support vectors.
//
// Macros
//   SCALAR, COMPUTE   element type of x; type of the arithmetic
//   KERNEL            kernel_linear, kernel_poly, kernel_rbf or kernel_sigmoid
#include "device.cuh"
#include "reduction.cuh"

struct KernelParameters {
  float gamma, coef0, degree;
};

CG_DEV COMPUTE dot(const SCALAR* x, const float* vector, long long size) {
  RunningSum<COMPUTE> sum;
  for (long long f = 0; f < size; ++f) sum.add(cg_cast<COMPUTE>(x[f]) * COMPUTE(vector[f]));
  return sum.total();
}

CG_DEV COMPUTE kernel_linear(const SCALAR* x, const float* vector, long long size,
                             KernelParameters) {
  return dot(x, vector, size);
}

CG_DEV COMPUTE kernel_poly(const SCALAR* x, const float* vector, long long size,
                           KernelParameters p) {
  return cg_pow(COMPUTE(p.gamma) * dot(x, vector, size) + COMPUTE(p.coef0), COMPUTE(p.degree));
}

CG_DEV COMPUTE kernel_sigmoid(const SCALAR* x, const float* vector, long long size,
                              KernelParameters p) {
  return cg_tanh(COMPUTE(p.gamma) * dot(x, vector, size) + COMPUTE(p.coef0));
}

CG_DEV COMPUTE kernel_rbf(const SCALAR* x, const float* vector, long long size,
                          KernelParameters p) {
  RunningSum<COMPUTE> sum;
  for (long long f = 0; f < size; ++f) {
    const COMPUTE difference = cg_cast<COMPUTE>(x[f]) - COMPUTE(vector[f]);
    sum.add(difference * difference);
  }
  return cg_exp(-COMPUTE(p.gamma) * sum.total());
}

extern "C" __global__ void __launch_bounds__(128)
    svm_scores(const SCALAR* __restrict__ x, const float* __restrict__ vectors,
               const float* __restrict__ coefficients, float* __restrict__ scores,
               long long num_rows, long long num_features, long long num_vectors,
               KernelParameters parameters, float offset, int is_sign) {
  const int lane = threadIdx.x % 32;
  const long long row = (long long)blockIdx.x * 4 + threadIdx.x / 32;
  RunningSum<COMPUTE> sum;
  for (long long s = lane; row < num_rows && s < num_vectors; s += 32) {
    const COMPUTE similarity =
        KERNEL(x + row * num_features, vectors + s * num_features, num_features, parameters);
    sum.add(COMPUTE(coefficients[s]) * similarity);
  }
  const COMPUTE score = cg_warp_sum(sum.total()) + COMPUTE(offset);
  if (lane == 0 && row < num_rows) {
    scores[row] = is_sign ? (score > COMPUTE(0) ? 1.0f : -1.0f) : float(score);
  }
}
