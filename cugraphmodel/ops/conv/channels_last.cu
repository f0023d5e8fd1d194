#include "device.cuh"
#include "activations.cuh"
#include "channels_last_row.cuh"
#include "gemm_tile.cuh"

// Convolution of channels-last tensors as a matrix product that never builds its left operand:
//   rows     output positions, those of all images in a row
//   columns  filters of one group
//   depth    (position in the window, channel of the group), as in the weights' memory
// x [images, *input, groups * channels], weights [groups * filters, *kernel, channels],
// y and residual [images, *output, groups * filters], bias [groups * filters]; bias and residual may
// be null. y = ACTIVATION(sum + bias + residual).
// One block makes one tile of one group; blockIdx.x counts column tiles, then row tiles, then groups.
//
// Macros beside those of gemm_tile.cuh
//   VECTOR      channels that one load takes: 4 where it divides `channels`, else 1
//   FIRST_AXIS  first axis of the window that is not all of size 1 and without padding
//   INDEX       type of offsets; those of an unsigned one may wrap on the way

using gemm_tile::Accumulator;
using gemm_tile::Scalar;

constexpr int kThreads = gemm_tile::kThreads;

// A thread's share of the left tile. All that it loads at a time lies at one depth, whose position in
// the window and channel are counted up instead of divided out.
struct Patch {
  static constexpr int kAcross = TILE_DEPTH / VECTOR;
  static constexpr int kRowStep = kThreads / kAcross;
  static constexpr int kCount = TILE_ROWS / kRowStep;
  static_assert(kThreads % kAcross == 0 && TILE_ROWS % kRowStep == 0, "all threads load alike");

  int depth;
  int channel;
  int tap[3] = {0, 0, 0};
  Accumulator v[kCount][VECTOR];  // on the way to shared memory

  CG_DEV Patch(const ConvShape& shape, int num_depths, int thread)
      : depth(thread % kAcross * VECTOR), channel(depth) {
    carry(shape, num_depths);
  }

  CG_DEV void fetch(const Scalar* x, const Row* rows, const ConvShape& shape, int num_depths,
                    int thread) {
    const Window& w = shape.window;
    Index step = 0;
#pragma unroll
    for (int axis = FIRST_AXIS; axis < 3; ++axis) {
      step = step * w.input[axis] + tap[axis] * w.dilation[axis];
    }
    step = step * (shape.groups * shape.channels) + channel;
    UNROLL_ON_GPU
    for (int e = 0; e < kCount; ++e) {
      const Row& row = rows[thread / kAcross + e * kRowStep];
      bool inside = depth < num_depths;
#pragma unroll
      for (int axis = FIRST_AXIS; axis < 3; ++axis) {
        const int at = row.origin[axis - FIRST_AXIS] + tap[axis] * w.dilation[axis];
        inside = inside && unsigned(at) < unsigned(w.input[axis]);
      }
      const Index offset = row.offset + step;
      if constexpr (VECTOR == 4) {
        Pack4<Scalar> pack = {};
        if (inside) pack = cg_load4(x + offset);
#pragma unroll
        for (int i = 0; i < 4; ++i) v[e][i] = Accumulator(pack.v[i]);
      } else {
        v[e][0] = inside ? Accumulator(x[offset]) : Accumulator(0);
      }
    }
    depth += TILE_DEPTH;
    channel += TILE_DEPTH;
    carry(shape, num_depths);
  }

  CG_DEV void store(gemm_tile::Left* tile, int thread) const {
    UNROLL_ON_GPU
    for (int e = 0; e < kCount; ++e) {
#pragma unroll
      for (int i = 0; i < VECTOR; ++i) {
        tile[thread % kAcross * VECTOR + i][thread / kAcross + e * kRowStep] = v[e][i];
      }
    }
  }

  // Past the last depth the numbers mean nothing, and nothing is loaded.
  CG_DEV void carry(const ConvShape& shape, int num_depths) {
    const Window& w = shape.window;
    while (depth < num_depths && channel >= shape.channels) {
      channel -= shape.channels;
      if (++tap[2] < w.kernel[2]) continue;
      tap[2] = 0;
      if (FIRST_AXIS < 2 && ++tap[1] < w.kernel[1]) continue;
      tap[1] = 0;
      if (FIRST_AXIS < 1) ++tap[0];
    }
  }
};

extern "C" __global__ void __launch_bounds__(kThreads, gemm_tile::kMinBlocks)
    channels_last_conv(const Scalar* __restrict__ x, const Scalar* __restrict__ weights,
                       const Scalar* __restrict__ bias, const Scalar* __restrict__ residual,
                       Scalar* __restrict__ y, ConvShape shape, float activation_a,
                       float activation_b) {
  __shared__ __align__(16) Accumulator x_tile[TILE_DEPTH][TILE_ROWS + gemm_tile::kPadding];
  __shared__ __align__(16) Accumulator weights_tile[TILE_DEPTH][TILE_COLUMNS + gemm_tile::kPadding];
  __shared__ Row rows[TILE_ROWS];
  const Window& w = shape.window;
  const int thread = threadIdx.x;
  const int outputs = w.output[0] * w.output[1] * w.output[2];
  const int depth = shape.channels * w.kernel[0] * w.kernel[1] * w.kernel[2];
  const int column_tiles = (shape.filters - 1) / TILE_COLUMNS + 1;
  const int row_tiles = int(((long long)outputs * shape.images - 1) / TILE_ROWS) + 1;
  const int column0 = blockIdx.x % column_tiles * TILE_COLUMNS;
  const long long row0 = (long long)(blockIdx.x / column_tiles % row_tiles) * TILE_ROWS;
  const int group = blockIdx.x / column_tiles / row_tiles;
  weights += Index(group) * shape.filters * depth;

  const int image0 = int(row0 / outputs);
  const int position0 = int(row0 % outputs);
  for (int r = thread; r < TILE_ROWS; r += kThreads) {
    const int own = position0 + r;
    rows[r] = Row(shape, group, image0 + own / outputs, own % outputs);
  }
  __syncthreads();
  Patch patch(shape, depth, thread);
  gemm_tile::Share<TILE_COLUMNS, true, VECTOR> weights_share;
  patch.fetch(x, rows, shape, depth, thread);
  weights_share.fetch(weights, column0, shape.filters, 0, depth, thread);
  gemm_tile::Sums sums = {};
  for (int depth0 = 0; depth0 < depth; depth0 += TILE_DEPTH) {
    patch.store(x_tile, thread);
    weights_share.store(weights_tile, thread);
    __syncthreads();
    patch.fetch(x, rows, shape, depth, thread);
    weights_share.fetch(weights, column0, shape.filters, depth0 + TILE_DEPTH, depth, thread);
    gemm_tile::multiply(x_tile, weights_tile, thread, sums);
    __syncthreads();
  }

  UNROLL_ON_GPU
  for (int i = 0; i < THREAD_ROWS; ++i) {
    const long long row = row0 + gemm_tile::row(thread, i);
    if (row >= (long long)outputs * shape.images) continue;
    UNROLL_ON_GPU
    for (int j = 0; j < THREAD_COLUMNS; ++j) {
      const int c = column0 + gemm_tile::column(thread, j);
      if (c >= shape.filters) continue;
      const int filter = group * shape.filters + c;
      const Index at = Index(row) * (shape.groups * shape.filters) + filter;
      Accumulator value = sums.at(i, j);
      if (bias != nullptr) value += Accumulator(bias[filter]);
      if (residual != nullptr) value += Accumulator(residual[at]);
      y[at] = Scalar(ACTIVATION(value, activation_a, activation_b));
    }
  }
}
