#pragma once
// What the kernels of matrix products share: where a batch lies, and what becomes of a sum.
#include "device.cuh"
#include "activations.cuh"

typedef SCALAR Scalar;
typedef Acc<Scalar>::type Accumulator;
typedef RESULT Result;  // element type of the product

struct Operands {
  const Scalar* left;
  const Scalar* right;
};

// The operands of one product of a batch. The batch axes are batch_shape[0:batch_rank], with strides
// in elements that are zero where an operand is broadcast.
CG_DEV Operands of_batch(Operands base, int batch, int batch_rank, const Dims& batch_shape,
                         const Dims& left_strides, const Dims& right_strides) {
#pragma unroll
  for (int axis = 7; axis >= 0; --axis) {
    if (axis >= batch_rank) continue;
    const int size = int(batch_shape.v[axis]);
    base.left += batch % size * left_strides.v[axis];
    base.right += batch % size * right_strides.v[axis];
    batch /= size;
  }
  return base;
}

// ACTIVATION(alpha * sum + beta * bias + residual). The bias has any strides over rows and columns,
// zero where it is broadcast, and may be null. The residual lies as the product does, [rows, columns]
// of its own batch, and may be null.
struct Epilogue {
  const Scalar* bias;
  long long bias_row_stride;
  long long bias_column_stride;
  float alpha;
  float beta;
  float activation_a;
  float activation_b;
  const Result* residual;
  int columns;

  CG_DEV Result operator()(Accumulator sum, int row, int column) const {
    Accumulator value = Accumulator(alpha) * sum;
    if (bias != nullptr) {
      const Scalar term = bias[row * bias_row_stride + column * bias_column_stride];
      value = cg_fma(Accumulator(beta), Accumulator(term), value);
    }
    if (residual != nullptr) value += Accumulator(residual[(long long)row * columns + column]);
    return Result(ACTIVATION(value, activation_a, activation_b));
  }
};
