#pragma once
// What the tiled matrix kernels share: which outputs a thread owns, and the product of two tiles.
//
// A block owns TILE_ROWS x TILE_COLUMNS outputs, each of its threads THREAD_ROWS x THREAD_COLUMNS of
// them, and walks over the depth TILE_DEPTH at a time. Every output has one accumulator that sums in
// the order of the depth, so the result depends on no tile size.
#include "device.cuh"

namespace gemm_tile {

typedef Acc<SCALAR>::type Accumulator;

constexpr int kThreadsAcross = TILE_COLUMNS / THREAD_COLUMNS;
constexpr int kThreads = TILE_ROWS / THREAD_ROWS * kThreadsAcross;

// Rows of shared memory are this much longer than the tile, so that threads that store a column of
// it meet fewer bank conflicts; a multiple of 16 bytes keeps vector loads aligned.
constexpr int kPadding = 4;

// A thread's columns come in runs of this length: 16 bytes is the widest shared-memory load of a
// GPU, and runs of one warp's threads must then be neighbours to be free of bank conflicts.
// A CPU prefers its own vector length.
#if defined(__CUDACC__)
constexpr int kRun = THREAD_COLUMNS < 4 ? THREAD_COLUMNS : 4;
#else
constexpr int kRun = THREAD_COLUMNS;
#endif

typedef Accumulator Left[TILE_ROWS + kPadding];
typedef Accumulator Right[TILE_COLUMNS + kPadding];

// Row of the tile of a thread's i-th row, and column of its j-th column.
CG_DEV int row(int thread, int i) { return thread / kThreadsAcross * THREAD_ROWS + i; }
CG_DEV int column(int thread, int j) {
  return j / kRun * (kThreadsAcross * kRun) + thread % kThreadsAcross * kRun + j % kRun;
}

// sums[i][j] += left[k][row(i)] * right[k][column(j)] over k, in order.
CG_DEV void multiply(const Left* left, const Right* right, int thread,
                     Accumulator (&sums)[THREAD_ROWS][THREAD_COLUMNS]) {
#pragma unroll
  for (int k = 0; k < TILE_DEPTH; ++k) {
    Accumulator a[THREAD_ROWS];
    Accumulator b[THREAD_COLUMNS];
#pragma unroll
    for (int i = 0; i < THREAD_ROWS; ++i) a[i] = left[k][row(thread, i)];
#pragma unroll
    for (int j = 0; j < THREAD_COLUMNS; ++j) b[j] = right[k][column(thread, j)];
#pragma unroll
    for (int i = 0; i < THREAD_ROWS; ++i) {
#pragma unroll
      for (int j = 0; j < THREAD_COLUMNS; ++j) sums[i][j] = cg_fma(a[i], b[j], sums[i][j]);
    }
  }
}

CG_DEV void clear(Accumulator (&sums)[THREAD_ROWS][THREAD_COLUMNS]) {
#pragma unroll
  for (int i = 0; i < THREAD_ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < THREAD_COLUMNS; ++j) sums[i][j] = Accumulator(0);
  }
}

}  // namespace gemm_tile
