#pragma once
// Tensors with a scale for the whole, for each position of an axis, or for each block along an axis.
//
// The tensor is [outer, axis, inner] in memory. Its element has number
//   outer * outer_stride + axis / block_size * block_stride + inner * inner_stride
// of the scales; strides are 0 where one scale serves all.
//
// Macros
//   BLOCKED    0: block_size is 1
//   INDEX      type of offsets
#include "device.cuh"

typedef INDEX Index;

constexpr int kVector = 4;

struct Scales {
  long long axis_size;
  long long inner_size;
  long long block_size;
  long long outer_stride;
  long long block_stride;
  long long inner_stride;
};

// The scale of an element, and then of its right neighbour.
struct ScaleOffset {
  const Scales& scales;
  Index outer, axis, inner;

  CG_DEV ScaleOffset(const Scales& scales, Index element) : scales(scales) {
    const Index row = element / Index(scales.inner_size);
    inner = element - row * Index(scales.inner_size);
    outer = row / Index(scales.axis_size);
    axis = row - outer * Index(scales.axis_size);
  }
  CG_DEV Index value() const {
    const Index block = BLOCKED ? axis / Index(scales.block_size) : axis;
    return outer * Index(scales.outer_stride) + block * Index(scales.block_stride) +
           inner * Index(scales.inner_stride);
  }
  CG_DEV void advance() {
    if (++inner < Index(scales.inner_size)) return;
    inner = 0;
    if (++axis < Index(scales.axis_size)) return;
    axis = 0;
    ++outer;
  }
};

// to[i] = convert(from[i], number of its scale), for this thread's elements.
template <class From, class To, class Convert>
CG_DEV void convert_four(const From* from, To* to, long long size, const Scales& scales,
                         Convert convert) {
  const Index first = (Index(blockIdx.x) * blockDim.x + threadIdx.x) * kVector;
  if (first >= Index(size)) return;
  ScaleOffset offset(scales, first);
  if (Index(size) - first >= kVector) {
    const Pack4<From> in = cg_load4(from + first);
    Pack4<To> out;
#pragma unroll
    for (int k = 0; k < kVector; ++k, offset.advance()) {
      out.v[k] = convert(in.v[k], offset.value());
    }
    cg_store4(to + first, out);
  } else {
    for (Index i = first; i < Index(size); ++i, offset.advance()) {
      const To value = convert(from[i], offset.value());
      to[i] = value;  // a call's result stored at once would escape the check mode
    }
  }
}
