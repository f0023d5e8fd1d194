// One step of an optimizer over the elements of one tensor: ai.onnx.preview.training, where the
// formulas stand. One thread an element.
//
// rate is the learning rate R, updates the update count T; both are one element. Factors that are
// the same for all elements are computed in double.
//
// SCALAR, RATE: float or double, the type of the tensors and that of the learning rate.
#include "device.cuh"

extern "C" __global__ void __launch_bounds__(256)
    adagrad(const RATE* __restrict__ rate, const long long* __restrict__ updates,
            const SCALAR* __restrict__ x, const SCALAR* __restrict__ gradient,
            const SCALAR* __restrict__ squares, SCALAR* __restrict__ new_x,
            SCALAR* __restrict__ new_squares, long long count, float decay_factor, float epsilon,
            float norm_coefficient) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const SCALAR step = SCALAR(double(*rate) / (1 + double(*updates) * double(decay_factor)));
  const SCALAR slope = cg_fma(SCALAR(norm_coefficient), x[i], gradient[i]);
  const SCALAR square = cg_fma(slope, slope, squares[i]);
  if (new_x != nullptr) new_x[i] = x[i] - step * slope / (cg_sqrt(square) + SCALAR(epsilon));
  if (new_squares != nullptr) new_squares[i] = square;
}

// alpha ** updates for a whole number of updates.
CG_DEV double whole_power(float alpha, long long updates) {
  return cg_pow(double(alpha), double(updates));
}

extern "C" __global__ void __launch_bounds__(256)
    adam(const RATE* __restrict__ rate, const long long* __restrict__ updates,
         const SCALAR* __restrict__ x, const SCALAR* __restrict__ gradient,
         const SCALAR* __restrict__ average, const SCALAR* __restrict__ squares,
         SCALAR* __restrict__ new_x, SCALAR* __restrict__ new_average,
         SCALAR* __restrict__ new_squares, long long count, float alpha, float beta, float epsilon,
         float norm_coefficient, float norm_coefficient_post) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  double step = double(*rate);
  if (*updates > 0) {
    step *= cg_sqrt(1 - whole_power(beta, *updates)) / (1 - whole_power(alpha, *updates));
  }
  const SCALAR slope = cg_fma(SCALAR(norm_coefficient), x[i], gradient[i]);
  const SCALAR mean = SCALAR(alpha) * average[i] + SCALAR(1 - double(alpha)) * slope;
  const SCALAR square = SCALAR(beta) * squares[i] + SCALAR(1 - double(beta)) * (slope * slope);
  if (new_x != nullptr) {
    const SCALAR moved = x[i] - SCALAR(step) * mean / (cg_sqrt(square) + SCALAR(epsilon));
    new_x[i] = SCALAR(1 - double(norm_coefficient_post)) * moved;
  }
  if (new_average != nullptr) new_average[i] = mean;
  if (new_squares != nullptr) new_squares[i] = square;
}

extern "C" __global__ void __launch_bounds__(256)
    momentum(const RATE* __restrict__ rate, const long long* __restrict__ updates,
             const SCALAR* __restrict__ x, const SCALAR* __restrict__ gradient,
             const SCALAR* __restrict__ velocity, SCALAR* __restrict__ new_x,
             SCALAR* __restrict__ new_velocity, long long count, float alpha, float beta,
             float norm_coefficient, int is_nesterov) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const SCALAR slope = cg_fma(SCALAR(norm_coefficient), x[i], gradient[i]);
  const SCALAR weight = *updates > 0 ? SCALAR(beta) : SCALAR(1);
  const SCALAR moving = SCALAR(alpha) * velocity[i] + weight * slope;
  const SCALAR direction = is_nesterov ? cg_fma(SCALAR(alpha), moving, slope) : moving;
  if (new_x != nullptr) new_x[i] = x[i] - cg_cast<SCALAR>(*rate) * direction;
  if (new_velocity != nullptr) new_velocity[i] = moving;
}
