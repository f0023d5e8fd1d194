#include "device.cuh"
#include "conv_shape.cuh"
#include "quantized_product.cuh"
#include "quantized_tile.cuh"

// Convolution of 8-bit integers, as the matrix product of conv.cu: LEFT are the weights, RIGHT is x.
// Macros and parameters of the outcome: quantized_product.cuh. A row is an output channel. Padding is
// x's zero point.
//   rows     output channels of one group
//   columns  output positions, those of all images in a row
//   depth    (channel of the group, position in the window), as in the weights' memory
// x [images, groups * channels, *input], weights [groups * filters, channels, *kernel],
// y [images, groups * filters, *output].
// One block makes one tile of one group; blockIdx.x counts column tiles, then row tiles, then groups.
// FIRST_AXIS is the first axis of the window that is not all of size 1 and without padding.

using quantized_product::Out;
using quantized_product::Signed;
using quantized_tile::Left;
using quantized_tile::Right;

constexpr int kWordStep = quantized_tile::kThreads / TILE_COLUMNS;
static_assert(quantized_tile::kThreads % TILE_COLUMNS == 0, "a thread loads one column of the tile");

// One column of the right operand, walked down its depth without a division. A thread loads every
// kWordStep-th word of it.
struct Column {
  const Right* image;  // first element of the group's channels in the column's image
  unsigned padding;    // byte of x's zero point
  int origin[3];       // input position of the window's first element; far outside if no column
  int tap[3];
  int channel;
  unsigned v[TILE_WORDS / kWordStep];  // on the way to shared memory

  CG_DEV Column(const Right* x, int x_zero_point, const ConvShape& shape, int group, int number,
                int position, int depth)
      : padding(unsigned(x_zero_point) & 0xffu) {
    const Window& w = shape.window;
    const long long inputs = (long long)w.input[0] * w.input[1] * w.input[2];
    image = x + ((long long)number * shape.groups + group) * shape.channels * inputs;
    const int out[3] = {position / w.output[2] / w.output[1],
                        position / w.output[2] % w.output[1], position % w.output[2]};
#pragma unroll
    for (int axis = FIRST_AXIS; axis < 3; ++axis) {
      origin[axis] = out[axis] * w.stride[axis] - w.pad[axis];
    }
    if (number >= shape.images) origin[2] = -(1 << 30);
    tap[2] = depth % w.kernel[2];
    tap[1] = depth / w.kernel[2] % w.kernel[1];
    tap[0] = depth / w.kernel[2] / w.kernel[1] % w.kernel[0];
    channel = depth / w.kernel[2] / w.kernel[1] / w.kernel[0];
  }

  CG_DEV void fetch(const ConvShape& shape) {
#pragma unroll
    for (int e = 0; e < TILE_WORDS / kWordStep; ++e) {
      v[e] = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        v[e] |= byte(shape) << 8 * i;
        advance(shape, i < 3 ? 1 : 4 * kWordStep - 3);
      }
    }
  }

  CG_DEV void store(quantized_tile::RightWords* tile, int thread) const {
#pragma unroll
    for (int e = 0; e < TILE_WORDS / kWordStep; ++e) {
      tile[thread / TILE_COLUMNS + e * kWordStep][thread % TILE_COLUMNS] = v[e];
    }
  }

  CG_DEV unsigned byte(const ConvShape& shape) const {
    const Window& w = shape.window;
    if (channel >= shape.channels) return 0;
    bool inside = true;
    int offset = 0;
#pragma unroll
    for (int axis = FIRST_AXIS; axis < 3; ++axis) {
      const int at = origin[axis] + tap[axis] * w.dilation[axis];
      inside = inside && unsigned(at) < unsigned(w.input[axis]);
      offset = offset * w.input[axis] + at;
    }
    const long long plane = (long long)w.input[0] * w.input[1] * w.input[2];
    return inside ? Signed<Right>::byte(image[channel * plane + offset]) : padding;
  }

  CG_DEV void advance(const ConvShape& shape, int step) {
    const Window& w = shape.window;
    tap[2] += step;
    while (tap[2] >= w.kernel[2]) {
      tap[2] -= w.kernel[2];
      if (FIRST_AXIS < 2 && ++tap[1] < w.kernel[1]) continue;
      tap[1] = 0;
      if (FIRST_AXIS < 1 && ++tap[0] < w.kernel[0]) continue;
      tap[0] = 0;
      ++channel;
    }
  }
};

