#pragma once
// What the tiled matrix kernels share: loading tiles, multiplying them, and who owns which outputs.
//
// A block owns TILE_ROWS x TILE_COLUMNS outputs, each of its threads THREAD_ROWS x THREAD_COLUMNS of
// them, and walks over the depth TILE_DEPTH at a time. Every output has one accumulator that sums in
// the order of the depth, so the result depends on no tile size.
#include "device.cuh"
#include "lanes.cuh"

// For loops that a GPU must unroll to keep arrays in registers, and a CPU had better leave alone.
#if defined(__CUDACC__)
#define UNROLL_ON_GPU _Pragma("unroll")
#define UNROLL_8_ON_GPU _Pragma("unroll 8")
#else
#define UNROLL_ON_GPU
#define UNROLL_8_ON_GPU
#endif

namespace gemm_tile {

typedef SCALAR Scalar;
typedef Acc<Scalar>::type Accumulator;

constexpr int kThreadsAcross = TILE_COLUMNS / THREAD_COLUMNS;
constexpr int kThreads = TILE_ROWS / THREAD_ROWS * kThreadsAcross;

// For __launch_bounds__: with this many blocks on a multiprocessor content, ptxas spills nothing.
constexpr int kMinBlocks = 4;

// Rows of shared memory are this much longer than the tile, so that threads that store a column of
// it meet fewer bank conflicts; a multiple of 16 bytes keeps vector loads aligned.
constexpr int kPadding = 4;

// A thread's columns come in runs of neighbours that it computes together. Runs of neighbouring
// threads are neighbours too, so that a warp's loads of 16 bytes a thread have no bank conflicts.
constexpr int kWidest = kLaneBytes / int(sizeof(Accumulator));
constexpr int kRun = THREAD_COLUMNS < kWidest ? THREAD_COLUMNS : kWidest;
constexpr int kRuns = THREAD_COLUMNS / kRun;

typedef Accumulator Left[TILE_ROWS + kPadding];
typedef Accumulator Right[TILE_COLUMNS + kPadding];
struct Sums {
  Lanes<Accumulator, kRun> v[THREAD_ROWS][kRuns];

  CG_DEV Accumulator at(int i, int j) const { return v[i][j / kRun].v[j % kRun]; }
};

// Row of the tile of a thread's i-th row, and column of its j-th column.
CG_DEV int row(int thread, int i) { return thread / kThreadsAcross * THREAD_ROWS + i; }
CG_DEV int column(int thread, int j) {
  return j / kRun * (kThreadsAcross * kRun) + thread % kThreadsAcross * kRun + j % kRun;
}

// A thread's share of a tile, on its way from global memory through registers to shared memory. It is
// fetched while the tile before is multiplied.
//
// The tile holds elements [first, first + EXTENT) x [depth0, depth0 + TILE_DEPTH) of an operand, zero
// where it has none. In memory the operand is [count, depth] if DEPTH_INSIDE, else [depth, count].
// WIDTH is 4 if the inner of these is a multiple of 4, else 1.
template <int EXTENT, bool DEPTH_INSIDE, int WIDTH>
struct Share {
  static constexpr int kAcross = (DEPTH_INSIDE ? TILE_DEPTH : EXTENT) / WIDTH;
  static constexpr int kCount = EXTENT * TILE_DEPTH / WIDTH / kThreads;
  static_assert(kCount * WIDTH * kThreads == EXTENT * TILE_DEPTH, "all threads load alike");
  Accumulator v[kCount][WIDTH];

  CG_DEV void fetch(const Scalar* from, int first, int count, int depth0, int depth, int thread) {
    UNROLL_ON_GPU
    for (int e = 0; e < kCount; ++e) {
      const int outer = (thread + e * kThreads) / kAcross;
      const int inner = (thread + e * kThreads) % kAcross * WIDTH;
      const int m = first + (DEPTH_INSIDE ? outer : inner);
      const int k = depth0 + (DEPTH_INSIDE ? inner : outer);
      const bool inside = m < count && k < depth;
      const Scalar* at = from + (DEPTH_INSIDE ? (long long)m * depth + k : (long long)k * count + m);
      if constexpr (WIDTH == 4) {
        Pack4<Scalar> pack = {};
        if (inside) pack = cg_load4(at);
#pragma unroll
        for (int i = 0; i < 4; ++i) v[e][i] = Accumulator(pack.v[i]);
      } else {
        v[e][0] = inside ? Accumulator(*at) : Accumulator(0);
      }
    }
  }

  CG_DEV void store(Accumulator (*tile)[EXTENT + kPadding], int thread) const {
    UNROLL_ON_GPU
    for (int e = 0; e < kCount; ++e) {
      const int outer = (thread + e * kThreads) / kAcross;
      const int inner = (thread + e * kThreads) % kAcross * WIDTH;
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) {
        tile[DEPTH_INSIDE ? inner + i : outer][DEPTH_INSIDE ? outer : inner + i] = v[e][i];
      }
    }
  }
};

// sums[i][j] += left[k][row(i)] * right[k][column(j)] over k, in order.
CG_DEV void multiply(const Left* left, const Right* right, int thread, Sums& sums) {
  const int row0 = row(thread, 0);
  const int column0 = column(thread, 0);
  Sums own = sums;  // in registers
  UNROLL_8_ON_GPU
  for (int k = 0; k < TILE_DEPTH; ++k) {
    Lanes<Accumulator, kRun> b[kRuns];
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      b[run] = load_lanes<kRun>(&right[k][column0 + run * (kThreadsAcross * kRun)]);
    }
#pragma unroll
    for (int i = 0; i < THREAD_ROWS; ++i) {
      const Lanes<Accumulator, kRun> a = spread_lanes<kRun>(left[k][row0 + i]);
#pragma unroll
      for (int run = 0; run < kRuns; ++run) own.v[i][run] = fma_lanes(a, b[run], own.v[i][run]);
    }
  }
  sums = own;
}

}  // namespace gemm_tile
