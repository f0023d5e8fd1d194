// Transforms (dft.cuh) of longer lines: one launch a stage, through scratch memory [lines, length].
//
// FIRST: the stage reads x; else `from`. LAST: it writes y; else `to`. RADIX: 2, 4, or 0 for any.
#include "device.cuh"
#include "dft.cuh"

// roots[k] = root_of_one(k, length). One thread a root.
extern "C" __global__ void __launch_bounds__(256)
    dft_roots(Complex* __restrict__ roots, long long length) {
  const long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (k < length) roots[k] = root_of_one(k, length);
}

// One thread a butterfly of radix 2 or 4, or an output of one of any other radix.
extern "C" __global__ void __launch_bounds__(256)
    dft_stage(const SCALAR* __restrict__ x, const SCALAR* __restrict__ window,
              SCALAR* __restrict__ y, const Complex* __restrict__ roots,
              const Complex* __restrict__ from, Complex* __restrict__ to, Lines lines,
              long long stride, int radix, long long count) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const long long items = RADIX > 0 ? lines.length / RADIX : lines.length;
  const long long line = position / items, at = position - line * items;
  const auto root = [&](long long k) { return roots[k]; };
  const auto get = [&](long long index) {
    return FIRST ? load(lines, x, window, line, index) : from[line * lines.length + index];
  };
  const auto put = [&](long long index, Complex value) {
    if (LAST) {
      store(lines, y, line, index, value);
    } else {
      to[line * lines.length + index] = value;
    }
  };
  if constexpr (RADIX > 0) {
    butterfly<RADIX>(at, lines.length, stride, get, put, root);
  } else {
    put(at, butterfly_output(at, lines.length, stride, radix, get, root));
  }
}
