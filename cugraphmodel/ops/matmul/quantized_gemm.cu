#include "device.cuh"
#include "quantized_product.cuh"
#include "quantized_tile.cuh"

// Product of 8-bit integer matrices. Macros and parameters of the outcome: quantized_product.cuh.
//   left   [rows, depth], or [depth, rows] if TRANSPOSE_LEFT
//   right  [depth, columns], or [columns, depth] if TRANSPOSE_RIGHT
//   y      [batch, rows, columns]
// LEFT_SUMS and RIGHT_SUMS tell whether right and left have zero points other than 0.
// One block makes one tile of one batch; blockIdx.x counts column tiles, then row tiles, then batches.

using quantized_product::Out;
using quantized_tile::Left;
using quantized_tile::Right;

extern "C" __global__ void __launch_bounds__(quantized_tile::kThreads, quantized_tile::kMinBlocks)
    quantized_gemm(const LEFT* __restrict__ left, const RIGHT* __restrict__ right,
                   OUT* __restrict__ y, const LEFT* __restrict__ left_zero,
                   const RIGHT* __restrict__ right_zero, const SCALE* __restrict__ left_scale,
                   const SCALE* __restrict__ right_scale, const SCALE* __restrict__ y_scale,
                   const OUT* __restrict__ y_zero, const BIAS* __restrict__ bias, int rows,
                   int columns, int depth, int batch_rank, CG_PARAM Dims batch_shape,
                   CG_PARAM Dims left_strides, CG_PARAM Dims right_strides,
                   quantized_product::Counts counts, float alpha) {
  __shared__ __align__(16) unsigned left_tile[TILE_WORDS][TILE_ROWS + quantized_tile::kPadding];
  __shared__ __align__(16) unsigned right_tile[TILE_WORDS][TILE_COLUMNS + quantized_tile::kPadding];
  const int thread = threadIdx.x;
  const int column_tiles = (columns - 1) / TILE_COLUMNS + 1;
  const int row_tiles = (rows - 1) / TILE_ROWS + 1;
  const int column0 = blockIdx.x % column_tiles * TILE_COLUMNS;
  const int row0 = blockIdx.x / column_tiles % row_tiles * TILE_ROWS;
  const int batch = blockIdx.x / column_tiles / row_tiles;
  const quantized_product::Offsets offsets =
      quantized_product::batch_offsets(batch, batch_rank, batch_shape, left_strides, right_strides);
  left += offsets.left;
  right += offsets.right;
  y += (long long)batch * rows * columns;

  quantized_tile::Sums sums = {};
  quantized_tile::Share<Left, TILE_ROWS, !TRANSPOSE_LEFT, VECTOR_LEFT> left_share;
  quantized_tile::Share<Right, TILE_COLUMNS, TRANSPOSE_RIGHT, VECTOR_RIGHT> right_share;
  left_share.fetch(left, row0, rows, 0, depth, thread);
  right_share.fetch(right, column0, columns, 0, depth, thread);
  for (int depth0 = 0; depth0 < depth; depth0 += quantized_tile::kDepth) {
    const int next = depth0 + quantized_tile::kDepth;
    left_share.store(left_tile, thread);
    right_share.store(right_tile, thread);
    __syncthreads();
    left_share.fetch(left, row0, rows, next, depth, thread);
    right_share.fetch(right, column0, columns, next, depth, thread);
    quantized_tile::multiply(left_tile, right_tile, thread, sums);
    __syncthreads();
  }

  const quantized_product::Epilogue finish = {left_zero, right_zero, left_scale, right_scale, y_scale,
                                              y_zero,    bias,       counts,     alpha};
  const int left_index0 = depth > 0 ? int(offsets.left / depth) : 0;
  const int right_index0 = depth > 0 ? int(offsets.right / depth) : 0;
#pragma unroll
  for (int i = 0; i < THREAD_ROWS; ++i) {
    const int r = row0 + quantized_tile::row(thread, i);
    if (r >= rows) continue;
    const int left_zero_point = finish.left_zero_point(left_index0 + r);
#pragma unroll
    for (int j0 = 0; j0 < THREAD_COLUMNS; j0 += 4) {
      const int c0 = column0 + quantized_tile::column(thread, j0);
      Pack4<Out> out = {};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (c0 + j >= columns) continue;
        const int right_zero_point = finish.right_zero_point(right_index0 + c0 + j);
        const unsigned sum = sums.at(i, j0 + j, left_zero_point, right_zero_point, depth);
        out.v[j] = finish(sum, r, c0 + j, left_index0 + r, right_index0 + c0 + j);
      }
      Out* to = y + (long long)r * columns + c0;
      if (columns % 4 == 0) {
        if (c0 < columns) cg_store4(to, out);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (c0 + j < columns) to[j] = out.v[j];
        }
      }
    }
  }
}
