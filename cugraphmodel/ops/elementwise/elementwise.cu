#include "device.cuh"

#include "activations.cuh"
#include "narrow.cuh"
#include "quantization.cuh"
#include "scalar_functions.cuh"

// out = EXPRESSION, element by element, with NumPy broadcasting.
//
// Each thread makes VECTOR (1 or 4) neighbouring elements of the innermost dimension. The output is
// contiguous; an operand has a stride for each dimension, 0 where it repeats. Where RANK > 1,
// VECTOR divides the innermost dimension.
//
// Macros
//   EXPRESSION           of x0 .. x5 (operands as Acc types) and the float attributes a, b
//   STEPS                statements before it, for a chain of operators; may be left out
//   SECOND, SECOND_TYPE  what goes to `second`, and its element type; may be left out
//   OPERANDS             how many there are, 1 to 6
//   OUT_TYPE, TYPE0..5   element types
//   STEP0..5             innermost stride of each operand: 1 or 0 (repeats)
//   RANK, VECTOR, INDEX  dimensions after merging; elements a thread; type of offsets
//
// `out` may be one of the operands where they coincide element for element.

#ifndef STEPS
#define STEPS
#endif
#ifdef SECOND
#define HAS_SECOND 1
#else
#define HAS_SECOND 0
#define SECOND 0
#define SECOND_TYPE OUT_TYPE
#endif
#if OPERANDS < 2
#define TYPE1 OUT_TYPE
#define STEP1 -1
#endif
#if OPERANDS < 3
#define TYPE2 OUT_TYPE
#define STEP2 -1
#endif
#if OPERANDS < 4
#define TYPE3 OUT_TYPE
#define STEP3 -1
#endif
#if OPERANDS < 5
#define TYPE4 OUT_TYPE
#define STEP4 -1
#endif
#if OPERANDS < 6
#define TYPE5 OUT_TYPE
#define STEP5 -1
#endif

typedef INDEX Index;

struct Strides {
  Dims of[OPERANDS];
};

// Where a thread's first element is along each dimension.
struct Position {
  Index v[RANK];
};

template <typename T>
struct Values {
  typename Acc<T>::type v[VECTOR];
};

// The thread's elements of operand kOperand; zeros from element `count` on, and if there is none.
template <int kOperand, int kStep, typename T>
CG_DEV Values<T> load(const T* in, const Strides& strides, const Position& position, int count) {
  typedef typename Acc<T>::type A;
  Values<T> x = {};
  if constexpr (kStep >= 0) {
#pragma unroll
    for (int d = 0; d < RANK; ++d) in += position.v[d] * Index(strides.of[kOperand].v[d]);
  }
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

// What would come back of x from a tensor of T.
template <typename T, typename X>
CG_DEV typename Acc<T>::type rounded(X x) {
  return cg_cast<typename Acc<T>::type>(cg_cast<T>(x));
}

// The same, at the end of a step. The sum with minus zero is any float itself, and
// keeps the compiler from making one operation of a product in one step and a sum in the next: it
// does not know that `minus_zero` is.
template <typename T, typename X>
CG_DEV typename Acc<T>::type stored(X x, [[maybe_unused]] float minus_zero) {
  if constexpr (CgSame<T, float>::value || CgSame<T, double>::value) {
    return rounded<T>(x) + T(minus_zero);
  } else {
    return rounded<T>(x);
  }
}

struct Results {
  OUT_TYPE first;
  SECOND_TYPE second;
};

template <typename T0, typename T1, typename T2, typename T3, typename T4, typename T5>
CG_DEV Results apply([[maybe_unused]] T0 x0, [[maybe_unused]] T1 x1, [[maybe_unused]] T2 x2,
                     [[maybe_unused]] T3 x3, [[maybe_unused]] T4 x4, [[maybe_unused]] T5 x5,
                     [[maybe_unused]] float a, [[maybe_unused]] float b) {
  STEPS
  return {cg_cast<OUT_TYPE>(EXPRESSION), cg_cast<SECOND_TYPE>(SECOND)};
}

template <typename T>
CG_DEV void store(T* out, const Pack4<T>& values, int count) {
  if (VECTOR == 4 && count == 4) {
    cg_store4(out, values);
  } else {
    for (int k = 0; k < VECTOR; ++k) {
      if (k < count) out[k] = values.v[k];
    }
  }
}

extern "C" __global__ void __launch_bounds__(128)
    elementwise(OUT_TYPE* out, const TYPE0* in0, const TYPE1* in1, const TYPE2* in2,
                const TYPE3* in3, const TYPE4* in4, const TYPE5* in5, SECOND_TYPE* second,
                long long size, Dims shape, Strides strides, float a, float b) {
  const Index first = (Index(blockIdx.x) * blockDim.x + threadIdx.x) * VECTOR;
  if (first >= Index(size)) return;

  Index outer = first;
  Position position;
#pragma unroll
  for (int d = RANK - 1; d >= 0; --d) {
    const Index extent = Index(shape.v[d]);
    const Index quotient = d == 0 ? 0 : outer / extent;
    position.v[d] = outer - quotient * extent;
    outer = quotient;
  }

  const Index left = Index(size) - first;
  const int count = left < VECTOR ? int(left) : VECTOR;
  const Values<TYPE0> x0 = load<0, STEP0>(in0, strides, position, count);
  const Values<TYPE1> x1 = load<1, STEP1>(in1, strides, position, count);
  const Values<TYPE2> x2 = load<2, STEP2>(in2, strides, position, count);
  const Values<TYPE3> x3 = load<3, STEP3>(in3, strides, position, count);
  const Values<TYPE4> x4 = load<4, STEP4>(in4, strides, position, count);
  const Values<TYPE5> x5 = load<5, STEP5>(in5, strides, position, count);
  Pack4<OUT_TYPE> y;
  Pack4<SECOND_TYPE> z;
  for (int k = 0; k < VECTOR; ++k) {
    const Results results =
        apply(x0.v[k], x1.v[k], x2.v[k], x3.v[k], x4.v[k], x5.v[k], a, b);
    y.v[k] = results.first;
    z.v[k] = results.second;
  }
  store(out + first, y, count);
  if (HAS_SECOND) store(second + first, z, count);
}
