// Numbers of 8 bits and less, one in a byte: types that tensors are stored in. cg_cast converts them
// from and to all others; to compute in is Acc<T>::type, float or int.
#pragma once

#include "device.cuh"

// A sign, an exponent biased by kBias, and a mantissa. kLargest, kBeyond and kNan are the codes of
// the largest finite number, of what lies beyond it, and of NaN. Where NaN has the code of -0, there
// is no -0.
template <int kExponentBits, int kMantissaBits, int kBias, int kLargest, int kBeyond, int kNan>
struct NarrowFloat {
  static constexpr unsigned kSign = 1u << (kExponentBits + kMantissaBits);
  static constexpr bool kNanIsNegativeZero = kNan == 0x80;

  uint8_t bits;

  NarrowFloat() = default;
  CG_DEV explicit NarrowFloat(float x) : bits(rounded(x, kLargest)) {}  // saturates
  static CG_DEV NarrowFloat unsaturated(float x) {
    NarrowFloat y;
    y.bits = rounded(x, kBeyond);
    return y;
  }

  CG_DEV explicit operator float() const {
    const unsigned magnitude = bits & (kSign - 1), sign = bits & kSign ? 0x80000000u : 0;
    if (kNanIsNegativeZero && bits == kNan) return CG_NAN;
    if (magnitude > kLargest) {
      return __uint_as_float(sign | (kBeyond != kNan && magnitude == kBeyond ? 0x7f800000u
                                                                              : 0x7fc00000u));
    }
    // The same exponent and mantissa in a float, whose bias is another; exact for subnormals too.
    const float scaled = __uint_as_float(sign | magnitude << (23 - kMantissaBits));
    return scaled * __uint_as_float((254u - kBias) << 23);
  }

 private:
  // The code nearest to x, of two the even one; `beyond` if that is above kLargest.
  static CG_DEV uint8_t rounded(float x, unsigned beyond) {
    const unsigned magnitude = __float_as_uint(x) & 0x7fffffffu;
    const unsigned sign = __float_as_uint(x) >> 31 ? kSign : 0;
    if (magnitude > 0x7f800000u) return uint8_t(kNan | sign);
    const int exponent = int(magnitude >> 23) - 127 + kBias;
    const int below = exponent < 1 ? 1 - exponent : 0;  // how deep in the subnormals
    const int wanted = 23 - kMantissaBits + below, shift = wanted < 25 ? wanted : 25;
    const unsigned significand = (magnitude & 0x007fffffu) | 0x00800000u;
    const unsigned kept = significand >> shift, rest = significand & ((1u << shift) - 1);
    const unsigned middle = 1u << (shift - 1);
    unsigned code = kept + (exponent > 1 ? unsigned(exponent - 1) << kMantissaBits : 0);
    code += rest > middle || (rest == middle && code & 1);
    if (code > kLargest) code = beyond;
    return uint8_t(kNanIsNegativeZero && code == 0 ? 0 : code | sign);
  }
};

typedef NarrowFloat<4, 3, 7, 0x7e, 0x7f, 0x7f> float8_e4m3fn;
typedef NarrowFloat<4, 3, 8, 0x7f, 0x80, 0x80> float8_e4m3fnuz;
typedef NarrowFloat<5, 2, 15, 0x7b, 0x7c, 0x7e> float8_e5m2;
typedef NarrowFloat<5, 2, 16, 0x7f, 0x80, 0x80> float8_e5m2fnuz;
// These have neither infinity nor NaN, which becomes -0 as in ml_dtypes.
typedef NarrowFloat<2, 3, 1, 0x1f, 0x1f, 0x20> float6_e2m3fn;
typedef NarrowFloat<3, 2, 3, 0x1f, 0x1f, 0x20> float6_e3m2fn;
typedef NarrowFloat<2, 1, 1, 0x7, 0x7, 0x8> float4_e2m1fn;

