#pragma once
// Tiled matrix products on tensor cores: loading tiles, multiplying them, and who owns which sums.
//
// A block owns TILE_ROWS x TILE_COLUMNS sums, each of its warps WARP_ROWS x WARP_COLUMNS of them, and
// walks over the depth TILE_DEPTH at a time. Both operands have their depth inside: the left one is
// [rows, depth], the right one [columns, depth]. cp.async brings tiles NUM_STAGES - 1 steps ahead.
//
// ARITHMETIC says how operands of type SCALAR are multiplied (see docs/design/matrix-kernels.md):
//   f16, bf16   as they are
//   tf32        floats rounded to tf32
//   tf32x3      floats as sums of two tf32; of the four products of halves the smallest is left out.
//               (Markidis et al., "NVIDIA Tensor Core Programmability, Performance & Precision",
//               2018). A tensor core adds toward zero, so the large products of every TILE_DEPTH
//               are added up outside it (Ootomo and Yokota, arXiv 2203.03341), and what it has cut off on
//               average is added to the small ones: without that, layer after layer shrinks.
#include "device.cuh"
#include "async_copy.cuh"
#include "tensor_core.cuh"

namespace mma_tile {

enum Arithmetic { f16, bf16, tf32, tf32x3 };
constexpr Arithmetic kArithmetic = ARITHMETIC;

typedef SCALAR Scalar;

constexpr int kWarpsDown = TILE_ROWS / WARP_ROWS;
constexpr int kWarpsAcross = TILE_COLUMNS / WARP_COLUMNS;
constexpr int kThreads = 32 * kWarpsDown * kWarpsAcross;
constexpr int kMmaRows = WARP_ROWS / 16;
constexpr int kMmaColumns = WARP_COLUMNS / 8;
static_assert(kMmaColumns % 2 == 0, "ldmatrix brings two matrices of columns");

// Tiles are moved in chunks of 16 bytes along the depth; one mma takes two of them.
constexpr int kChunkElements = 16 / int(sizeof(Scalar));
constexpr int kChunks = TILE_DEPTH / kChunkElements;
constexpr int kRowsAtOnce = kThreads / kChunks;  // whose chunks the threads load together
static_assert(kChunks == 4 || kChunks == 8, "rows of a tile fill 64 or 128 bytes");

// Where a chunk lies in a tile [extent, TILE_DEPTH]. The eight rows that ldmatrix reads together, and
// the eight chunks that neighbouring threads write, lie in different banks.
CG_DEV int chunk_offset(int row, int chunk) {
  const int mixed = kChunks == 8 ? chunk ^ row % 8 : chunk ^ row / 2 % 4;
  return (row * kChunks + mixed) * kChunkElements;
}

// A thread's chunks of EXTENT rows of a matrix [count, depth], from row `first` on, at one depth.
template <int EXTENT>
struct Rows {
  static constexpr int kCount = EXTENT / kRowsAtOnce;
  static_assert(kCount * kRowsAtOnce == EXTENT, "all threads load alike");
  const Scalar* matrix;
  long long offset;  // of the chunk in the thread's first row
  int step;          // elements between two rows of the thread
  int num_inside;    // rows from the thread's first one on
  int depth_left;    // elements from the chunk on

  CG_DEV Rows(const Scalar* from, int first, int count, int depth0, int depth_end, int depth,
              int thread)
      : matrix(from),
        offset((long long)(first + thread / kChunks) * depth + depth0 +
               thread % kChunks * kChunkElements),
        step(kRowsAtOnce * depth),
        num_inside(count - first - thread / kChunks),
        depth_left(depth_end - depth0 - thread % kChunks * kChunkElements) {}

  // Begins the copies into a tile, zeros where the matrix has no elements, and goes on in the depth.
  CG_DEV void load(Scalar* tile, int thread) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const bool inside = i * kRowsAtOnce < num_inside && depth_left > 0;
      const Scalar* from = matrix + (inside ? offset + (long long)i * step : 0);
      const int row = thread / kChunks + i * kRowsAtOnce;
      cg_cp_async<16>(tile + chunk_offset(row, thread % kChunks), from, inside ? 16 : 0);
    }
    offset += TILE_DEPTH;
    depth_left -= TILE_DEPTH;
  }
};

