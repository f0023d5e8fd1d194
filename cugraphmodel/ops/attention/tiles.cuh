#pragma once
// Tiles of queries, keys, values and scores: their sizes, how they are loaded and how they are multiplied.
// Macros: see attention.cu.
#include "device.cuh"
#include "lanes.cuh"
#include "attention.cuh"

#if defined(__CUDACC__)
#define UNROLL_ON_GPU _Pragma("unroll")
#else
#define UNROLL_ON_GPU
#endif

constexpr int kAcross = 16;  // threads that share rows: half a warp
constexpr int kThreads = 128;
constexpr int kMinBlocks = sizeof(A) == 8 ? 2 : 3;  // of a multiprocessor; so ptxas spills nothing
constexpr int kTileRows = kThreads / kAcross * THREAD_ROWS;
constexpr int kTileKeys = kAcross * THREAD_KEYS;
constexpr int kTileValues = kAcross * THREAD_VALUES;
constexpr int kTileDepth = 32;
constexpr int kStep = 16 / int(sizeof(A));  // elements in 16 bytes
constexpr int kKeyStride = kTileKeys + kStep;
constexpr int kKeyTile = kTileDepth * kKeyStride;
constexpr int kValueTile = kTileKeys * kTileValues;
constexpr int kSharedTile = kKeyTile > kValueTile ? kKeyTile : kValueTile;

// Operands below this give scores far from overflow.
constexpr A kModest = sizeof(A) == 4 ? A(1125899906842624.0) : A(1e120);

// Rows of elements in memory.
struct Place {
  const Scalar* data;
  long long row_stride, column_stride;

  CG_DEV Place from(int row, int column) const {
    return {data + row * row_stride + column * column_stride, row_stride, column_stride};
  }
};

// ---- Loading

CG_DEV Place place_of(const Scalar* base, int lead, const Dims& lead_shape, const Dims& strides) {
  return {of_lead(base, lead, lead_shape, strides), strides.v[4], strides.v[5]};
}

// Calls use(row, column, element) for this thread's share of rows x columns elements, zeros outside
// [0, rows_left) x [0, columns_left). Neighbouring threads have neighbouring rows if DOWN, else
// neighbouring columns. `columns` is a multiple of VECTOR.
template <bool DOWN, class Use>
CG_DEV void each_element(Place from, int rows, int columns, int rows_left, int columns_left,
                         Use use) {
  const int packs = columns / VECTOR;
  for (int e = threadIdx.x; e < rows * packs; e += kThreads) {
    const int row = DOWN ? e % rows : e / packs;
    const int column = (DOWN ? e / rows : e % packs) * VECTOR;
    const bool inside = row < rows_left && column < columns_left;
    const Scalar* at =
        from.data + row * from.row_stride + (VECTOR == 4 ? column : column * from.column_stride);
    if constexpr (VECTOR == 4) {
      Pack4<Scalar> pack = {};
      if (inside) pack = cg_load4(at);
#pragma unroll
      for (int i = 0; i < 4; ++i) use(row, column + i, A(pack.v[i]));
    } else {
      use(row, column, inside ? A(*at) : A(0));
    }
  }
}

// Whether all of the next keys are modest, the values finite, and no thread has found something `wild`.
CG_DEV bool is_modest(Place keys, Place values, int num_keys, int depth, int width, int wild) {
  const int rows = num_keys < kTileKeys ? num_keys : kTileKeys;
  each_element<false>(keys, rows, depth, rows, depth,
                      [&](int, int, A x) { wild |= !(cg_abs(x) < kModest); });
  each_element<false>(values, rows, width, rows, width,
                      [&](int, int, A x) { wild |= !(cg_abs(x) < CgLimits<A>::highest()); });
  return cg_block_max(wild) == 0;
}

// ---- Products

constexpr int kWidest = kLaneBytes / int(sizeof(A));

// A thread's part of a tile of results: THREAD_ROWS rows, and columns in runs of neighbours.
template <int COLUMNS>
struct Part {
  static constexpr int kRun = COLUMNS < kWidest ? COLUMNS : kWidest;
  static constexpr int kRuns = COLUMNS / kRun;
  Lanes<A, kRun> v[THREAD_ROWS][kRuns];

  CG_DEV static int column(int j) {
    return j / kRun * (kAcross * kRun) + threadIdx.x % kAcross * kRun + j % kRun;
  }
  CG_DEV A at(int i, int j) const { return v[i][j / kRun].v[j % kRun]; }
  CG_DEV void set(int i, int j, A x) { v[i][j / kRun].v[j % kRun] = x; }

  // this += left[rows of this thread, 0:depth] @ right[0:depth, columns of this thread], in the
  // order of the depth, which is a multiple of kStep.
  CG_DEV void add_product(const A* left, int left_stride, const A* right, int right_stride,
                          int depth) {
    left += threadIdx.x / kAcross * THREAD_ROWS * left_stride;
    right += column(0);
    for (int k0 = 0; k0 < depth; k0 += kStep) {
      Lanes<A, kStep> a[THREAD_ROWS];
#pragma unroll
      for (int i = 0; i < THREAD_ROWS; ++i) a[i] = load_lanes<kStep>(left + i * left_stride + k0);
#pragma unroll
      for (int k = 0; k < kStep; ++k) {
#pragma unroll
        for (int run = 0; run < kRuns; ++run) {
          const Lanes<A, kRun> b =
              load_lanes<kRun>(right + (k0 + k) * right_stride + run * (kAcross * kRun));
#pragma unroll
          for (int i = 0; i < THREAD_ROWS; ++i) {
            v[i][run] = fma_lanes(spread_lanes<kRun>(A(a[i].v[k])), b, v[i][run]);
          }
        }
      }
    }
  }
};
typedef Part<THREAD_KEYS> Scores;
typedef Part<THREAD_VALUES> Values;
