#include "device.cuh"
#include "lanes.cuh"
#include "attention.cuh"

// y = softmax(masked(q @ k^T)) @ v without the matrix of scores in memory: a block owns some rows of
// queries of one head, walks over the keys a tile at a time, and keeps for each row the largest score,
// the sum of exponentials and the sum of values so far (Milakov and Gimelshein, "Online normalizer
// calculation for softmax", arXiv 1805.02867; Dao et al., "FlashAttention", arXiv 2205.14135).
//
//   q [lead, num_rows, depth]   k [lead, num_keys, depth]   v [lead, num_keys, width]
//   y [lead, num_rows, width]   keep, bias, bias_2 [lead, num_rows, num_keys]
//
// lead stands for up to four axes. Each tensor has a Dims of strides in elements, zero where it is
// broadcast: the four axes of lead, rows, columns, and an offset. The columns of q, k, v and y are
// neighbours. factors: {scale, cap, fill}.
//
// A score is s = scale * (q . k), then if asked for, in this order:
//   CAPPED   s = cap * tanh(s)
//   KEEP     s = fill, where keep is not: 1 true, 2 false
//   BIASES   s += bias, if 2 then also s += bias_2
//   CAUSAL   s += -Inf, for keys after row + causal_offset
// Other macros
//   SCALAR, EMPTY                see attention.cuh
//   THREAD_ROWS, THREAD_KEYS     scores of a thread
//   THREAD_VALUES, VALUE_TILES   columns of v a thread holds in each tile of v; tiles
//   VECTOR                       elements that one load may take from q, k and v: 4 or 1
//   SPLIT                        1 if blockIdx.y counts parts of keys_per_part keys; then each block
//                                leaves its sums in `parts`, for join_parts
//
// Every score, sum and maximum is computed in an order that depends on no tile of rows.

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

struct Place {
  const Scalar* data;
  long long stride;  // of rows
};

// ---- Loading

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
    const Scalar* at = from.data + row * from.stride + column;
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

// ---- Softmax

// Over the threads that share a row.
template <class Op, class T>
CG_DEV T across(T x) {
#pragma unroll
  for (int offset = kAcross / 2; offset > 0; offset /= 2) {
    x = Op::combine(x, __shfl_xor_sync(0xffffffffu, x, offset));
  }
  return x;
}

struct Masks {
  const bool* keep;
  const Scalar* bias;
  const Scalar* bias_2;
  long long keep_row, keep_column, bias_row, bias_column, bias_2_row, bias_2_column;
  int causal_offset;

  // Whether a bias of this thread's scores could make one NaN or +Inf.
  CG_DEV int wild_biases(int row0, int num_rows, int key0, int num_keys) const {
    int wild = 0;
#if BIASES
    for (int row = row0; row < row0 + THREAD_ROWS && row < num_rows; ++row) {
      for (int j = 0; j < THREAD_KEYS; ++j) {
        const int key = key0 + Scores::column(j);
        if (key >= num_keys) continue;
        wild |= !(A(bias[row * bias_row + key * bias_column]) < kModest);
#if BIASES == 2
        wild |= !(A(bias_2[row * bias_2_row + key * bias_2_column]) < kModest);
#endif
      }
    }
#endif
    return wild;
  }
};

// What is known about a row so far.
struct Row {
  A highest;
  A sum;   // of this thread's exponentials, less `highest`
  int open;  // whether bias or causality let a key of this thread through
  int wild;  // whether a score that counts as -Inf was none that softmax takes

  // A score behind the masks.
  CG_DEV A masked(A s, int row, int key, const Masks& masks, A cap, A fill) {
#if CAPPED
    s = cap * cg_tanh(s);
#endif
#if KEEP
    const bool kept = masks.keep[row * masks.keep_row + key * masks.keep_column];
    if (kept != (KEEP == 1)) s = fill;
#endif
    A added = A(0);
#if BIASES
    added = A(masks.bias[row * masks.bias_row + key * masks.bias_column]);
#endif
    if (CAUSAL && key > row + masks.causal_offset) added += CgLimits<A>::lowest();
    if (EMPTY == 1 && added == CgLimits<A>::lowest()) {
      wild |= !(s < CgLimits<A>::highest());
      return added;
    }
    open = 1;
    if (BIASES || CAUSAL) s += added;
#if BIASES == 2
    s += A(masks.bias_2[row * masks.bias_2_row + key * masks.bias_2_column]);
#endif
    if (EMPTY == 2 && !(s < CgLimits<A>::highest())) {
      wild = 1;
      return CgLimits<A>::lowest();
    }
    return s;
  }

