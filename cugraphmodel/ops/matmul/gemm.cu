#include "device.cuh"
#include "gemm_tile.cuh"
#include "product.cuh"

// y[b] = ACTIVATION(alpha * left[b] @ right[b] + beta * bias + residual[b])
//   left   [rows, depth], or [depth, rows] if TRANSPOSE_LEFT
//   right  [depth, columns], or [columns, depth] if TRANSPOSE_RIGHT
//   bias   any strides over rows and columns, zero where it is broadcast; may be null
//   y      [batch, rows, columns]; so is residual, which may be null
// One block makes one tile of one batch; blockIdx.x counts column tiles, then row tiles, then batches.

extern "C" __global__ void __launch_bounds__(gemm_tile::kThreads, gemm_tile::kMinBlocks)
    gemm(const Scalar* __restrict__ left, const Scalar* __restrict__ right,
         const Scalar* __restrict__ bias, const Result* __restrict__ residual,
         Result* __restrict__ y, int rows, int columns, int depth, int batch_rank, Dims batch_shape,
         Dims left_strides, Dims right_strides, long long bias_row_stride,
         long long bias_column_stride, float alpha, float beta, float activation_a,
         float activation_b) {
  __shared__ __align__(16) Accumulator left_tile[TILE_DEPTH][TILE_ROWS + gemm_tile::kPadding];
  __shared__ __align__(16) Accumulator right_tile[TILE_DEPTH][TILE_COLUMNS + gemm_tile::kPadding];
  const int thread = threadIdx.x;
  const int column_tiles = (columns - 1) / TILE_COLUMNS + 1;
  const int row_tiles = (rows - 1) / TILE_ROWS + 1;
  const int column0 = blockIdx.x % column_tiles * TILE_COLUMNS;
  const int row0 = blockIdx.x / column_tiles % row_tiles * TILE_ROWS;
  const int batch = blockIdx.x / column_tiles / row_tiles;
  const Operands mine =
      of_batch({left, right}, batch, batch_rank, batch_shape, left_strides, right_strides);
  const long long first = (long long)batch * rows * columns;
  y += first;

  gemm_tile::Sums sums = {};
  gemm_tile::Share<TILE_ROWS, !TRANSPOSE_LEFT, VECTOR_LEFT> left_share;
  gemm_tile::Share<TILE_COLUMNS, TRANSPOSE_RIGHT, VECTOR_RIGHT> right_share;
  left_share.fetch(mine.left, row0, rows, 0, depth, thread);
  right_share.fetch(mine.right, column0, columns, 0, depth, thread);
  for (int depth0 = 0; depth0 < depth; depth0 += TILE_DEPTH) {
    left_share.store(left_tile, thread);
    right_share.store(right_tile, thread);
    __syncthreads();
    left_share.fetch(mine.left, row0, rows, depth0 + TILE_DEPTH, depth, thread);
    right_share.fetch(mine.right, column0, columns, depth0 + TILE_DEPTH, depth, thread);
    gemm_tile::multiply(left_tile, right_tile, thread, sums);
    __syncthreads();
  }

  const Epilogue finish = {bias, bias_row_stride, bias_column_stride, alpha, beta, activation_a,
                           activation_b, residual == nullptr ? nullptr : residual + first, columns};
  UNROLL_ON_GPU
  for (int i = 0; i < THREAD_ROWS; ++i) {
    UNROLL_ON_GPU
    for (int j = 0; j < THREAD_COLUMNS; ++j) {
      const int r = row0 + gemm_tile::row(thread, i);
      const int c = column0 + gemm_tile::column(thread, j);
      if (r >= rows || c >= columns) continue;
      y[(long long)r * columns + c] = finish(sums.at(i, j), r, c);
    }
  }
}
