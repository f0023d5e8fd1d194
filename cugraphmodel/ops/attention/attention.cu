#include "device.cuh"
#include "online_softmax.cuh"
#include "tiles.cuh"

// y = softmax(masked(q @ k^T)) @ v without the matrix of scores in memory: a block owns some rows of
// queries of one head, walks over the keys a tile at a time, and keeps for each row the largest score,
// the sum of exponentials and the sum of values so far (Milakov and Gimelshein, "Online normalizer
// calculation for softmax", arXiv 1805.02867; Dao et al., "FlashAttention", arXiv 2205.14135).
//
//   q [lead, num_rows, depth]   k [lead, num_keys, depth]   v [lead, num_keys, width]
//   y [lead, num_rows, width]   keep, bias, bias_2 [lead, num_rows, num_keys]
//
// lead stands for up to four axes. Each tensor has a Dims of strides in elements, zero where it is
// broadcast: the four axes of lead, rows, columns, and an offset. factors: {scale, cap, fill}.
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
//   Q_DOWN, V_DOWN               whether rows of q and v are neighbours in memory, not columns
//   SPLIT                        1 if blockIdx.y counts parts of keys_per_part keys; then each block
//                                leaves its sums in `parts`, for join_parts
//
// Every score, sum and maximum is computed in an order that depends on no tile of rows.

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

  const Place queries = place_of(q, lead, lead_shape, q_strides);
  const Place keys = place_of(k, lead, lead_shape, k_strides);
  const Place values = place_of(v, lead, lead_shape, v_strides);
  const Masks masks = {of_lead(keep, lead, lead_shape, keep_strides),
                       of_lead(bias, lead, lead_shape, bias_strides),
                       of_lead(bias_2, lead, lead_shape, bias_2_strides),
                       keep_strides.v[4], keep_strides.v[5], bias_strides.v[4], bias_strides.v[5],
                       bias_2_strides.v[4], bias_2_strides.v[5], causal_offset};
  const A scale = factors[0], cap = factors[1], fill = factors[2];

  int wild_queries = 0;
  each_element<Q_DOWN>(queries.from(row0, 0), kTileRows, padded_depth, num_rows - row0, depth,
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
    const Place next_keys = keys.from(key0, 0), next_values = values.from(key0, 0);
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
      each_element<true>(next_keys.from(0, depth0), kTileKeys, tile_depth,
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
      each_element<V_DOWN>(next_values.from(0, column0), kTileKeys, kTileValues,
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
          out[row * y_strides.v[4] + column * y_strides.v[5]] = Scalar(finished(sum, total, open, wild));
        }
      }
    }
  }
}
