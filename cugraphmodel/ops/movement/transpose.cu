// Swaps the fastest dimension of the source with that of the target through a tile of shared
// memory, so that both are read and written in whole rows:
//     target[b, r, c] = source[b, r, c]   with source stride 1 along r, target stride 1 along c
// for any number of batch coordinates b, each with strides of its own.
//
// WORD: the type moved. One block of 32 x 8 threads a tile of 32 x 32; blocks count column tiles
// fastest, then row tiles, then batch.
#include "device.cuh"

extern "C" __global__ void __launch_bounds__(256)
    transpose_tiles(const void* __restrict__ source_words, void* __restrict__ target_words,
                    long long rows, long long columns, long long source_column_stride,
                    long long target_row_stride, int batch_rank, CG_PARAM Dims batch_shape,
                    CG_PARAM Dims batch_source_strides, CG_PARAM Dims batch_target_strides,
                    long long source_offset, long long target_offset) {
  __shared__ WORD tile[32][33];
  const unsigned column_tiles = (unsigned)((columns + 31) / 32);
  const unsigned row_tiles = (unsigned)((rows + 31) / 32);
  const unsigned tile_row = blockIdx.x / column_tiles;
  const long long first_column = (blockIdx.x - tile_row * column_tiles) * 32LL;
  const long long first_row = tile_row % row_tiles * 32LL;
  unsigned batch = tile_row / row_tiles;
  const WORD* source = static_cast<const WORD*>(source_words) + source_offset;
  WORD* target = static_cast<WORD*>(target_words) + target_offset;
  for (int d = batch_rank - 1; d >= 0; --d) {
    const unsigned next = batch / (unsigned)batch_shape.v[d];
    const long long coordinate = batch - next * (unsigned)batch_shape.v[d];
    source += coordinate * batch_source_strides.v[d];
    target += coordinate * batch_target_strides.v[d];
    batch = next;
  }
  const int x = threadIdx.x;
  for (int y = threadIdx.y; y < 32; y += 8) {
    if (first_row + x < rows && first_column + y < columns) {
      tile[y][x] = source[(first_column + y) * source_column_stride + first_row + x];
    }
  }
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += 8) {
    if (first_row + y < rows && first_column + x < columns) {
      target[(first_row + y) * target_row_stride + first_column + x] = tile[x][y];
    }
  }
}
