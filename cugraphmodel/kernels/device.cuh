// The one include of every kernel file, for NVRTC (GPU) and for a C++ compiler (CPU device) alike.
//
// NVRTC brings no headers, so everything a kernel needs beyond CUDA's built-in functions is here.
// All differences between the two worlds are here too; the CPU's side of CUDA itself (threadIdx,
// barriers, shuffles, atomics, vector types) is in executors/host/cuda_host.h.
//
// Arithmetic is IEEE: no flush to zero, no fast-math, no contraction that is not written cg_fma.
#pragma once

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;

#if defined(__CUDACC__)
#define CG_DEV __device__ __forceinline__
#define CG_DYN_SHARED(T, name)                                         \
  extern __shared__ __align__(16) unsigned char cg_dynamic_shared_[]; \
  T* name = reinterpret_cast<T*>(cg_dynamic_shared_)
#else
#include "cuda_host.h"
#define CG_DEV CUHOST_INLINE
#define CG_DYN_SHARED(T, name) T* name = reinterpret_cast<T*>(cuhost_dynamic_shared())
#endif

// Unaligned vector accesses fail on a GPU; the CPU's check mode tells where.
#if defined(CUHOST_CHECK)
#define CG_EXPECT_ALIGNED(p, num_bytes) cuhost_expect_aligned(p, num_bytes)
#else
#define CG_EXPECT_ALIGNED(p, num_bytes) ((void)0)
#endif

#define CG_INF __int_as_float(0x7f800000)
#define CG_NAN __int_as_float(0x7fc00000)

// A struct parameter whose arrays are indexed at run time: read where it lies, instead of from a
// copy in every thread's local memory.
#if defined(__CUDACC__)
#define CG_PARAM const __grid_constant__
#else
#define CG_PARAM const
#endif

// Shapes, strides, axes: cugraphmodel.ops.launch.dims.
struct Dims {
  long long v[8];
};

// ---- half and bfloat16: 16-bit storage. Compute in Acc<half>::type. Storage of 8 bits and less is
// in narrow.cuh.