// A power of two: the exponent with a bias of 127. No sign, no zero; 0xff is NaN.
struct float8_e8m0fnu {
  enum Rounding { kDown, kNearest, kUp };

  uint8_t bits;

  float8_e8m0fnu() = default;
  CG_DEV explicit float8_e8m0fnu(float x) : bits(rounded(x, kUp, true).bits) {}
  CG_DEV explicit operator float() const {
    return bits == 0xff ? CG_NAN : __uint_as_float(bits == 0 ? 0x00400000u : unsigned(bits) << 23);
  }

  // Of the absolute value of x, nearest rounding halves up. What is too small (also 0) or too large
  // becomes the least or the largest number if `saturate`, else NaN.
  static CG_DEV float8_e8m0fnu rounded(float x, Rounding rounding, bool saturate) {
    const unsigned magnitude = __float_as_uint(x) & 0x7fffffffu;
    // 2^-127 is a subnormal float.
    const bool normal = magnitude >= 0x00800000u;
    const unsigned floor = normal ? magnitude >> 23 : 0;
    const unsigned rest = normal ? magnitude & 0x007fffffu : (magnitude - 0x00400000u) * 2;
    unsigned code = floor;
    if (rounding == kUp) code += rest != 0;
    if (rounding == kNearest) code += rest >= 0x00400000u;
    if (magnitude < 0x00400000u) code = saturate ? 0 : 0xff;
    if (magnitude > 0x7f000000u) code = saturate && magnitude <= 0x7f800000u ? 0xfe : 0xff;
    float8_e8m0fnu y;
    y.bits = uint8_t(code);
    return y;
  }
};

// Integers wrap, as in a cast between integers; a float that is not in range becomes 0, as in the
// standard's own tests (it leaves that open).
template <int kBits, bool kSigned>
struct NarrowInt {
  static constexpr int kLowest = kSigned ? -(1 << (kBits - 1)) : 0;
  static constexpr int kHighest = kLowest + (1 << kBits) - 1;

  uint8_t bits;

  NarrowInt() = default;
  template <class T>
  CG_DEV explicit NarrowInt(T x) {
    if constexpr (CgLimits<T>::is_float) {
      const bool inside = x > T(kLowest - 1) && x < T(kHighest + 1);
      bits = uint8_t(inside ? int(x) & ((1 << kBits) - 1) : 0);
    } else {
      bits = uint8_t(int(x) & ((1 << kBits) - 1));
    }
  }
  CG_DEV explicit operator int() const {
    const int low = bits & ((1 << kBits) - 1);
    return kSigned && low >> (kBits - 1) ? low - (1 << kBits) : low;
  }
};

typedef NarrowInt<4, true> int4_t;
typedef NarrowInt<4, false> uint4_t;
typedef NarrowInt<2, true> int2_t;
typedef NarrowInt<2, false> uint2_t;

template <int... numbers>
struct Acc<NarrowFloat<numbers...>> {
  typedef float type;
};
template <>
struct Acc<float8_e8m0fnu> {
  typedef float type;
};
template <int kBits, bool kSigned>
struct Acc<NarrowInt<kBits, kSigned>> {
  typedef int type;
};

CG_ONNX_TYPE(float8_e4m3fn, 17)
CG_ONNX_TYPE(float8_e4m3fnuz, 18)
CG_ONNX_TYPE(float8_e5m2, 19)
CG_ONNX_TYPE(float8_e5m2fnuz, 20)
CG_ONNX_TYPE(uint4_t, 21)
CG_ONNX_TYPE(int4_t, 22)
CG_ONNX_TYPE(float4_e2m1fn, 23)
CG_ONNX_TYPE(float8_e8m0fnu, 24)
CG_ONNX_TYPE(uint2_t, 25)
CG_ONNX_TYPE(int2_t, 26)
CG_ONNX_TYPE(float6_e2m3fn, 27)
CG_ONNX_TYPE(float6_e3m2fn, 28)
