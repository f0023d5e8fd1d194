#include "device.cuh"
#include "activations.cuh"
#include "conv_shape.cuh"
#include "gemm_tile.cuh"

// Convolution as a matrix product that never builds its right operand:
//   rows     output channels of one group
//   columns  output positions, those of all images in a row
//   depth    (channel of the group, position in the window), as in the weights' memory
// x [images, groups * channels, *input], weights [groups * filters, channels, *kernel],
// y [images, groups * filters, *output], bias [groups * filters] or null, residual as y or null.
// One block makes one tile of one group; blockIdx.x counts column tiles, then row tiles, then groups.
// FIRST_AXIS is the first axis of the window that is not all of size 1 and without padding.

using gemm_tile::Accumulator;
using gemm_tile::Scalar;

constexpr int kThreads = gemm_tile::kThreads;
constexpr int kDepthStep = kThreads / TILE_COLUMNS;
static_assert(kThreads % TILE_COLUMNS == 0, "a thread loads one column of the right tile");

// One column of the right operand, walked down its depth without a division. A thread loads every
// kDepthStep-th element of it.
struct Column {
  const Scalar* image;  // first element of the group's channels in the column's image
  int origin[3];        // input position of the window's first element; far outside if no column
  int tap[3];
  int channel;
  Accumulator v[TILE_DEPTH / kDepthStep];  // on the way to shared memory

  CG_DEV Column(const Scalar* x, const ConvShape& shape, int group, int number, int position,
                int depth) {
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
    UNROLL_ON_GPU
    for (int e = 0; e < TILE_DEPTH / kDepthStep; ++e) {
      v[e] = value(shape);
      advance(shape);
    }
  }

  CG_DEV void store(gemm_tile::Right* tile, int thread) const {
    UNROLL_ON_GPU
    for (int e = 0; e < TILE_DEPTH / kDepthStep; ++e) {
      tile[thread / TILE_COLUMNS + e * kDepthStep][thread % TILE_COLUMNS] = v[e];
    }
  }

  CG_DEV Accumulator value(const ConvShape& shape) const {
    const Window& w = shape.window;
    bool inside = channel < shape.channels;
    int offset = 0;
#pragma unroll
    for (int axis = FIRST_AXIS; axis < 3; ++axis) {
      const int at = origin[axis] + tap[axis] * w.dilation[axis];
      inside = inside && unsigned(at) < unsigned(w.input[axis]);
      offset = offset * w.input[axis] + at;
    }
    const long long plane = (long long)w.input[0] * w.input[1] * w.input[2];
    return inside ? Accumulator(image[channel * plane + offset]) : Accumulator(0);
  }

  CG_DEV void advance(const ConvShape& shape) {
    const Window& w = shape.window;
    tap[2] += kDepthStep;
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

extern "C" __global__ void __launch_bounds__(kThreads, gemm_tile::kMinBlocks)
    conv(const Scalar* __restrict__ x, const Scalar* __restrict__ weights,
         const Scalar* __restrict__ bias, const Scalar* __restrict__ residual,
         Scalar* __restrict__ y, ConvShape shape, float activation_a, float activation_b) {
  __shared__ __align__(16) Accumulator weights_tile[TILE_DEPTH][TILE_ROWS + gemm_tile::kPadding];
  __shared__ __align__(16) Accumulator x_tile[TILE_DEPTH][TILE_COLUMNS + gemm_tile::kPadding];
  const Window& w = shape.window;
  const int thread = threadIdx.x;
  const int outputs = w.output[0] * w.output[1] * w.output[2];
  const int depth = shape.channels * w.kernel[0] * w.kernel[1] * w.kernel[2];
  const int column_tiles = int(((long long)outputs * shape.images - 1) / TILE_COLUMNS) + 1;
  const int row_tiles = (shape.filters - 1) / TILE_ROWS + 1;
  const long long column0 = (long long)(blockIdx.x % column_tiles) * TILE_COLUMNS;
  const int row0 = blockIdx.x / column_tiles % row_tiles * TILE_ROWS;
  const int group = blockIdx.x / column_tiles / row_tiles;
  weights += (long long)group * shape.filters * depth;

  const int image0 = int(column0 / outputs);
  const int position0 = int(column0 % outputs);
  const int own = position0 + thread % TILE_COLUMNS;
  Column column(x, shape, group, image0 + own / outputs, own % outputs, thread / TILE_COLUMNS);
  gemm_tile::Share<TILE_ROWS, true, VECTOR> weights_share;
  weights_share.fetch(weights, row0, shape.filters, 0, depth, thread);
  column.fetch(shape);
  gemm_tile::Sums sums = {};
  for (int depth0 = 0; depth0 < depth; depth0 += TILE_DEPTH) {
    weights_share.store(weights_tile, thread);
    column.store(x_tile, thread);
    __syncthreads();
    weights_share.fetch(weights, row0, shape.filters, depth0 + TILE_DEPTH, depth, thread);
    column.fetch(shape);
    gemm_tile::multiply(weights_tile, x_tile, thread, sums);
    __syncthreads();
  }

  UNROLL_ON_GPU
  for (int j = 0; j < THREAD_COLUMNS; ++j) {
    const int c = position0 + gemm_tile::column(thread, j);
    const int image = image0 + c / outputs;
    const int position = c % outputs;
    if (image >= shape.images) continue;
    UNROLL_ON_GPU
    for (int i = 0; i < THREAD_ROWS; ++i) {
      const int r = row0 + gemm_tile::row(thread, i);
      if (r >= shape.filters) continue;
      const long long filter = (long long)group * shape.filters + r;
      Accumulator value = sums.at(i, j);
      if (bias != nullptr) value += Accumulator(bias[filter]);
      const long long at =
          ((long long)image * shape.groups * shape.filters + filter) * outputs + position;
      if (residual != nullptr) value += Accumulator(residual[at]);
      y[at] = Scalar(ACTIVATION(value, activation_a, activation_b));
    }
  }
}