// The sums of one thread, as mma.sync leaves them.
struct Sums {
  static constexpr int kCount = kMmaRows * kMmaColumns * 4;
  float v[kMmaRows][kMmaColumns][4];

  CG_DEV Sums() {
#pragma unroll
    for (int n = 0; n < kCount; ++n) flat(n) = 0.0f;
  }
  CG_DEV float& flat(int n) { return v[n / 4 / kMmaColumns][n / 4 % kMmaColumns][n % 4]; }
};

// Row and column in the tile of a thread's sum v[i][j][e].
CG_DEV int row(int thread, int i, int e) {
  return thread / 32 % kWarpsDown * WARP_ROWS + i * 16 + e / 2 * 8 + thread % 32 / 4;
}
CG_DEV int column(int thread, int j, int e) {
  return thread / 32 / kWarpsDown * WARP_COLUMNS + j * 8 + thread % 4 * 2 + e % 2;
}

// Calls take(sum, row, column) for each sum of a thread.
template <typename Take>
CG_DEV void for_each(Sums& sums, int thread, const Take& take) {
#pragma unroll
  for (int i = 0; i < kMmaRows; ++i) {
#pragma unroll
    for (int j = 0; j < kMmaColumns; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) take(sums.v[i][j][e], row(thread, i, e), column(thread, j, e));
    }
  }
}

struct Fragments {
  unsigned left[kMmaRows][4];
  unsigned right[kMmaColumns][2];

  // The operands of one mma, whose depth begins at chunk 2 * step.
  CG_DEV void load(const Scalar* left_tile, const Scalar* right_tile, int thread, int step) {
    const int lane = thread % 32;
    const int row0 = thread / 32 % kWarpsDown * WARP_ROWS + lane % 16;
    const int column0 = thread / 32 / kWarpsDown * WARP_COLUMNS + lane / 16 * 8 + lane % 8;
#pragma unroll
    for (int i = 0; i < kMmaRows; ++i) {
      cg_ldmatrix(left[i], left_tile + chunk_offset(row0 + i * 16, 2 * step + lane / 16));
    }
#pragma unroll
    for (int j = 0; j < kMmaColumns; j += 2) {
      unsigned both[4];
      cg_ldmatrix(both, right_tile + chunk_offset(column0 + j * 8, 2 * step + lane / 8 % 2));
      right[j][0] = both[0];
      right[j][1] = both[1];
      right[j + 1][0] = both[2];
      right[j + 1][1] = both[3];
    }
  }

  CG_DEV void round_to_tf32() {
#pragma unroll
    for (int n = 0; n < kMmaRows * 4; ++n) {
      left[n / 4][n % 4] = cg_to_tf32(__uint_as_float(left[n / 4][n % 4]));
    }
#pragma unroll
    for (int n = 0; n < kMmaColumns * 2; ++n) {
      right[n / 2][n % 2] = cg_to_tf32(__uint_as_float(right[n / 2][n % 2]));
    }
  }

  // Rounds each float to tf32, and gives what that leaves, rounded to tf32 too.
  CG_DEV Fragments split() {
    Fragments rest;
#pragma unroll
    for (int n = 0; n < kMmaRows * 4; ++n) {
      split(left[n / 4][n % 4], rest.left[n / 4][n % 4]);
    }
#pragma unroll
    for (int n = 0; n < kMmaColumns * 2; ++n) {
      split(right[n / 2][n % 2], rest.right[n / 2][n % 2]);
    }
    return rest;
  }
  // A tensor core ignores the last 13 bits of a float, so adding half of what they hold rounds. For a
  // value that becomes infinite the rest is, too, and their sum NaN: `mend` sees to that.
  static CG_DEV void split(unsigned& value, unsigned& rest) {
    const float whole = __uint_as_float(value);
    value = (value + 0x1000u) & 0xffffe000u;
    rest = __float_as_uint(whole - __uint_as_float(value));
  }
};

// Factors of the left operand's columns, or none. A product is rounded to the operand's type before
// anything else becomes of it.
template <bool kScaled, class T = Scalar>
struct LeftFactors {
  struct __align__(4) Word {
    T v[4 / sizeof(T)];
  };
  const T* factors;  // for all of the depth; 16-byte aligned
  int depth;