extern "C" __global__ void __launch_bounds__(quantized_tile::kThreads, quantized_tile::kMinBlocks)
    quantized_conv(const LEFT* __restrict__ weights, const RIGHT* __restrict__ x,
                   OUT* __restrict__ y, const LEFT* __restrict__ weights_zero,
                   const RIGHT* __restrict__ x_zero, const SCALE* __restrict__ weights_scale,
                   const SCALE* __restrict__ x_scale, const SCALE* __restrict__ y_scale,
                   const OUT* __restrict__ y_zero, const BIAS* __restrict__ bias, ConvShape shape,
                   quantized_product::Counts counts, float alpha) {
  __shared__ __align__(16) unsigned weights_tile[TILE_WORDS][TILE_ROWS + quantized_tile::kPadding];
  __shared__ __align__(16) unsigned x_tile[TILE_WORDS][TILE_COLUMNS + quantized_tile::kPadding];
  const Window& w = shape.window;
  const int thread = threadIdx.x;
  const int outputs = w.output[0] * w.output[1] * w.output[2];
  const int depth = shape.channels * w.kernel[0] * w.kernel[1] * w.kernel[2];
  const int column_tiles = int(((long long)outputs * shape.images - 1) / TILE_COLUMNS) + 1;
  const int row_tiles = (shape.filters - 1) / TILE_ROWS + 1;
  const long long column0 = (long long)(blockIdx.x % column_tiles) * TILE_COLUMNS;
  const int row0 = blockIdx.x / column_tiles % row_tiles * TILE_ROWS;
  const int group = blockIdx.x / column_tiles / row_tiles;
  const quantized_product::Epilogue finish = {
      weights_zero, x_zero, weights_scale, x_scale, y_scale, y_zero, bias, counts, alpha};
  const int x_zero_point = finish.right_zero_point(0);
  weights += (long long)group * shape.filters * depth;

  const int image0 = int(column0 / outputs);
  const int position0 = int(column0 % outputs);
  const int own = position0 + thread % TILE_COLUMNS;
  Column column(x, x_zero_point, shape, group, image0 + own / outputs, own % outputs,
                thread / TILE_COLUMNS * 4);
  quantized_tile::Share<Left, TILE_ROWS, true, VECTOR> weights_share;
  weights_share.fetch(weights, row0, shape.filters, 0, depth, thread);
  column.fetch(shape);
  quantized_tile::Sums sums = {};
  for (int depth0 = 0; depth0 < depth; depth0 += quantized_tile::kDepth) {
    weights_share.store(weights_tile, thread);
    column.store(x_tile, thread);
    __syncthreads();
    weights_share.fetch(weights, row0, shape.filters, depth0 + quantized_tile::kDepth, depth,
                        thread);
    column.fetch(shape);
    quantized_tile::multiply(weights_tile, x_tile, thread, sums);
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < THREAD_ROWS; ++i) {
    const int r = row0 + quantized_tile::row(thread, i);
    if (r >= shape.filters) continue;
    const int filter = group * shape.filters + r;
    const int weights_zero_point = finish.left_zero_point(filter);
#pragma unroll
    for (int j0 = 0; j0 < THREAD_COLUMNS; j0 += 4) {
      const int c = position0 + quantized_tile::column(thread, j0);
      Pack4<Out> out;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const unsigned sum = sums.at(i, j0 + j, weights_zero_point, x_zero_point, depth);
        out.v[j] = finish(sum, filter, 0, filter, 0);
      }
      if (outputs % 4 == 0) {
        const int image = image0 + c / outputs;
        const long long plane = (long long)image * shape.groups * shape.filters + filter;
        if (image < shape.images) cg_store4(y + plane * outputs + c % outputs, out);
        continue;
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int image = image0 + (c + j) / outputs;
        const long long plane = (long long)image * shape.groups * shape.filters + filter;
        if (image < shape.images) y[plane * outputs + (c + j) % outputs] = out.v[j];
      }
    }
  }
}
