#include "device.cuh"
#include "channels_last_row.cuh"
#include "mma_tile.cuh"
#include "product.cuh"

// Convolution of channels-last tensors on tensor cores, in one group: a matrix product that never
// builds its left operand.
//   rows     output positions, those of all images in a row
//   columns  filters
//   depth    (position in the window, channel), as in the weights' memory
// x [images, *input, channels], weights [filters, *kernel, channels], y [images, *output, filters];
// bias, residual and epilogue as in mma_gemm.cu. A pixel of x is a multiple of 16 bytes.
// One block makes one tile; blockIdx.x counts column tiles, then row tiles.
//
// Macros beside those of mma_tile.cuh and product.cuh
//   FIRST_AXIS  first axis of the window that is not all of size 1 and without padding
//   INDEX       type of offsets in x; those of an unsigned one may wrap on the way

// A position in the window and a channel, counted up along the depth.
struct Depth {
  int tap[3];
  int channel;

  CG_DEV Depth(const ConvShape& shape, int depth) {
    const Window& w = shape.window;
    const int position = depth / shape.channels;
    channel = depth % shape.channels;
    tap[2] = position % w.kernel[2];
    tap[1] = position / w.kernel[2] % w.kernel[1];
    tap[0] = position / w.kernel[2] / w.kernel[1];
  }

  CG_DEV void advance(const ConvShape& shape) {
    const Window& w = shape.window;
    channel += TILE_DEPTH;
    while (channel >= shape.channels) {
      channel -= shape.channels;
      if (++tap[2] < w.kernel[2]) continue;
      tap[2] = 0;
      if (FIRST_AXIS < 2 && ++tap[1] < w.kernel[1]) continue;
      tap[1] = 0;
      if (FIRST_AXIS < 1) ++tap[0];
    }
  }

  // Elements from where a row's window begins, in one image.
  CG_DEV Index offset(const ConvShape& shape) const {
    Index step = 0;
#pragma unroll
    for (int axis = FIRST_AXIS; axis < 3; ++axis) {
      step = step * shape.window.input[axis] + tap[axis] * shape.window.dilation[axis];
    }
    return step * shape.channels + channel;
  }

  CG_DEV bool is_inside(const ConvShape& shape, const Row& row) const {
    bool inside = true;
#pragma unroll
    for (int axis = FIRST_AXIS; axis < 3; ++axis) {
      const int at = row.origin[axis - FIRST_AXIS] + tap[axis] * shape.window.dilation[axis];
      inside = inside && unsigned(at) < unsigned(shape.window.input[axis]);
    }
    return inside;
  }
};

// Where a block's tile lies, and its operands.
struct Place {
  const Scalar* x;
  const Scalar* weights;
  const ConvShape& shape;
  int row0;
  int column0;
  int outputs;  // positions of an image
  int depth;

  CG_DEV Place(const Scalar* from, const Scalar* matrix, const ConvShape& conv_shape)
      : x(from), weights(matrix), shape(conv_shape) {
    const Window& w = shape.window;
    const int column_tiles = (shape.filters - 1) / TILE_COLUMNS + 1;
    row0 = blockIdx.x / column_tiles * TILE_ROWS;
    column0 = blockIdx.x % column_tiles * TILE_COLUMNS;
    outputs = w.output[0] * w.output[1] * w.output[2];
    depth = w.kernel[0] * w.kernel[1] * w.kernel[2] * shape.channels;
  }

  CG_DEV bool has(int row, int column) const {
    return row0 + row < outputs * shape.images && column0 + column < shape.filters;
  }
  CG_DEV Row row_of(int row) const {
    return Row(shape, 0, (row0 + row) / outputs, (row0 + row) % outputs);
  }
  CG_DEV float left(int row, int k) const {
    const Depth at(shape, k);
    const Row own = row_of(row);
    return at.is_inside(shape, own) ? float(x[own.offset + at.offset(shape)]) : 0.0f;
  }
  CG_DEV float right(int column, int k) const {
    const bool inside = column0 + column < shape.filters;
    return inside ? float(weights[(long long)(column0 + column) * depth + k]) : 0.0f;
  }
};

