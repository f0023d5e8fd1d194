#include "device.cuh"
#include "narrow.cuh"
#include "quantization.cuh"
#include "scales.cuh"

// y = saturate(round(x / scale) + zero_point), ties to even. A thread makes four neighbours.
//
// Macros
//   SCALAR, SCALE, QUANTIZED    element types of x, of the scales, and of y and the zero points
//   DIVISION                    type in which x / scale is rounded
//   SATURATE                    0: a float8 number out of range becomes an infinity or NaN
//   BLOCKED, INDEX              see scales.cuh

typedef Acc<DIVISION>::type Float;

template <class Quantized>
CG_DEV Quantized quantize(Float quotient, Quantized zero_point) {
  return cg_quantize(quotient, zero_point);
}
// Floating-point types have no integers to round to.
template <int... numbers>
CG_DEV NarrowFloat<numbers...> quantize(Float quotient, NarrowFloat<numbers...> zero_point) {
  const float value = cg_round_to_odd(quotient + Float(float(zero_point)));
  return SATURATE ? NarrowFloat<numbers...>(value) : NarrowFloat<numbers...>::unsaturated(value);
}

extern "C" __global__ void __launch_bounds__(128)
    quantize_linear(const SCALAR* __restrict__ x, const SCALE* __restrict__ scale,
                    const QUANTIZED* __restrict__ zero_point, QUANTIZED* __restrict__ y,
                    long long size, Scales scales) {
  typedef QUANTIZED Quantized;
  convert_four(x, y, size, scales, [=](SCALAR element, Index which) {
    const Float dividend = cg_cast<Float>(cg_cast<DIVISION>(element));
    const Float divisor = cg_cast<Float>(cg_cast<DIVISION>(scale[which]));
    const Float quotient = cg_cast<Float>(cg_cast<DIVISION>(dividend / divisor));
    return quantize(quotient, zero_point == nullptr ? cg_cast<Quantized>(0) : zero_point[which]);
  });
}
