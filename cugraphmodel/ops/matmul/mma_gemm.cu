#include "device.cuh"
#include "mma_tile.cuh"
#include "product.cuh"

// y[b] = ACTIVATION(alpha * (left[b] * scale[b]) @ right[b]^T + beta * bias + residual[b]) on tensor
// cores
//   left   [rows, depth]
//   right  [columns, depth]
//   scale  if LEFT_SCALE: [batch, depth], by which `left` is multiplied first; else null
//   bias   any strides over rows and columns, zero where it is broadcast; may be null
//   y      [batch, rows, columns]; so is residual, which may be null
// The depth is a multiple of 16 bytes, and so are the strides of the batch.
// One block makes one tile of one batch; blockIdx.x counts column tiles, then row tiles, then batches.

// Where a block's tile lies, and its operands.
struct Place {
  int row0;
  int column0;
  int batch;
  Operands matrices;
  int rows;
  int columns;
  int depth;
  mma_tile::LeftFactors<LEFT_SCALE> factors;

  CG_DEV float left(int row, int k) const {
    const float x = element(matrices.left, row0 + row, rows, k);
    if constexpr (LEFT_SCALE) return x * float(factors.factors[k]);
    return x;
  }
  CG_DEV float right(int column, int k) const {
    return element(matrices.right, column0 + column, columns, k);
  }
  CG_DEV float element(const Scalar* matrix, int row, int count, int k) const {
    return row < count ? float(matrix[(long long)row * depth + k]) : 0.0f;
  }
};

CG_DEV Place place_of(Operands base, const Scalar* scale, int rows, int columns, int depth,
                      int batch_rank, const Dims& batch_shape, const Dims& left_strides,
                      const Dims& right_strides) {
  const int column_tiles = (columns - 1) / TILE_COLUMNS + 1;
  const int row_tiles = (rows - 1) / TILE_ROWS + 1;
  const int batch = blockIdx.x / column_tiles / row_tiles;
  return {int(blockIdx.x / column_tiles % row_tiles * TILE_ROWS),
          int(blockIdx.x % column_tiles * TILE_COLUMNS),
          batch,
          of_batch(base, batch, batch_rank, batch_shape, left_strides, right_strides),
          rows,
          columns,
          depth,
          {LEFT_SCALE ? scale + (long long)batch * depth : nullptr, depth}};
}

CG_DEV mma_tile::Sums sums_of(const Place& place, int depth0, int depth_end) {
  __shared__ __align__(128) Scalar left_tiles[NUM_STAGES][TILE_ROWS * TILE_DEPTH];
  __shared__ __align__(128) Scalar right_tiles[NUM_STAGES][TILE_COLUMNS * TILE_DEPTH];
  const int thread = threadIdx.x;
  mma_tile::Rows<TILE_ROWS> left(place.matrices.left, place.row0, place.rows, depth0, depth_end,
                                 place.depth, thread);
  mma_tile::Rows<TILE_COLUMNS> right(place.matrices.right, place.column0, place.columns, depth0,
                                     depth_end, place.depth, thread);
  mma_tile::Sums sums =
      mma_tile::multiply_all(left, right, depth_end - depth0, left_tiles, right_tiles, thread,
                             place.factors.from(depth0, depth_end));
  if constexpr (mma_tile::kArithmetic == mma_tile::tf32x3) {
    mma_tile::mend(sums, place, depth0, depth_end, thread);
  }
  return sums;
}

extern "C" __global__ void __launch_bounds__(mma_tile::kThreads)
    mma_gemm(const Scalar* __restrict__ left, const Scalar* __restrict__ right,
             const Scalar* __restrict__ bias, const Result* __restrict__ residual,
             Result* __restrict__ y, const Scalar* __restrict__ scale, int rows, int columns,
             int depth, int batch_rank, CG_PARAM Dims batch_shape, CG_PARAM Dims left_strides,
             CG_PARAM Dims right_strides, long long bias_row_stride, long long bias_column_stride,
             float alpha, float beta, float activation_a, float activation_b) {
  const Place place = place_of({left, right}, scale, rows, columns, depth, batch_rank,
                               batch_shape, left_strides, right_strides);
  mma_tile::Sums sums = sums_of(place, 0, depth);
  const long long first = (long long)place.batch * rows * columns;
  const Epilogue finish = {bias, bias_row_stride, bias_column_stride, alpha, beta, activation_a,
                           activation_b, residual == nullptr ? nullptr : residual + first, columns};
  y += first;
  mma_tile::for_each(sums, threadIdx.x, [=](float sum, int tile_row, int tile_column) {
    const int r = place.row0 + tile_row, c = place.column0 + tile_column;
    if (r < rows && c < columns) y[(long long)r * columns + c] = finish(sum, r, c);
  });
}

// For few tiles of a long depth: blocks share it. partial [slice, batch, rows, columns] gets the sums
// over slice_depth each, a multiple of TILE_DEPTH; blockIdx.y counts slices, of `size` sums each.
extern "C" __global__ void __launch_bounds__(mma_tile::kThreads)
    mma_gemm_slices(const Scalar* __restrict__ left, const Scalar* __restrict__ right,
                    float* __restrict__ partial, const Scalar* __restrict__ scale, int rows,
                    int columns, int depth, int batch_rank, CG_PARAM Dims batch_shape,
                    CG_PARAM Dims left_strides, CG_PARAM Dims right_strides, int slice_depth,
                    long long size) {
  const Place place = place_of({left, right}, scale, rows, columns, depth, batch_rank,
                               batch_shape, left_strides, right_strides);
  const int depth0 = blockIdx.y * slice_depth;
  mma_tile::Sums sums = sums_of(place, depth0, cg_min(depth, depth0 + slice_depth));
  partial += blockIdx.y * size + (long long)place.batch * rows * columns;
  mma_tile::for_each(sums, threadIdx.x, [=](float sum, int tile_row, int tile_column) {
    const int r = place.row0 + tile_row, c = place.column0 + tile_column;
    if (r < rows && c < columns) partial[(long long)r * columns + c] = sum;
  });
}