// A thread's chunks of the left tile, at one depth; see mma_tile::Rows.
struct Pixels {
  static constexpr int kCount = TILE_ROWS / mma_tile::kRowsAtOnce;
  const Scalar* x;
  const ConvShape& shape;
  Row rows[kCount];
  Depth depth;
  int depth_left;

  CG_DEV Pixels(const Place& place, int depth0, int depth_end, int thread)
      : x(place.x),
        shape(place.shape),
        depth(shape, depth0 + thread % mma_tile::kChunks * mma_tile::kChunkElements),
        depth_left(depth_end - depth0 - thread % mma_tile::kChunks * mma_tile::kChunkElements) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      rows[i] = place.row_of(thread / mma_tile::kChunks + i * mma_tile::kRowsAtOnce);
    }
  }

  CG_DEV void load(Scalar* tile, int thread) {
    const Index step = depth.offset(shape);
    const int chunk = thread % mma_tile::kChunks;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const bool inside = depth_left > 0 && depth.is_inside(shape, rows[i]);
      const int row = thread / mma_tile::kChunks + i * mma_tile::kRowsAtOnce;
      cg_cp_async<16>(tile + mma_tile::chunk_offset(row, chunk),
                      x + (inside ? rows[i].offset + step : Index(0)), inside ? 16 : 0);
    }
    depth_left -= TILE_DEPTH;
    if (depth_left > 0) depth.advance(shape);
  }
};

CG_DEV mma_tile::Sums sums_of(const Place& place, int depth0, int depth_end) {
  __shared__ __align__(128) Scalar left_tiles[NUM_STAGES][TILE_ROWS * TILE_DEPTH];
  __shared__ __align__(128) Scalar right_tiles[NUM_STAGES][TILE_COLUMNS * TILE_DEPTH];
  const int thread = threadIdx.x;
  const Pixels left(place, depth0, depth_end, thread);
  const mma_tile::Rows<TILE_COLUMNS> right(place.weights, place.column0, place.shape.filters,
                                           depth0, depth_end, place.depth, thread);
  mma_tile::Sums sums =
      mma_tile::multiply_all(left, right, depth_end - depth0, left_tiles, right_tiles, thread);
  if constexpr (mma_tile::kArithmetic == mma_tile::tf32x3) {
    mma_tile::mend(sums, place, depth0, depth_end, thread);
  }
  return sums;
}

extern "C" __global__ void __launch_bounds__(mma_tile::kThreads)
    mma_conv(const Scalar* __restrict__ x, const Scalar* __restrict__ weights,
             const Scalar* __restrict__ bias, const Result* __restrict__ residual,
             Result* __restrict__ y, CG_PARAM ConvShape shape, long long bias_row_stride,
             long long bias_column_stride, float alpha, float beta, float activation_a,
             float activation_b) {
  const Place place(x, weights, shape);
  mma_tile::Sums sums = sums_of(place, 0, place.depth);
  const Epilogue finish = {bias,         bias_row_stride, bias_column_stride, alpha,        beta,
                           activation_a, activation_b,    residual,           shape.filters};
  mma_tile::for_each(sums, threadIdx.x, [&](float sum, int tile_row, int tile_column) {
    if (!place.has(tile_row, tile_column)) return;
    const int row = place.row0 + tile_row, column = place.column0 + tile_column;
    y[(long long)row * shape.filters + column] = finish(sum, row, column);
  });
}

// As mma_gemm_slices, with partial [slice, images, *output, filters].
extern "C" __global__ void __launch_bounds__(mma_tile::kThreads)
    mma_conv_slices(const Scalar* __restrict__ x, const Scalar* __restrict__ weights,
                    float* __restrict__ partial, CG_PARAM ConvShape shape, int slice_depth,
                    long long size) {
  const Place place(x, weights, shape);
  const int depth0 = blockIdx.y * slice_depth;
  mma_tile::Sums sums = sums_of(place, depth0, cg_min(place.depth, depth0 + slice_depth));
  partial += blockIdx.y * size;
  mma_tile::for_each(sums, threadIdx.x, [&](float sum, int tile_row, int tile_column) {
    if (!place.has(tile_row, tile_column)) return;
    partial[(long long)(place.row0 + tile_row) * shape.filters + place.column0 + tile_column] = sum;
  });
}
