#pragma once
// The tile scheme of gemm_tile.cuh for 8-bit integers: shared memory holds words of four bytes that are
// neighbours in the depth.
//
// A block owns TILE_ROWS x TILE_COLUMNS outputs, each of its threads THREAD_ROWS x THREAD_COLUMNS of
// them, and walks over the depth TILE_WORDS words at a time.
#include "device.cuh"
#include "lanes.cuh"
#include "quantized_product.cuh"

namespace quantized_tile {

using quantized_product::dot4;
using quantized_product::kOnes;
using quantized_product::Left;
using quantized_product::Right;
using quantized_product::Signed;

constexpr int kThreadsAcross = TILE_COLUMNS / THREAD_COLUMNS;
constexpr int kThreads = TILE_ROWS / THREAD_ROWS * kThreadsAcross;
constexpr int kDepth = 4 * TILE_WORDS;
constexpr int kPadding = 4;

// For __launch_bounds__: with this many blocks on a multiprocessor content, ptxas spills nothing.
constexpr int kMinBlocks = 4;

// A thread's columns come in runs of neighbours, and those of neighbouring threads are neighbours too.
constexpr int kWidest = kLaneBytes / 4;
constexpr int kRun = THREAD_COLUMNS < kWidest ? THREAD_COLUMNS : kWidest;
constexpr int kRuns = THREAD_COLUMNS / kRun;
static_assert(kRun % 4 == 0, "outputs are stored by fours");

typedef Lanes<unsigned, kRun> Words;
typedef unsigned LeftWords[TILE_ROWS + kPadding];
typedef unsigned RightWords[TILE_COLUMNS + kPadding];

CG_DEV int row(int thread, int i) { return thread / kThreadsAcross * THREAD_ROWS + i; }
CG_DEV int column(int thread, int j) {
  return j / kRun * (kThreadsAcross * kRun) + thread % kThreadsAcross * kRun + j % kRun;
}

// dot4 in each lane.
CG_DEV Words dot4_lanes(const Words& a, const Words& b, const Words& sum) {
  Words result;
#if defined(__CUDACC__)
#pragma unroll
  for (int i = 0; i < kRun; ++i) result.v[i] = dot4(a.v[i], b.v[i], sum.v[i]);
#else
  typedef int Ints __attribute__((vector_size(kRun * sizeof(int))));
  result.v = sum.v;
  for (int i = 24; i >= 0; i -= 8) {
    result.v += Words::Vector((Ints(a.v << i) >> 24) * (Ints(b.v << i) >> 24));
  }
#endif
  return result;
}

struct Sums {
  Words products[THREAD_ROWS][kRuns];
  unsigned left[THREAD_ROWS];  // of the row's bytes
  Words right[kRuns];          // of the columns' bytes

  // What (l - left_zero) * (r - right_zero) sums up to.
  CG_DEV unsigned at(int i, int j, int left_zero, int right_zero, int depth) const {
    unsigned sum = products[i][j / kRun].v[j % kRun];
    if (LEFT_SUMS) sum -= unsigned(right_zero) * left[i];
    if (RIGHT_SUMS) sum -= unsigned(left_zero) * right[j / kRun].v[j % kRun];
    return sum + unsigned(depth) * unsigned(left_zero) * unsigned(right_zero);
  }
};

// A thread's share of a tile on its way from global to shared memory, as in gemm_tile.cuh.
//
// In memory the operand is [count, depth] if DEPTH_INSIDE, else [depth, count]. WIDTH is 4 if the inner
// of these is a multiple of 4, else 1.
template <class T, int EXTENT, bool DEPTH_INSIDE, int WIDTH>
struct Share {
  // Four words at once where four rows of the depth are read by words, and transposed.
  static constexpr int kUnit = !DEPTH_INSIDE && WIDTH == 4 ? 4 : 1;
  static constexpr int kAcross = DEPTH_INSIDE ? TILE_WORDS : EXTENT / kUnit;
  static constexpr int kCount = EXTENT * TILE_WORDS / kUnit / kThreads;
  static_assert(kCount * kUnit * kThreads == EXTENT * TILE_WORDS, "all threads load alike");
  unsigned v[kCount][kUnit];

  CG_DEV void fetch(const T* from, int first, int count, int depth0, int depth, int thread) {
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      const int outer = (thread + e * kThreads) / kAcross;
      const int inner = (thread + e * kThreads) % kAcross * kUnit;
      const int m = first + (DEPTH_INSIDE ? outer : inner);
      const int k = depth0 + 4 * (DEPTH_INSIDE ? inner : outer);
      if constexpr (DEPTH_INSIDE && WIDTH == 4) {
        const bool inside = m < count && k < depth;
        v[e][0] = inside ? Signed<T>::word(from + (long long)m * depth + k) : 0u;
      } else if constexpr (WIDTH == 4) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const bool inside = m < count && k + i < depth;
          v[e][i] = inside ? Signed<T>::word(from + (long long)(k + i) * count + m) : 0u;
        }
        quantized_product::transpose_bytes(v[e]);
      } else {
        v[e][0] = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (m >= count || k + i >= depth) continue;
          const long long at =
              DEPTH_INSIDE ? (long long)m * depth + k + i : (long long)(k + i) * count + m;
          v[e][0] |= Signed<T>::byte(from[at]) << 8 * i;
        }
      }
    }
  }

  CG_DEV void store(unsigned (*tile)[EXTENT + kPadding], int thread) const {
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      const int outer = (thread + e * kThreads) / kAcross;
      const int inner = (thread + e * kThreads) % kAcross * kUnit;
#pragma unroll
      for (int i = 0; i < kUnit; ++i) {
        tile[DEPTH_INSIDE ? inner : outer][DEPTH_INSIDE ? outer : inner + i] = v[e][i];
      }
    }
  }
};

// Adds the products of a tile, and the sums of its bytes where zero points need them.
CG_DEV void multiply(const LeftWords* left, const RightWords* right, int thread, Sums& sums) {
  const int row0 = row(thread, 0);
  const int column0 = column(thread, 0);
  Sums own = sums;  // in registers
#pragma unroll 4
  for (int k = 0; k < TILE_WORDS; ++k) {
    Words b[kRuns];
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      b[run] = load_lanes<kRun>(&right[k][column0 + run * (kThreadsAcross * kRun)]);
      if (RIGHT_SUMS) own.right[run] = dot4_lanes(b[run], spread_lanes<kRun>(kOnes), own.right[run]);
    }
#pragma unroll
    for (int i = 0; i < THREAD_ROWS; ++i) {
      const unsigned a = left[k][row0 + i];
      if (LEFT_SUMS) own.left[i] = dot4(a, kOnes, own.left[i]);
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        own.products[i][run] = dot4_lanes(spread_lanes<kRun>(a), b[run], own.products[i][run]);
      }
    }
  }
  sums = own;
}

}  // namespace quantized_tile
