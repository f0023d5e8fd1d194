#include "device.cuh"

#include "reduction.cuh"

// out = position of the largest (smallest) element along the middle dimension of
// x[outer, axis_size, inner]. NaN is larger and smaller than all, as in NumPy.
//
// arg_reduce_rows: inner is 1. arg_reduce_columns: any inner.
//
// Macros
//   SCALAR, COMPUTE              element type; type to compare in
//   EXTREME                      CgMax or CgMin
//   LAST                         1 takes the last of equal elements, 0 the first
//   ROW_THREADS, COLUMN_WIDTH, COLUMN_THREADS    see geometry.py

#define BLOCK_THREADS (ROW_THREADS == 32 ? 128 : ROW_THREADS)

struct Best {
  COMPUTE value;
  long long index = -1;

  CG_DEV void add(COMPUTE v, long long i) {
    const COMPUTE extreme = index < 0 ? v : EXTREME::combine(value, v);
    const bool better =
        LAST ? v == extreme || v != v : value == value && extreme != value;
    if (index < 0 || better) {
      value = v;
      index = i;
    }
  }

  // What to combine over the threads: of the values, and then of the indices.
  CG_DEV COMPUTE candidate() const {
    return index < 0 ? EXTREME::identity<COMPUTE>() : value;
  }
  CG_DEV long long index_if(COMPUTE extreme) const {
    const bool equal = index >= 0 && (value == extreme || value != value);
    return equal ? index : LAST ? -1 : CgLimits<long long>::highest();
  }
};

#if LAST
typedef CgMax Choice;
#else
typedef CgMin Choice;
#endif

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    arg_reduce_rows(long long* out, const SCALAR* x, long long num_rows, long long row_size) {
  const int lane = threadIdx.x % ROW_THREADS;
  const long long row =
      (long long)blockIdx.x * (BLOCK_THREADS / ROW_THREADS) + threadIdx.x / ROW_THREADS;
  const bool inside = row < num_rows;
  Best best;
  for (long long i = lane; inside && i < row_size; i += ROW_THREADS) {
    best.add(cg_cast<COMPUTE>(x[row * row_size + i]), i);
  }
  const COMPUTE extreme = row_reduce<ROW_THREADS, EXTREME>(best.candidate());
  const long long index = row_reduce<ROW_THREADS, Choice>(best.index_if(extreme));
  if (inside && lane == 0) out[row] = index;
}

extern "C" __global__ void __launch_bounds__(COLUMN_WIDTH * COLUMN_THREADS)
    arg_reduce_columns(long long* out, const SCALAR* x, long long num_columns, long long axis_size,
                       long long inner) {
  const long long column = (long long)blockIdx.x * COLUMN_WIDTH + threadIdx.x;
  const bool inside = column < num_columns;
  const long long base = column / inner * axis_size * inner + column % inner;
  Best best;
  for (long long k = threadIdx.y; inside && k < axis_size; k += COLUMN_THREADS) {
    best.add(cg_cast<COMPUTE>(x[base + k * inner]), k);
  }
  const COMPUTE extreme = column_reduce<COLUMN_THREADS, EXTREME>(best.candidate());
  const long long index = column_reduce<COLUMN_THREADS, Choice>(best.index_if(extreme));
  if (inside && threadIdx.y == 0) out[column] = index;
}