  // Moves on to a new maximum; what was summed up so far is to be multiplied by the result.
  CG_DEV A raise(A candidate) {
    const A before = highest;
    highest = cg_max(before, candidate);
    const A factor = cg_exp(before - base_of(highest));
    sum *= factor;
    return factor;
  }
};

extern "C" __global__ void __launch_bounds__(kThreads, kMinBlocks)
    attention(const Scalar* __restrict__ q, const Scalar* __restrict__ k,
              const Scalar* __restrict__ v, const A* __restrict__ factors,
              const bool* __restrict__ keep, const Scalar* __restrict__ bias,
              const Scalar* __restrict__ bias_2,
              Scalar* __restrict__ y, A* __restrict__ parts, int num_rows, int num_keys, int depth,
              int width, int causal_offset, int keys_per_part, Dims lead_shape, Dims q_strides, Dims k_strides, Dims v_strides,
              Dims keep_strides, Dims bias_strides, Dims bias_2_strides, Dims y_strides) {
  const int row_tiles = (num_rows - 1) / kTileRows + 1;
  const int row0 = blockIdx.x % row_tiles * kTileRows;
  const int lead = blockIdx.x / row_tiles;
  const int my_row0 = row0 + threadIdx.x / kAcross * THREAD_ROWS;
  const int padded_depth = (depth + kStep - 1) / kStep * kStep;
  const int q_stride = padded_depth + kStep;

  CG_DYN_SHARED(A, shared);
  A* const q_tile = shared;                            // [kTileRows][q_stride]
  A* const key_tile = q_tile + kTileRows * q_stride;   // [kTileDepth][kKeyStride]
  A* const value_tile = key_tile;                      // [kTileKeys][kTileValues]
  A* const p_tile = key_tile + kSharedTile;            // [kTileRows][kKeyStride]

  const Scalar* const keys = of_lead(k, lead, lead_shape, k_strides);
  const Scalar* const values = of_lead(v, lead, lead_shape, v_strides);
  const Masks masks = {of_lead(keep, lead, lead_shape, keep_strides),
                       of_lead(bias, lead, lead_shape, bias_strides),
                       of_lead(bias_2, lead, lead_shape, bias_2_strides),
                       keep_strides.v[4], keep_strides.v[5], bias_strides.v[4], bias_strides.v[5],
                       bias_2_strides.v[4], bias_2_strides.v[5], causal_offset};
  const A scale = factors[0], cap = factors[1], fill = factors[2];

  int wild_queries = 0;
  const Place queries = {of_lead(q, lead, lead_shape, q_strides) + row0 * q_strides.v[4],
                         q_strides.v[4]};
  each_element<false>(queries, kTileRows, padded_depth, num_rows - row0, depth,
                      [&](int row, int column, A x) {
                        q_tile[row * q_stride + column] = x;
                        wild_queries |= !(cg_abs(x) < kModest);
                      });
#if CAUSAL
  const bool may_skip = cg_block_max(wild_queries) == 0 && cg_abs(scale) < A(65536);
  const int last_row = (row0 + kTileRows < num_rows ? row0 + kTileRows : num_rows) - 1;
#endif

  Row rows[THREAD_ROWS];
  Values sums[VALUE_TILES] = {};
#pragma unroll
  for (int i = 0; i < THREAD_ROWS; ++i) rows[i] = {CgLimits<A>::lowest(), A(0), 0, 0};

#if SPLIT
  const int first_key = blockIdx.y * keys_per_part;
  const int end = num_keys - first_key < keys_per_part ? num_keys : first_key + keys_per_part;
#else
  const int first_key = 0, end = num_keys;
#endif
  for (int key0 = first_key; key0 < end; key0 += kTileKeys) {
    const Place next_keys = {keys + key0 * k_strides.v[4], k_strides.v[4]};
    const Place next_values = {values + key0 * v_strides.v[4], v_strides.v[4]};
#if CAUSAL
    // All of these scores are -Inf, and 0 times a finite value adds nothing.
    if (may_skip && key0 > last_row + causal_offset &&
        is_modest(next_keys, next_values, num_keys - key0, depth, width,
                  masks.wild_biases(my_row0, num_rows, key0, num_keys))) {
      continue;
    }
#endif
    Scores scores = {};
    for (int depth0 = 0; depth0 < depth; depth0 += kTileDepth) {
      const int left = padded_depth - depth0;
      const int tile_depth = left < kTileDepth ? left : kTileDepth;
      __syncthreads();
      each_element<true>({next_keys.data + depth0, next_keys.stride}, kTileKeys, tile_depth,
                         num_keys - key0, depth - depth0, [&](int row, int column, A x) {
                           key_tile[column * kKeyStride + row] = x;
                         });
      __syncthreads();
      scores.add_product(q_tile + depth0, q_stride, key_tile, kKeyStride, tile_depth);
    }

    UNROLL_ON_GPU
    for (int i = 0; i < THREAD_ROWS; ++i) {
      const int row = my_row0 + i;
      A highest = CgLimits<A>::lowest();
#pragma unroll
      for (int j = 0; j < THREAD_KEYS; ++j) {
        const int key = key0 + Scores::column(j);
        const bool inside = row < num_rows && key < num_keys;
        const A score = inside ? rows[i].masked(scale * scores.at(i, j), row, key, masks, cap, fill)
                               : CgLimits<A>::lowest();
        scores.set(i, j, score);
        highest = cg_max(highest, score);
      }
      const A factor = rows[i].raise(across<CgMax>(highest));
      A* const p_row = p_tile + (my_row0 - row0 + i) * kKeyStride;
#pragma unroll
      for (int j = 0; j < THREAD_KEYS; ++j) {
        const A p = cg_exp(scores.at(i, j) - base_of(rows[i].highest));
        rows[i].sum += p;
        p_row[Scores::column(j)] = p;
      }
#pragma unroll
      for (int tile = 0; tile < VALUE_TILES; ++tile) {
#pragma unroll
        for (int j = 0; j < THREAD_VALUES; ++j) sums[tile].set(i, j, sums[tile].at(i, j) * factor);
      }
    }

#pragma unroll
    for (int tile = 0; tile < VALUE_TILES; ++tile) {
      const int column0 = tile * kTileValues;
      __syncthreads();
      each_element<false>({next_values.data + column0, next_values.stride}, kTileKeys, kTileValues,
                          num_keys - key0, width - column0, [&](int row, int column, A x) {
                            value_tile[row * kTileValues + column] = x;
                          });
      __syncthreads();
      sums[tile].add_product(p_tile, kKeyStride, value_tile, kTileValues, kTileKeys);
    }
  }

  Scalar* const out = of_lead(y, lead, lead_shape, y_strides);
  const Parts all = {parts, int(gridDim.x / row_tiles) * num_rows, width};
  UNROLL_ON_GPU
  for (int i = 0; i < THREAD_ROWS; ++i) {
    const int row = my_row0 + i;
    const A total = across<CgSum>(rows[i].sum);
    const bool open = across<CgMax>(rows[i].open), wild = across<CgMax>(rows[i].wild);
    if (row >= num_rows) continue;
    const int line = lead * num_rows + row;
    if (SPLIT && threadIdx.x % kAcross == 0) {
      *all.about(blockIdx.y, line) = {rows[i].highest, total, A(open), A(wild)};
    }
#pragma unroll
    for (int tile = 0; tile < VALUE_TILES; ++tile) {
#pragma unroll
      for (int j = 0; j < THREAD_VALUES; ++j) {
        const int column = tile * kTileValues + Values::column(j);
        const A sum = sums[tile].at(i, j);
        if (column >= width) continue;
        if (SPLIT) {
          all.sums(blockIdx.y, line)[column] = sum;
        } else {
          out[row * y_strides.v[4] + column] = Scalar(finished(sum, total, open, wild));
        }
      }
    }
  }
}
