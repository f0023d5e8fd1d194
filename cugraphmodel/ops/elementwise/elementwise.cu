#include "device.cuh"

#include "activations.cuh"
#include "narrow.cuh"
#include "scalar_functions.cuh"

// out = EXPRESSION, element by element, with NumPy broadcasting.
//
// Each thread makes VECTOR (1 or 4) neighbouring elements of the innermost dimension. The output is
// contiguous; an operand has a stride for each dimension, 0 where it repeats. Where RANK > 1,
// VECTOR divides the innermost dimension.
//
// Macros
//   EXPRESSION           of x0, x1, x2 (operands as Acc types) and the float attributes a, b
//   STEPS                statements before it, for a chain of operators; may be left out
//   OUT_TYPE, TYPE0..2   element types
//   STEP0..2             innermost stride of each operand: 1, 0 (repeats), -1 (no operand)
//   RANK, VECTOR, INDEX  dimensions after merging; elements a thread; type of offsets
//
// `out` may be one of the operands where they coincide element for element.

#ifndef STEPS
#define STEPS
#endif

typedef INDEX Index;

template <typename T>
struct Values {
  typename Acc<T>::type v[VECTOR];
};

// The VECTOR elements from `in` on; only `count` of them exist.
template <int kStep, typename T>
CG_DEV Values<T> load(const T* in, int count) {
  typedef typename Acc<T>::type A;
  Values<T> x = {};
  if constexpr (kStep == 0) {
    const A value = cg_cast<A>(in[0]);
    for (int k = 0; k < VECTOR; ++k) x.v[k] = value;
  } else if constexpr (kStep == 1) {
    if (VECTOR == 4 && count == 4) {
      const Pack4<T> pack = cg_load4(in);
      for (int k = 0; k < VECTOR; ++k) x.v[k] = cg_cast<A>(pack.v[k]);
    } else {
      for (int k = 0; k < VECTOR; ++k) {
        if (k < count) x.v[k] = cg_cast<A>(in[k]);
      }
    }
  }
  return x;
}

// What would come back of x from a tensor of T. The sum with minus zero is any float itself, and
// keeps the compiler from making one operation of a product in one step and a sum in the next: it
// does not know that `minus_zero` is.
template <typename T, typename X>
CG_DEV typename Acc<T>::type stored(X x, [[maybe_unused]] float minus_zero) {
  typedef typename Acc<T>::type A;
  const A value = cg_cast<A>(cg_cast<T>(x));
  if constexpr (CgSame<T, float>::value || CgSame<T, double>::value) {
    return value + T(minus_zero);
  } else {
    return value;
  }
}

template <typename T0, typename T1, typename T2>
CG_DEV OUT_TYPE apply([[maybe_unused]] T0 x0, [[maybe_unused]] T1 x1, [[maybe_unused]] T2 x2,
                      [[maybe_unused]] float a, [[maybe_unused]] float b) {
  STEPS
  return cg_cast<OUT_TYPE>(EXPRESSION);
}

extern "C" __global__ void __launch_bounds__(128)
    elementwise(OUT_TYPE* out, const TYPE0* in0, const TYPE1* in1, const TYPE2* in2, long long size,
                Dims shape, Dims strides0, Dims strides1, Dims strides2, float a, float b) {
  const Index first = (Index(blockIdx.x) * blockDim.x + threadIdx.x) * VECTOR;
  if (first >= Index(size)) return;

  Index outer = first, offset0 = 0, offset1 = 0, offset2 = 0;
#pragma unroll
  for (int d = RANK - 1; d >= 0; --d) {
    const Index extent = Index(shape.v[d]);
    const Index quotient = d == 0 ? 0 : outer / extent;
    const Index position = outer - quotient * extent;
    outer = quotient;
    if (STEP0 >= 0) offset0 += position * Index(strides0.v[d]);
    if (STEP1 >= 0) offset1 += position * Index(strides1.v[d]);
    if (STEP2 >= 0) offset2 += position * Index(strides2.v[d]);
  }

  const Index left = Index(size) - first;
  const int count = left < VECTOR ? int(left) : VECTOR;
  const Values<TYPE0> x0 = load<STEP0>(in0 + offset0, count);
  const Values<TYPE1> x1 = load<STEP1>(in1 + offset1, count);
  const Values<TYPE2> x2 = load<STEP2>(in2 + offset2, count);
  if (VECTOR == 4 && count == 4) {
    Pack4<OUT_TYPE> pack;
    for (int k = 0; k < VECTOR; ++k) pack.v[k] = apply(x0.v[k], x1.v[k], x2.v[k], a, b);
    cg_store4(out + first, pack);
  } else {
    for (int k = 0; k < VECTOR; ++k) {
      if (k < count) {
        const OUT_TYPE value = apply(x0.v[k], x1.v[k], x2.v[k], a, b);
        out[first + k] = value;
      }
    }
  }
}
