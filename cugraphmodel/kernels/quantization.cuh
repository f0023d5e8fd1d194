#pragma once
// What quantised operators share: from a number to its nearest quantised one.
#include "device.cuh"
#include "narrow.cuh"

template <class Quantized>
struct QuantizedLimits {
  static CG_DEV int lowest() { return int(CgLimits<Quantized>::lowest()); }
  static CG_DEV int highest() { return int(CgLimits<Quantized>::highest()); }
};
template <int kBits, bool kSigned>
struct QuantizedLimits<NarrowInt<kBits, kSigned>> {
  static CG_DEV int lowest() { return NarrowInt<kBits, kSigned>::kLowest; }
  static CG_DEV int highest() { return NarrowInt<kBits, kSigned>::kHighest; }
};

// saturate(round(quotient) + zero_point), for integers of at most 16 bits; ties go to even. NaN
// becomes the lowest value.
template <class Quantized, class Float>
CG_DEV Quantized cg_quantize(Float quotient, Quantized zero_point) {
  const Float lowest = Float(QuantizedLimits<Quantized>::lowest());
  const Float highest = Float(QuantizedLimits<Quantized>::highest());
  const Float value = cg_round(quotient) + cg_cast<Float>(zero_point);
  return Quantized(int(value > lowest ? value < highest ? value : highest : lowest));
}