#if defined(__CUDACC__)
CG_DEV float cg_half_bits_to_float(uint16_t bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
CG_DEV uint16_t cg_float_to_half_bits(float x) {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
CG_DEV uint16_t cg_float_to_bfloat16_bits(float x) {
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
#endif  // the CPU's versions are in cuda_host.h

struct half {
  uint16_t bits;
  half() = default;
  CG_DEV explicit half(float x) : bits(cg_float_to_half_bits(x)) {}
  CG_DEV explicit operator float() const { return cg_half_bits_to_float(bits); }
};

// The upper half of a float.
struct bfloat16 {
  uint16_t bits;
  bfloat16() = default;
  CG_DEV explicit bfloat16(float x) : bits(cg_float_to_bfloat16_bits(x)) {}
  CG_DEV explicit operator float() const { return __uint_as_float(uint32_t(bits) << 16); }
};

// The type to compute in for tensors of T.
template <class T>
struct Acc {
  typedef T type;
};
template <>
struct Acc<half> {
  typedef float type;
};
template <>
struct Acc<bfloat16> {
  typedef float type;
};

// What the CPU device calls a type that is not C++'s own: its number in ONNX.
#if defined(__CUDACC__)
#define CG_ONNX_TYPE(T, number)
#else
#define CG_ONNX_TYPE(T, number) CUHOST_KIND(T, number)
#endif
CG_ONNX_TYPE(half, 10)
CG_ONNX_TYPE(bfloat16, 16)

// ---- What is known about a type at compile time

template <class A, class B>
struct CgSame {
  static constexpr bool value = false;
};
template <class A>
struct CgSame<A, A> {
  static constexpr bool value = true;
};

template <class T>
struct CgLimits;
#define CG_LIMITS(T, FLOATING, LOWEST, HIGHEST)        \
  template <>                                          \
  struct CgLimits<T> {                                 \
    static constexpr bool is_float = FLOATING;         \
    static CG_DEV T lowest() { return (T)(LOWEST); }   \
    static CG_DEV T highest() { return (T)(HIGHEST); } \
  };
CG_LIMITS(bool, false, false, true)
CG_LIMITS(signed char, false, -128, 127)
CG_LIMITS(unsigned char, false, 0, 255)
CG_LIMITS(short, false, -32768, 32767)
CG_LIMITS(unsigned short, false, 0, 65535)
CG_LIMITS(int, false, -2147483647 - 1, 2147483647)
CG_LIMITS(unsigned, false, 0, 4294967295u)
CG_LIMITS(long long, false, -9223372036854775807ll - 1, 9223372036854775807ll)
CG_LIMITS(unsigned long long, false, 0, 18446744073709551615ull)
CG_LIMITS(float, true, -CG_INF, CG_INF)
CG_LIMITS(double, true, -CG_INF, CG_INF)
#undef CG_LIMITS

// A float near x from which any type of at most 13 bits of precision rounds as from x itself: x cut
// short, with its last bit set if that is not x ("rounding to odd": Boldo and Melquiond, "Emulation
// of FMA and correctly rounded sums", IEEE Trans. Comput. 57, 2008, section 3).
CG_DEV float cg_round_to_odd(double x) {
  const float nearest = float(x);
  const double back = nearest;
  const unsigned bits = __float_as_uint(nearest);
  if (back == x || x != x || bits & 1u) return nearest;
  const bool too_large = (back < 0 ? -back : back) > (x < 0 ? -x : x);
  return __uint_as_float(too_large ? bits - 1 : bits + 1);
}
CG_DEV float cg_round_to_odd(float x) { return x; }
template <class T>
CG_DEV float cg_round_to_odd(T x) {
  if constexpr (sizeof(T) < 4) {
    return float(x);
  } else if constexpr (sizeof(T) == 4) {
    return cg_round_to_odd(double(x));
  } else {
    // Beyond 2^53, where a double does not hold every integer, to odd multiples of 2^16 first.
    const uint64_t magnitude = x < T(0) ? 0 - uint64_t(x) : uint64_t(x);
    const uint64_t rest = magnitude & 0xffff;
    const uint64_t held =
        magnitude >> 53 ? (magnitude - rest) | uint64_t(rest != 0) << 16 : magnitude;
    return cg_round_to_odd(x < T(0) ? -double(held) : double(held));
  }
}

// ONNX Cast. Float to integer truncates, saturates, and turns NaN into 0; integer to integer wraps;
// to bool is x != 0; all else is rounded once, to nearest even.
template <class To, class From>
CG_DEV To cg_cast(From x) {
  if constexpr (CgSame<To, From>::value) {
    return x;
  } else if constexpr (!CgSame<From, typename Acc<From>::type>::value) {
    return cg_cast<To>(typename Acc<From>::type(x));
  } else if constexpr (CgSame<To, bool>::value) {
    return x != From(0);
  } else if constexpr (CgSame<To, typename Acc<To>::type>::value) {
    if constexpr (CgLimits<From>::is_float && !CgLimits<To>::is_float) {
      const To lowest = CgLimits<To>::lowest(), highest = CgLimits<To>::highest();
      return x != x ? To(0) : x <= From(lowest) ? lowest : x >= From(highest) ? highest : To(x);
    } else {
      return To(x);
    }
  } else if constexpr (CgSame<typename Acc<To>::type, float>::value) {
    return To(cg_round_to_odd(x));
  } else {
    return To(x);
  }
}

// ---- Math, for float and double

#if defined(__CUDACC__)
#define CG_MATH_CALL(name) name
#else
#define CG_MATH_CALL(name) __builtin_##name
#endif
#define CG_MATH(name, function)                                            \
  CG_DEV float name(float x) { return CG_MATH_CALL(function##f)(x); }      \
  CG_DEV double name(double x) { return CG_MATH_CALL(function)(x); }
CG_MATH(cg_exp, exp)
CG_MATH(cg_expm1, expm1)
CG_MATH(cg_log, log)
CG_MATH(cg_log1p, log1p)
CG_MATH(cg_sqrt, sqrt)
CG_MATH(cg_sin, sin)
CG_MATH(cg_cos, cos)
CG_MATH(cg_tan, tan)
CG_MATH(cg_asin, asin)
CG_MATH(cg_acos, acos)
CG_MATH(cg_atan, atan)
CG_MATH(cg_sinh, sinh)
CG_MATH(cg_cosh, cosh)
CG_MATH(cg_tanh, tanh)
CG_MATH(cg_asinh, asinh)
CG_MATH(cg_acosh, acosh)
CG_MATH(cg_atanh, atanh)
CG_MATH(cg_erf, erf)
CG_MATH(cg_floor, floor)
CG_MATH(cg_ceil, ceil)
CG_MATH(cg_trunc, trunc)
CG_MATH(cg_round, rint)  // half to even
#undef CG_MATH
CG_DEV float cg_pow(float x, float y) { return CG_MATH_CALL(powf)(x, y); }
CG_DEV double cg_pow(double x, double y) { return CG_MATH_CALL(pow)(x, y); }
CG_DEV float cg_fmod(float x, float y) { return CG_MATH_CALL(fmodf)(x, y); }
CG_DEV double cg_fmod(double x, double y) { return CG_MATH_CALL(fmod)(x, y); }
#undef CG_MATH_CALL

// One division and one square root, each correctly rounded: CUDA's rsqrt is off by up to 2 ulp.
CG_DEV float cg_rsqrt(float x) { return 1.0f / cg_sqrt(x); }
CG_DEV double cg_rsqrt(double x) { return 1.0 / cg_sqrt(x); }

CG_DEV bool cg_isnan(float x) { return x != x; }
CG_DEV bool cg_isnan(double x) { return x != x; }
CG_DEV bool cg_isinf(float x) { return x == CG_INF || x == -CG_INF; }
CG_DEV bool cg_isinf(double x) { return x == CG_INF || x == -CG_INF; }

// Absolute value; clears the sign of -0 and NaN. The lowest integer stays as it is.
template <class T>
CG_DEV T cg_abs(T x) {
  return x < T(0) ? T(-x) : x;
}
CG_DEV float cg_abs(float x) {
  return __int_as_float(__float_as_int(x) & 0x7fffffff);
}
CG_DEV double cg_abs(double x) {
  return __longlong_as_double(__double_as_longlong(x) & 0x7fffffffffffffffll);
}

// a * b + c. Floats round once where the processor can (every GPU; CPUs from x86-64-v3 on).
template <class T>
CG_DEV T cg_fma(T a, T b, T c) {
  return T(a * b + c);
}
#if defined(__CUDACC__)
CG_DEV float cg_fma(float a, float b, float c) { return fmaf(a, b, c); }
CG_DEV double cg_fma(double a, double b, double c) { return fma(a, b, c); }
#elif defined(__FMA__)
CG_DEV float cg_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
CG_DEV double cg_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#endif

// Minimum and maximum of any arithmetic type. NaN wins, as in NumPy's minimum and maximum.
template <class T>
CG_DEV T cg_min(T a, T b) {
  const T smaller = a < b ? a : b;
  return a != a ? a : smaller;  // two selects: `||` would become a branch
}
template <class T>
CG_DEV T cg_max(T a, T b) {
  const T larger = a > b ? a : b;
  return a != a ? a : larger;
}

// ---- Four neighbouring elements in one access; p must be aligned for it (at most 16 bytes).

template <class T>
struct __align__(sizeof(T) < 4 ? 4 * sizeof(T) : 16) Pack4 {
  T v[4];
};
template <class T>
CG_DEV Pack4<T> cg_load4(const T* p) {
  CG_EXPECT_ALIGNED(p, alignof(Pack4<T>));
  return *reinterpret_cast<const Pack4<T>*>(p);
}
template <class T>
CG_DEV void cg_store4(T* p, const Pack4<T>& x) {
  CG_EXPECT_ALIGNED(p, alignof(Pack4<T>));
  *reinterpret_cast<Pack4<T>*>(p) = x;
}

// ---- Index data from the user

// Tells the host that an index lay outside its tensor. The least code of a run is reported.
CG_DEV void cg_report_index_error(unsigned* word, unsigned code) { atomicMin(word, code); }

// ---- Reductions over a warp and over a block, with one summation tree on both devices

struct CgSum {
  template <class T>
  static CG_DEV T identity() {
    return T(0);
  }
  template <class T>
  static CG_DEV T combine(T a, T b) {
    return a + b;
  }
};
struct CgMax {
  template <class T>
  static CG_DEV T identity() {
    return CgLimits<T>::lowest();
  }
  template <class T>
  static CG_DEV T combine(T a, T b) {
    return cg_max(a, b);
  }
};
struct CgMin {
  template <class T>
  static CG_DEV T identity() {
    return CgLimits<T>::highest();
  }
  template <class T>
  static CG_DEV T combine(T a, T b) {
    return cg_min(a, b);
  }
};

#if defined(__CUDACC__)
template <class Op, class T>
CG_DEV T cg_warp_reduce(T x) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    x = Op::combine(x, __shfl_xor_sync(0xffffffffu, x, offset));
  }
  return x;
}
template <class Op, class T>
CG_DEV T cg_block_reduce(T x) {
  __shared__ T partial[32];
  const unsigned rank =
      threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned num_warps = blockDim.x * blockDim.y * blockDim.z / 32;
  const unsigned lane = rank % 32;
  x = cg_warp_reduce<Op>(x);
  __syncthreads();  // the threads of an earlier call have read `partial`
  if (lane == 0) partial[rank / 32] = x;
  __syncthreads();
  return cg_warp_reduce<Op>(lane < num_warps ? partial[lane] : Op::template identity<T>());
}
#else
template <class Op, class T>
CG_DEV T cg_warp_reduce(T x) {
  return cuhost::warp_reduce<Op>(x);
}
template <class Op, class T>
CG_DEV T cg_block_reduce(T x) {
  return cuhost::block_reduce<Op>(x);
}
#endif

// Over the 32 lanes of a full warp; every lane gets the result. T: float, double, int, unsigned,
// long long.
template <class T>
CG_DEV T cg_warp_sum(T x) {
  return cg_warp_reduce<CgSum>(x);
}
template <class T>
CG_DEV T cg_warp_max(T x) {
  return cg_warp_reduce<CgMax>(x);
}
template <class T>
CG_DEV T cg_warp_min(T x) {
  return cg_warp_reduce<CgMin>(x);
}

// Over all threads of a block of full warps, of any shape; every thread gets the result. These
// contain barriers: all threads of the block must call them.
template <class T>
CG_DEV T cg_block_sum(T x) {
  return cg_block_reduce<CgSum>(x);
}
template <class T>
CG_DEV T cg_block_max(T x) {
  return cg_block_reduce<CgMax>(x);
}
template <class T>
CG_DEV T cg_block_min(T x) {
  return cg_block_reduce<CgMin>(x);
}
