#pragma once
// What the kernels of attention share: where tensors lie, and what becomes of a row in the end.
//
// Macros
//   SCALAR   element type
//   EMPTY    what becomes of rows that softmax has no answer for
//              0  NaN, as softmax says
//              1  probabilities of 0 where bias and causality are -Inf for all keys
//              2  probabilities of 0 instead of NaN
#include "device.cuh"

typedef SCALAR Scalar;
typedef Acc<Scalar>::type A;

// The place of one head: lead counts the leading axes, of shape.v[0:4] with strides.v[0:4].
template <class T>
CG_DEV T* of_lead(T* base, int lead, const Dims& shape, const Dims& strides) {
  base += strides.v[6];
#pragma unroll
  for (int axis = 3; axis >= 0; --axis) {
    const int size = int(shape.v[axis]);
    base += lead % size * strides.v[axis];
    lead /= size;
  }
  return base;
}

// What scores are less by before the exponential: the highest, or 0 as long as all were -Inf, whose
// difference is NaN.
CG_DEV A base_of(A highest) { return highest == CgLimits<A>::lowest() ? A(0) : highest; }

// The result for a sum of values weighted by exponentials. `total` is the sum of these; `open` says
// whether bias or causality let a key through, `wild` whether a score that counted as -Inf was none
// that softmax takes.
CG_DEV A finished(A value, A total, bool open, bool wild) {
  if (EMPTY == 1) return !open ? value : wild ? A(CG_NAN) : value / total;
  if (EMPTY == 2 && (wild || total == A(0))) return value * A(0);  // NaN if a value is not finite
  return value / total;
}

// What is known of a line, a row of one head, after a part of the keys.
struct About {
  A highest, total, open, wild;
};

// Of each part: About of every line, then its sums [line, width].
struct Parts {
  A* data;
  int num_lines, width;

  CG_DEV A* part(int number) const { return data + (long long)number * num_lines * (4 + width); }
  CG_DEV About* about(int number, int line) const {
    return reinterpret_cast<About*>(part(number)) + line;
  }
  CG_DEV A* sums(int number, int line) const {
    return part(number) + 4ll * num_lines + (long long)line * width;
  }
};