  // Multiplies fragments of an mma whose depth begins at k0.
  CG_DEV void apply(unsigned (*left)[4], int k0, int thread) const {
    if constexpr (kScaled) {
#pragma unroll
      for (int chunk = 0; chunk < 2; ++chunk) {
        const int k = k0 + chunk * kChunkElements + thread % 4 * (kChunkElements / 4);
        if (k >= depth) continue;
        const Word word = *reinterpret_cast<const Word*>(factors + k);
#pragma unroll
        for (int n = 0; n < kMmaRows * 2; ++n) {
          unsigned& elements = left[n / 2][2 * chunk + n % 2];
          elements = product(elements, word);
        }
      }
    }
  }
  static CG_DEV unsigned product(unsigned elements, const Word& word) {
    if constexpr (sizeof(T) == 4) {
      return __float_as_uint(__uint_as_float(elements) * word.v[0]);
    } else {
      unsigned result = 0;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        T element;
        element.bits = uint16_t(elements >> 16 * i);
        result |= unsigned(T(float(element) * float(word.v[i])).bits) << 16 * i;
      }
      return result;
    }
  }

  CG_DEV LeftFactors from(int depth0, int depth_end) const {
    return {kScaled ? factors + depth0 : nullptr, depth_end - depth0};
  }
};

CG_DEV void multiply(Sums& sums, const unsigned (*left)[4], const unsigned (*right)[2]) {
#pragma unroll
  for (int i = 0; i < kMmaRows; ++i) {
#pragma unroll
    for (int j = 0; j < kMmaColumns; ++j) {
      if constexpr (kArithmetic == f16) {
        cg_mma_m16n8k16_f16(sums.v[i][j], left[i], right[j]);
      } else if constexpr (kArithmetic == bf16) {
        cg_mma_m16n8k16_bf16(sums.v[i][j], left[i], right[j]);
      } else {
        cg_mma_m16n8k8_tf32(sums.v[i][j], left[i], right[j]);
      }
    }
  }
}

// sums += factor * more
CG_DEV void add(Sums& sums, Sums& more, float factor = 1.0f) {
#pragma unroll
  for (int n = 0; n < Sums::kCount; ++n) {
    sums.flat(n) = cg_fma(factor, more.flat(n), sums.flat(n));
  }
}

constexpr int kSteps = kChunks / 2;  // mma instructions along the depth of a tile
constexpr int kStepDepth = 2 * kChunkElements;

// What cutting off takes on average from a sum over `depth` elements of a tile, as a share of it. One
// mma cuts off half a last bit, which is 2^-24 / m of a sum with the mantissa m, or 2^-25 / ln 2 by the
// law of first digits; the n-th of N cuts a sum that is n / N of the whole.
CG_DEV float cut_off(int depth) {
  const int num_steps = depth < TILE_DEPTH ? (depth - 1) / kStepDepth + 1 : kSteps;
  return 4.2995e-8f * (num_steps + 1) / 2;
}

// sums += left @ right^T over the `depth` of one tile, which begins at depth0 and has zeros beyond it.
// `small` has what tf32x3 adds up apart.
template <typename Factors>
CG_DEV void multiply_tiles(const Scalar* left_tile, const Scalar* right_tile, Factors factors,
                           int depth0, int depth, int thread, Sums& sums, Sums& small) {
  if constexpr (kArithmetic == tf32x3) {
    Sums large;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      Fragments high;
      high.load(left_tile, right_tile, thread, step);
      factors.apply(high.left, depth0 + step * kStepDepth, thread);
      const Fragments low = high.split();
      multiply(small, low.left, high.right);
      multiply(large, high.left, high.right);
      multiply(small, high.left, low.right);
    }
    add(sums, large);
    add(small, large, cut_off(depth));
  } else {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      Fragments fragments;
      fragments.load(left_tile, right_tile, thread, step);
      factors.apply(fragments.left, depth0 + step * kStepDepth, thread);
      if constexpr (kArithmetic == tf32) fragments.round_to_tf32();
      multiply(sums, fragments.left, fragments.right);
    }
  }
}

