// target[c] = source[c - begins], and beyond the source what PADDING says. One thread an element of
// the target.
//
// WORD: the type moved. PADDING: pad_constant, pad_edge, pad_reflect or pad_wrap. INDEX: integer
// that holds `count`. The source is a window of a tensor: its sizes, strides and first element.
#include "device.cuh"

// Each maps a source coordinate that may be outside [0, size) to one inside, or to -1 for "the
// constant". size is at least 1 but for pad_constant.
CG_DEV long long pad_constant(long long c, long long size) {
  return c >= 0 && c < size ? c : -1;
}
CG_DEV long long pad_edge(long long c, long long size) {
  return c < 0 ? 0 : c < size ? c : size - 1;
}
CG_DEV long long pad_wrap(long long c, long long size) {
  const long long remainder = c % size;
  return remainder < 0 ? remainder + size : remainder;
}
CG_DEV long long pad_reflect(long long c, long long size) {
  if (size == 1) return 0;
  const long long period = 2 * (size - 1);
  const long long folded = pad_wrap(c, period);
  return folded < size ? folded : period - folded;
}

// The constant is *value if that is there, else `pattern`.
extern "C" __global__ void __launch_bounds__(256)
    pad(const WORD* __restrict__ source, const WORD* __restrict__ value, WORD* __restrict__ target,
        long long count, int rank, CG_PARAM Dims target_shape, CG_PARAM Dims source_shape,
        CG_PARAM Dims source_strides, CG_PARAM Dims begins, long long source_offset,
        long long pattern) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  INDEX rest = (INDEX)position;
  long long from = source_offset;
  bool inside = true;
  for (int d = rank - 1; d >= 0; --d) {
    const INDEX next = rest / (INDEX)target_shape.v[d];
    const long long coordinate = (long long)(rest - next * (INDEX)target_shape.v[d]);
    const long long mapped = PADDING(coordinate - begins.v[d], source_shape.v[d]);
    inside = inside && mapped >= 0;
    from += mapped * source_strides.v[d];
    rest = next;
  }
  WORD word = (WORD)pattern;
  if (inside) {
    word = source[from];
  } else if (value) {
    word = *value;
  }
  target[position] = word;
}
