// image [N, C, *size] = the sum of the blocks that cover each element, from columns [N, C, *kernel,
// *blocks]: element `at` of a block lies at
//     block * stride - pad + at * dilation.
// One thread an element of the image.
//
// SCALAR: element type. SUM: float, double, or an unsigned integer, in which integers wrap. RANK:
// spatial axes.
#include "device.cuh"

struct Blocks {
  int size[RANK], kernel[RANK], count[RANK], stride[RANK], pad[RANK], dilation[RANK];
};

// Over the taps of axes d and up. `tap` and `block` count those of the axes before.
template <int d>
CG_DEV SUM sum_taps(const Blocks& b, const int (&at)[RANK], const SCALAR* columns, long long tap,
                    long long block, long long blocks) {
  if constexpr (d == RANK) {
    return cg_cast<SUM>(columns[tap * blocks + block]);
  } else {
    SUM sum = 0;
    for (int k = 0; k < b.kernel[d]; ++k) {
      const int from = at[d] + b.pad[d] - k * b.dilation[d];
      const int index = from / b.stride[d];
      if (from < 0 || from != index * b.stride[d] || index >= b.count[d]) continue;
      sum += sum_taps<d + 1>(b, at, columns, tap * b.kernel[d] + k, block * b.count[d] + index,
                             blocks);
    }
    return sum;
  }
}

extern "C" __global__ void __launch_bounds__(256)
    col2im(const SCALAR* __restrict__ columns, SCALAR* __restrict__ image, long long count,
           Blocks b) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  long long rest = position, blocks = 1, taps = 1;
  int at[RANK];
#pragma unroll
  for (int d = RANK - 1; d >= 0; --d) {
    const long long next = rest / b.size[d];
    at[d] = int(rest - next * b.size[d]);
    rest = next;
    blocks *= b.count[d];
    taps *= b.kernel[d];
  }
  image[position] = cg_cast<SCALAR>(sum_taps<0>(b, at, columns + rest * taps * blocks, 0, 0, blocks));
}
