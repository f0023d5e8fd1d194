#include "device.cuh"
#include "activations.cuh"
#include "quantization.cuh"

// y = saturate(round(EXPRESSION / y_scale) + y_zero), element by element, where x0 and x1 in the
// expression are (in0 - zero0) * scale0 and (in1 - zero1) * scale1. All tensors hold bytes.
//
// Element (i0, i1, ...) of `shape` lies at the sum of i * strides of a tensor, 0 where an input
// repeats. Each thread makes VECTOR (1 or 4) neighbours of the innermost dimension, which VECTOR
// divides. A zero point may be null, which is 0.
//
// Macros
//   QUANTIZED            element type: signed char, unsigned char
//   EXPRESSION           of x0 and x1, and the float attribute a
//   STEP0, STEP1         innermost stride of an input: 1, 0 (repeats), -1 (no input)
//   RANK, VECTOR, INDEX  dimensions after merging; elements a thread; type of offsets

typedef INDEX Index;
typedef QUANTIZED Quantized;

CG_DEV int zero_point(const Quantized* p) { return p == nullptr ? 0 : int(*p); }

struct Values {
  float v[VECTOR];
};

// VECTOR neighbours as real numbers.
template <int kStep>
CG_DEV Values load(const Quantized* in, const float* scale, const Quantized* zero) {
  Values x = {};
  if constexpr (kStep >= 0) {
    const float factor = *scale;
    const int centre = zero_point(zero);
    if constexpr (kStep == 1 && VECTOR == 4) {
      const Pack4<Quantized> pack = cg_load4(in);
      for (int k = 0; k < VECTOR; ++k) x.v[k] = float(int(pack.v[k]) - centre) * factor;
    } else {
      for (int k = 0; k < VECTOR; ++k) x.v[k] = float(int(in[k * kStep]) - centre) * factor;
    }
  }
  return x;
}

CG_DEV float apply([[maybe_unused]] float x0, [[maybe_unused]] float x1, [[maybe_unused]] float a) {
  [[maybe_unused]] const float b = 0;
  return EXPRESSION;
}

extern "C" __global__ void __launch_bounds__(128)
    pointwise(Quantized* __restrict__ y, const Quantized* __restrict__ in0,
              const Quantized* __restrict__ in1, const float* __restrict__ y_scale,
              const Quantized* __restrict__ y_zero, const float* __restrict__ scale0,
              const Quantized* __restrict__ zero0, const float* __restrict__ scale1,
              const Quantized* __restrict__ zero1, long long size, CG_PARAM Dims shape,
              CG_PARAM Dims strides0, CG_PARAM Dims strides1, CG_PARAM Dims y_strides,
              long long y_offset, float a) {
  const Index first = (Index(blockIdx.x) * blockDim.x + threadIdx.x) * VECTOR;
  if (first >= Index(size)) return;
  Index outer = first, offset0 = 0, offset1 = 0, offset = Index(y_offset);
#pragma unroll
  for (int d = RANK - 1; d >= 0; --d) {
    const Index extent = Index(shape.v[d]);
    const Index quotient = d == 0 ? 0 : outer / extent;
    const Index position = outer - quotient * extent;
    outer = quotient;
    if (STEP0 >= 0) offset0 += position * Index(strides0.v[d]);
    if (STEP1 >= 0) offset1 += position * Index(strides1.v[d]);
    offset += position * Index(y_strides.v[d]);
  }
  const Values x0 = load<STEP0>(in0 + offset0, scale0, zero0);
  const Values x1 = load<STEP1>(in1 + offset1, scale1, zero1);
  const float divisor = *y_scale;
  const Quantized centre = Quantized(zero_point(y_zero));
  Pack4<Quantized> out;
  for (int k = 0; k < VECTOR; ++k) {
    out.v[k] = cg_quantize(apply(x0.v[k], x1.v[k], a) / divisor, centre);
  }
  if constexpr (VECTOR == 4) {
    cg_store4(y + offset, out);
  } else {
    y[offset] = out.v[0];
  }
}
