#include "device.cuh"

#include "reduction.cuh"

// out[s, o] = FINISH over COMBINE of MAP of the elements of x that belong to output o and to part s of
// the reduction.
//
// The dimensions of x are those kept, which give an output's offset, and those reduced, which add an
// element's. blockIdx.y is the part: `chunk` neighbouring positions of the reduced_size.
//
// reduce_rows: the innermost dimension is reduced. ROW_THREADS threads share an output.
// reduce_columns: the innermost dimension is kept. Neighbouring threads have neighbouring outputs, and
// COLUMN_THREADS threads share one.
//
// Macros
//   SCALAR, OUT_TYPE, COMPUTE    element types of x and out; type of the arithmetic
//   MAP                          of x, an element as COMPUTE
//   COMBINE                      Sum, Largest, Smallest, Product or LogSumExp
//   FINISH                       of total and count, the number of elements of an output
//   KEPT_RANK, REDUCED_RANK      dimensions after merging
//   INDEX                        integer type of offsets
//   ROW_THREADS, COLUMN_WIDTH, COLUMN_THREADS    see reduction.cuh

#define BLOCK_THREADS (ROW_THREADS == 32 ? 128 : ROW_THREADS)

// ---- How threads share an output

struct AcrossRow {
  template <class Op>
  static CG_DEV COMPUTE reduce(COMPUTE x) {
    return row_reduce<ROW_THREADS, Op>(x);
  }
};
struct AcrossColumn {
  template <class Op>
  static CG_DEV COMPUTE reduce(COMPUTE x) {
    return column_reduce<COLUMN_THREADS, Op>(x);
  }
};

// ---- What a thread keeps of the elements it has seen: the values of COMBINE

struct Sum {
  RunningSum<COMPUTE> sum;

  CG_DEV void add(COMPUTE x) { sum.add(x); }
  template <class Across>
  CG_DEV COMPUTE total() const {
    return Across::template reduce<CgSum>(sum.total());
  }
};

template <class Op>
struct Only {
  COMPUTE value;

  CG_DEV void add(COMPUTE x) { value = Op::combine(value, x); }
  template <class Across>
  CG_DEV COMPUTE total() const {
    return Across::template reduce<Op>(value);
  }
};
typedef Acc<SCALAR>::type Element;
struct Largest : Only<CgMax> {
  CG_DEV Largest() { value = COMPUTE(CgLimits<Element>::lowest()); }
};
struct Smallest : Only<CgMin> {
  CG_DEV Smallest() { value = COMPUTE(CgLimits<Element>::highest()); }
};
struct Product : Only<CgProduct> {
  CG_DEV Product() { value = COMPUTE(1); }
};

// The sum is scaled by exp(-highest); equal infinities differ by nothing.
struct LogSumExp {
  COMPUTE highest = -CG_INF;
  RunningSum<COMPUTE> sum;

  static CG_DEV COMPUTE ratio(COMPUTE x, COMPUTE y) {
    return x == y ? COMPUTE(1) : COMPUTE(cg_exp(x - y));
  }
  CG_DEV void rescale(COMPUTE to) {
    const COMPUTE factor = ratio(highest, to);
    sum.sum *= factor;
    sum.error *= factor;
    highest = to;
  }
  CG_DEV void add(COMPUTE x) {
    if (x > highest) rescale(x);
    sum.add(ratio(x, highest));
  }
  template <class Across>
  CG_DEV COMPUTE total() {
    rescale(Across::template reduce<CgMax>(highest));
    return highest + cg_log(Across::template reduce<CgSum>(sum.total()));
  }
};

// ---- Kernels

template <int kRank>
CG_DEV INDEX offset_of(INDEX position, const Dims& shape, const Dims& strides) {
  INDEX offset = 0;
#pragma unroll
  for (int d = kRank - 1; d > 0; --d) {
    const INDEX quotient = position / INDEX(shape.v[d]);
    offset += (position - quotient * INDEX(shape.v[d])) * INDEX(strides.v[d]);
    position = quotient;
  }
  return kRank == 0 ? 0 : offset + position * INDEX(strides.v[0]);
}

template <class Across>
CG_DEV void reduce(OUT_TYPE* out, const SCALAR* x, long long output, long long num_outputs,
                   long long reduced_size, long long chunk, long long num_elements, int lane,
                   int num_lanes, const Dims& kept_shape, const Dims& kept_strides,
                   const Dims& reduced_shape, const Dims& reduced_strides) {
  const bool inside = output < num_outputs;
  const long long first = blockIdx.y * chunk;
  const long long last = inside ? cg_min(first + chunk, reduced_size) : first;
  const SCALAR* base = x + (inside ? offset_of<KEPT_RANK>(INDEX(output), kept_shape, kept_strides) : 0);
  COMBINE seen;
  for (long long r = first + lane; r < last; r += num_lanes) {
    const COMPUTE x =
        cg_cast<COMPUTE>(base[offset_of<REDUCED_RANK>(INDEX(r), reduced_shape, reduced_strides)]);
    seen.add(MAP);
  }
  const COMPUTE total = seen.template total<Across>();
  [[maybe_unused]] const COMPUTE count = COMPUTE(num_elements);
  if (inside && lane == 0) out[blockIdx.y * num_outputs + output] = cg_cast<OUT_TYPE>(FINISH);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
    reduce_rows(OUT_TYPE* out, const SCALAR* x, long long num_outputs, long long reduced_size,
                long long chunk, long long num_elements, Dims kept_shape, Dims kept_strides,
                Dims reduced_shape, Dims reduced_strides) {
  const long long output =
      (long long)blockIdx.x * (BLOCK_THREADS / ROW_THREADS) + threadIdx.x / ROW_THREADS;
  reduce<AcrossRow>(out, x, output, num_outputs, reduced_size, chunk, num_elements,
                    threadIdx.x % ROW_THREADS, ROW_THREADS, kept_shape, kept_strides, reduced_shape,
                    reduced_strides);
}

extern "C" __global__ void __launch_bounds__(COLUMN_WIDTH * COLUMN_THREADS)
    reduce_columns(OUT_TYPE* out, const SCALAR* x, long long num_outputs, long long reduced_size,
                   long long chunk, long long num_elements, Dims kept_shape, Dims kept_strides,
                   Dims reduced_shape, Dims reduced_strides) {
  const long long output = (long long)blockIdx.x * COLUMN_WIDTH + threadIdx.x;
  reduce<AcrossColumn>(out, x, output, num_outputs, reduced_size, chunk, num_elements, threadIdx.y,
                       COLUMN_THREADS, kept_shape, kept_strides, reduced_shape, reduced_strides);
}
