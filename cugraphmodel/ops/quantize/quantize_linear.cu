#include "device.cuh"
#include "quantization.cuh"
#include "scales.cuh"

// y = saturate(round(x / scale) + zero_point), ties to even. A thread makes four neighbours.
//
// Macros
//   SCALAR, SCALE, QUANTIZED    element types of x, of the scales, and of y and the zero points
//   DIVISION                    type in which x / scale is rounded
//   BLOCKED, INDEX              see scales.cuh

extern "C" __global__ void __launch_bounds__(128)
    quantize_linear(const SCALAR* __restrict__ x, const SCALE* __restrict__ scale,
                    const QUANTIZED* __restrict__ zero_point, QUANTIZED* __restrict__ y,
                    long long size, Scales scales) {
  typedef Acc<DIVISION>::type Float;
  typedef QUANTIZED Quantized;
  convert_four(x, y, size, scales, [=](SCALAR element, Index which) {
    const Float dividend = cg_cast<Float>(cg_cast<DIVISION>(element));
    const Float divisor = cg_cast<Float>(cg_cast<DIVISION>(scale[which]));
    const Float quotient = cg_cast<Float>(cg_cast<DIVISION>(dividend / divisor));
    return cg_quantize(quotient, zero_point == nullptr ? Quantized(0) : zero_point[which]);
  });
}