typedef Scalar LeftTiles[NUM_STAGES][TILE_ROWS * TILE_DEPTH];
typedef Scalar RightTiles[NUM_STAGES][TILE_COLUMNS * TILE_DEPTH];

// left @ right^T over a depth. Left and Right have load(tile, thread), as Rows has.
template <typename Left, typename Right, bool kScaled = false>
CG_DEV Sums multiply_all(Left left, Right right, int depth, LeftTiles& left_tiles,
                         RightTiles& right_tiles, int thread, LeftFactors<kScaled> factors = {}) {
  const int num_tiles = (depth - 1) / TILE_DEPTH + 1;
  Sums sums, small;
#pragma unroll
  for (int tile = 0; tile < NUM_STAGES - 1; ++tile) {
    if (tile < num_tiles) {
      left.load(left_tiles[tile], thread);
      right.load(right_tiles[tile], thread);
    }
    cg_cp_async_commit();
  }
  int reading = 0, writing = NUM_STAGES - 1;
  for (int tile = 0; tile < num_tiles; ++tile) {
    cg_cp_async_wait<NUM_STAGES - 2>();
    __syncthreads();  // the tile is there, and nobody reads the one that comes next any more
    if (tile + NUM_STAGES - 1 < num_tiles) {
      left.load(left_tiles[writing], thread);
      right.load(right_tiles[writing], thread);
    }
    cg_cp_async_commit();
    writing = writing + 1 == NUM_STAGES ? 0 : writing + 1;
    multiply_tiles(left_tiles[reading], right_tiles[reading], factors, tile * TILE_DEPTH,
                   depth - tile * TILE_DEPTH, thread, sums, small);
    reading = reading + 1 == NUM_STAGES ? 0 : reading + 1;
  }
  if constexpr (kArithmetic == tf32x3) add(sums, small);
  return sums;
}

// What two tf32 cannot hold: the rest of an infinity is NaN, and floats near the smallest normal one
// lose their last bits. `Operands` has left(row, k) and right(column, k), elements of the operands or
// zeros outside them, for rows and columns of the tile.
//
// Sums that are not finite, and all of a warp's where they are tiny because operands are, are done
// again by fused multiply-adds in the order of the depth.
template <typename Operands>
CG_DEV void mend(Sums& sums, const Operands& operands, int depth0, int depth_end, int thread) {
  constexpr float kHighest = 3.402823466e38f;
  constexpr float kTinySum = 8.27e-25f;      // 2^-80
  constexpr float kTinyOperand = 7.88e-31f;  // 2^-100
  float largest = 0.0f;
#pragma unroll
  for (int n = 0; n < Sums::kCount; ++n) largest = cg_max(largest, cg_abs(sums.flat(n)));
  bool all = __all_sync(0xffffffffu, largest < kTinySum);
  if (all) {
    bool found = false;
    for (int k = depth0 + thread % 32; k < depth_end; k += 32) {
      for (int i = 0; i < WARP_ROWS; ++i) {
        const float x = cg_abs(operands.left(row(thread / 32 * 32, 0, 0) + i, k));
        found = found || (x > 0.0f && x < kTinyOperand);
      }
      for (int j = 0; j < WARP_COLUMNS; ++j) {
        const float x = cg_abs(operands.right(column(thread / 32 * 32, 0, 0) + j, k));
        found = found || (x > 0.0f && x < kTinyOperand);
      }
    }
    all = __any_sync(0xffffffffu, found);
  }
  if (!all && largest <= kHighest) return;
  for (int n = 0; n < Sums::kCount; ++n) {
    const int r = row(thread, n / 4 / kMmaColumns, n % 4);
    const int c = column(thread, n / 4 % kMmaColumns, n % 4);
    float sum = 0.0f;
    for (int k = depth0; k < depth_end; ++k) {
      sum = cg_fma(operands.left(r, k), operands.right(c, k), sum);
    }
#pragma unroll
    for (int m = 0; m < Sums::kCount; ++m) {
      float& own = sums.flat(m);
      if (m == n && (all || !(cg_abs(own) <= kHighest))) own = sum;
    }
  }
}

}  // namespace mma_tile
