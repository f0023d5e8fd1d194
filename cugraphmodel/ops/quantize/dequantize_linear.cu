#include "device.cuh"
#include "narrow.cuh"
#include "scales.cuh"

// y = (x - zero_point) * scale, rounded once. A thread makes four neighbours.
//
// Macros
//   QUANTIZED, SCALE, SCALAR    element types of x and the zero points, of the scales, and of y
//   BLOCKED, INDEX              see scales.cuh

// Holds the difference of two quantised numbers.
template <class T, bool is_narrow = sizeof(T) < 4>
struct Difference {
  typedef long long type;
};
template <class T>
struct Difference<T, true> {
  typedef int type;
};
template <int... numbers>
struct Difference<NarrowFloat<numbers...>, true> {
  typedef float type;
};

extern "C" __global__ void __launch_bounds__(128)
    dequantize_linear(const QUANTIZED* __restrict__ x, const SCALE* __restrict__ scale,
                      const QUANTIZED* __restrict__ zero_point, SCALAR* __restrict__ y,
                      long long size, Scales scales) {
  convert_four(x, y, size, scales, [=](QUANTIZED element, Index which) {
    typedef Difference<QUANTIZED>::type Wide;
    const Wide zero = zero_point == nullptr ? Wide(0) : Wide(zero_point[which]);
    return cg_cast<SCALAR>(float(Wide(element) - zero) * cg_cast<float>(scale[which]));
  });
}
