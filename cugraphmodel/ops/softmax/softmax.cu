#include "device.cuh"

#include "reduction.cuh"

// Softmax, or its logarithm, along the middle dimension of x[outer, axis_size, inner].
//
// softmax_rows: inner is 1. A row belongs to ROW_THREADS threads: one warp (four rows a block), or
// the whole block.
// softmax_columns: each block has COLUMN_WIDTH of the outer * inner columns, each of them shared by
// COLUMN_THREADS threads.
//
// Macros
//   SCALAR, LOGARITHM            element type; 1 for LogSoftmax, else 0
//   ROW_THREADS, ITEMS           threads a row; elements a thread keeps in registers, 0 for none
//   COLUMN_WIDTH                 columns a block; 32 where COLUMN_THREADS is not 1
//   COLUMN_THREADS               threads a column, a power of two

typedef typename Acc<SCALAR>::type A;

#define BLOCK_THREADS (ROW_THREADS == 32 ? 128 : ROW_THREADS)

// x: an element less the maximum. sum: of the exponentials of these.
CG_DEV SCALAR finish(A x, A sum) {
  return cg_cast<SCALAR>(LOGARITHM ? x - cg_log(sum) : cg_exp(x) / sum);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    softmax_rows(SCALAR* out, const SCALAR* x, long long num_rows, long long row_size) {
  const int lane = threadIdx.x % ROW_THREADS;
  const long long row =
      (long long)blockIdx.x * (BLOCK_THREADS / ROW_THREADS) + threadIdx.x / ROW_THREADS;
  const bool inside = row < num_rows;
  const RowItems<SCALAR, ROW_THREADS, ITEMS> items(x + row * row_size, lane, inside ? row_size : 0);

  A highest = CgLimits<A>::lowest();
  items.each([&](long long, A v) { highest = cg_max(highest, v); });
  highest = row_max<ROW_THREADS>(highest);
  RunningSum<A> sum;
  items.each([&](long long, A v) { sum.add(cg_exp(v - highest)); });
  const A total = row_sum<ROW_THREADS>(sum.total());
  items.each([&](long long i, A v) { out[row * row_size + i] = finish(v - highest, total); });
}

extern "C" __global__ void __launch_bounds__(COLUMN_WIDTH * COLUMN_THREADS)
    softmax_columns(SCALAR* out, const SCALAR* x, long long num_columns, long long axis_size,
                    long long inner) {
  const long long column = (long long)blockIdx.x * COLUMN_WIDTH + threadIdx.x;
  const long long base = column / inner * axis_size * inner + column % inner;
  const long long end = column < num_columns ? axis_size : 0;

  A highest = CgLimits<A>::lowest();
  for (long long k = threadIdx.y; k < end; k += COLUMN_THREADS) {
    highest = cg_max(highest, cg_cast<A>(x[base + k * inner]));
  }
  highest = column_reduce<COLUMN_THREADS, CgMax>(highest);
  RunningSum<A> sum;
  for (long long k = threadIdx.y; k < end; k += COLUMN_THREADS) {
    sum.add(cg_exp(cg_cast<A>(x[base + k * inner]) - highest));
  }
  const A total = column_reduce<COLUMN_THREADS, CgSum>(sum.total());
  for (long long k = threadIdx.y; k < end; k += COLUMN_THREADS) {
    out[base + k * inner] = finish(cg_cast<A>(x[base + k * inner]) - highest, total);
  }
}
