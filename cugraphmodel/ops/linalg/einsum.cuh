#pragma once
// y[o] = sum_r left[o, r] * right[o, r], over tensors of any strides. `kept` are the axes of o, which
// are those of y, and `reduced` those of r; a stride is 0 where a tensor lacks the axis. 16-bit floats
// are multiplied and added as float; integers wrap.
//
// LEFT, RIGHT, RESULT: element types. SUM: float, double or unsigned long long. KEPT_RANK,
// REDUCED_RANK: numbers of axes. INDEX: integer that counts outputs and summands.
#include "device.cuh"

struct Axes {
  Dims size, left, right;
};

// Over axes d and up, one after another.
template <int d>
CG_DEV void add_products(SUM& sum, const LEFT* left, const RIGHT* right, const Axes& axes) {
  if constexpr (d == REDUCED_RANK) {
    sum = cg_fma(cg_cast<SUM>(*left), cg_cast<SUM>(*right), sum);
  } else {
    for (long long i = 0; i < axes.size.v[d]; ++i) {
      add_products<d + 1>(sum, left, right, axes);
      left += axes.left.v[d];
      right += axes.right.v[d];
    }
  }
}

template <int kRank>
CG_DEV void advance(const LEFT*& left, const RIGHT*& right, INDEX position, const Axes& axes) {
#pragma unroll
  for (int d = kRank - 1; d >= 0; --d) {
    const INDEX next = position / (INDEX)axes.size.v[d];
    const INDEX coordinate = position - next * (INDEX)axes.size.v[d];
    left += coordinate * axes.left.v[d];
    right += coordinate * axes.right.v[d];
    position = next;
  }
}
