// Scalar functions of the elementwise operators that are not activations: el_*.
//
// T is any type that Acc gives: float, double, an integer, bool. Integers wrap as in NumPy; signed
// overflow being undefined in C++, they do so in the unsigned type of Wrap.
#pragma once

#include "device.cuh"

template <typename T> struct Wrap { typedef unsigned type; };
template <> struct Wrap<long long> { typedef unsigned long long type; };
template <> struct Wrap<unsigned long long> { typedef unsigned long long type; };
template <> struct Wrap<float> { typedef float type; };
template <> struct Wrap<double> { typedef double type; };

template <typename T> CG_DEV T el_add(T x, T y) {
  typedef typename Wrap<T>::type W;
  return T(W(x) + W(y));
}

template <typename T> CG_DEV T el_sub(T x, T y) {
  typedef typename Wrap<T>::type W;
  return T(W(x) - W(y));
}

template <typename T> CG_DEV T el_mul(T x, T y) {
  typedef typename Wrap<T>::type W;
  return T(W(x) * W(y));
}

template <typename T> CG_DEV T el_neg(T x) {
  if constexpr (CgLimits<T>::is_float) {
    return -x;
  } else {
    return el_sub(T(0), x);
  }
}

template <typename T> CG_DEV T el_abs(T x) {
  if constexpr (CgLimits<T>::is_float) {
    return cg_abs(x);
  } else {
    return x < T(0) ? el_neg(x) : x;
  }
}

// Integers: toward zero; by zero gives 0, which ONNX leaves open.
template <typename T> CG_DEV T el_div(T x, T y) {
  if constexpr (CgLimits<T>::is_float) {
    return x / y;
  } else {
    if (y == T(0)) return T(0);
    if (CgLimits<T>::lowest() < T(0) && y == T(-1)) return el_neg(x);
    return T(x / y);
  }
}

// The remainder with the sign of x; integers by zero give 0.
template <typename T> CG_DEV T el_fmod(T x, T y) {
  if constexpr (CgLimits<T>::is_float) {
    return cg_fmod(x, y);
  } else {
    if (y == T(0) || (CgLimits<T>::lowest() < T(0) && y == T(-1))) return T(0);
    return T(x % y);
  }
}

// The remainder with the sign of y; integers by zero give 0.
template <typename T> CG_DEV T el_mod(T x, T y) {
  const T remainder = el_fmod(x, y);
  if (remainder == T(0)) return y < T(0) ? el_neg(T(0)) : T(0);
  return (remainder < T(0)) != (y < T(0)) ? T(remainder + y) : remainder;
}

template <typename T> CG_DEV T el_sign(T x) {
  return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
}

template <typename T> CG_DEV T el_relu(T x) { return cg_max(x, T(0)); }

template <typename T> CG_DEV T el_prelu(T x, T slope) { return x < T(0) ? el_mul(slope, x) : x; }

// a, b: bias and lambda of the ONNX operator Shrink. Integers: computed in double, cut.
template <typename T> CG_DEV T el_shrink(T x, float a, float b) {
  if constexpr (CgLimits<T>::is_float) {
    if (x < T(-b)) return T(x + T(a));
    return x > T(b) ? T(x - T(a)) : T(0);
  } else {
    return cg_cast<T>(el_shrink(double(x), a, b));
  }
}

// x to the power of n modulo 2 to the width of T. A negative n gives 1 / x^|n| toward zero, and 0
// for x = 0.
template <typename T, typename U> CG_DEV T el_integer_pow(T x, U n) {
  if (n < U(0)) return x == T(1) || (x == T(-1) && n % 2 == 0) ? T(1) : x == T(-1) ? x : T(0);
  T power = T(1);
  for (T square = x; n > U(0); n = U(n / 2), square = el_mul(square, square)) {
    if (n % 2 != 0) power = el_mul(power, square);
  }
  return power;
}

// x, or the integer that x misses by rounding alone: pow is right to 2 units in the last place on a
// GPU, and cutting 2.9999999999999996 down to 2 would be off by one.
CG_DEV double el_snap(double x) {
  const double nearest = cg_round(x);
  return cg_abs(x - nearest) <= 1e-15 * cg_abs(x) ? nearest : x;
}

// T: float, double, int, long long. U: any. Integer to integer is exact; an integer raised to a
// float, and a float raised to what it cannot hold, are computed in double.
template <typename T, typename U> CG_DEV T el_pow(T x, U y) {
  if constexpr (!CgLimits<T>::is_float && !CgLimits<U>::is_float) {
    return el_integer_pow(x, y);
  } else if constexpr (!CgLimits<T>::is_float) {
    return cg_cast<T>(el_snap(cg_pow(double(x), double(y))));
  } else {
    if (y == U(2)) return x * x;
    constexpr bool fits = CgLimits<U>::is_float ? sizeof(U) <= sizeof(T) : sizeof(U) < sizeof(T);
    if constexpr (fits || sizeof(T) == 8) {
      return cg_pow(x, T(y));
    } else {
      return T(cg_pow(double(x), double(y)));
    }
  }
}

// Shifting by the width of T or more, or by a negative amount, shifts everything out.
template <typename T> CG_DEV T el_shift_left(T x, T bits) {
  const bool inside = bits >= T(0) && bits < T(8 * sizeof(T));
  return inside ? T(typename Wrap<T>::type(x) << bits) : T(0);
}

template <typename T> CG_DEV T el_shift_right(T x, T bits) {
  const bool inside = bits >= T(0) && bits < T(8 * sizeof(T));
  return inside ? T(x >> bits) : x < T(0) ? T(-1) : T(0);
}
