#pragma once
// What quantised operators share: from a number to its nearest quantised one.
#include "device.cuh"

// saturate(round(quotient) + zero_point); ties go to even. NaN becomes the lowest value.
template <class Quantized, class Float>
CG_DEV Quantized cg_quantize(Float quotient, Quantized zero_point) {
  const Float lowest = Float(CgLimits<Quantized>::lowest());
  const Float highest = Float(CgLimits<Quantized>::highest());
  const Float value = cg_round(quotient) + Float(zero_point);
  return Quantized(value > lowest ? value < highest ? value : highest : lowest);
}
