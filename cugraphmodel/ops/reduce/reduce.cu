#include "device.cuh"

#include "reduction.cuh"

// out[s, o] = FINISH over COMBINE of MAP of the elements of x that belong to output o and to part s
// of the reduction.
//
// The dimensions of x are those kept, which give an output's offset, and those reduced, which add
// an element's. blockIdx.y is the part: `chunk` neighbouring positions of the reduced_size.
//
// reduce_rows: the innermost dimension is reduced. ROW_THREADS threads share an output.
// reduce_columns: the innermost dimension is kept. Neighbouring threads have neighbouring outputs,
// and COLUMN_THREADS threads share one.
//
// Macros
//   SCALAR, OUT_TYPE, COMPUTE    element types of x and out; type of the arithmetic
//   MAP                          of x, an element as COMPUTE
//   COMBINE                      Sum, Largest, Smallest, Product or LogSumExp
//   FINISH                       of total and count, the number of elements of an output
//   KEPT_RANK, REDUCED_RANK      dimensions after merging
//   INDEX                        integer type of offsets
//   ROW_THREADS, COLUMN_WIDTH, COLUMN_THREADS    see geometry.py

#define BLOCK_THREADS (ROW_THREADS == 32 ? 128 : ROW_THREADS)

// ---- How threads share an output

struct AcrossRow {
  template <class Op, class T>
  static CG_DEV T reduce(T x) {
    return row_reduce<ROW_THREADS, Op>(x);
  }
};
struct AcrossColumn {
  template <class Op, class T>
  static CG_DEV T reduce(T x) {
    return column_reduce<COLUMN_THREADS, Op>(x);
  }
};

// ---- What a thread keeps of the elements it has seen: the values of COMBINE

template <class T>
struct Sum {
  RunningSum<T> sum;

  CG_DEV void add(T x) { sum.add(x); }
  template <class Across>
  CG_DEV T total() const {
    return Across::template reduce<CgSum>(sum.total());
  }
};

template <class T, class Op>
struct Only {
  T value;

  explicit CG_DEV Only(T value) : value(value) {}
  CG_DEV void add(T x) { value = Op::combine(value, x); }
  template <class Across>
  CG_DEV T total() const {
    return Across::template reduce<Op>(value);
  }
};
typedef CgLimits<Acc<SCALAR>::type> ElementLimits;
template <class T>
struct Largest : Only<T, CgMax> {
  CG_DEV Largest() : Only<T, CgMax>(T(ElementLimits::lowest())) {}
};
template <class T>
struct Smallest : Only<T, CgMin> {
  CG_DEV Smallest() : Only<T, CgMin>(T(ElementLimits::highest())) {}
};
template <class T>
struct Product : Only<T, CgProduct> {
  CG_DEV Product() : Only<T, CgProduct>(T(1)) {}
};

// The sum is scaled by exp(-highest); equal infinities differ by nothing.
template <class T>
struct LogSumExp {
  T highest = -CG_INF;
  RunningSum<T> sum;

  static CG_DEV T ratio(T x, T y) { return x == y ? T(1) : cg_exp(x - y); }
  CG_DEV void rescale(T to) {
    const T factor = ratio(highest, to);
    sum.sum *= factor;
    sum.error *= factor;
    highest = to;
  }
  CG_DEV void add(T x) {
    if (x > highest) rescale(x);
    sum.add(ratio(x, highest));
  }
  template <class Across>
  CG_DEV T total() {
    rescale(Across::template reduce<CgMax>(highest));
    return highest + cg_log(Across::template reduce<CgSum>(sum.total()));
  }
};

// ---- Kernels

typedef INDEX Index;

template <int kRank>
CG_DEV Index offset_of(Index position, const Dims& shape, const Dims& strides) {
  Index offset = 0;
#pragma unroll
  for (int d = kRank - 1; d > 0; --d) {
    const Index quotient = position / Index(shape.v[d]);
    offset += (position - quotient * Index(shape.v[d])) * Index(strides.v[d]);
    position = quotient;
  }
  return kRank == 0 ? 0 : offset + position * Index(strides.v[0]);
}

template <class Across>
CG_DEV void reduce(OUT_TYPE* out, const SCALAR* x, long long output, long long num_outputs,
                   long long reduced_size, long long chunk, long long num_elements, int lane,
                   int num_lanes, const Dims& kept_shape, const Dims& kept_strides,
                   const Dims& reduced_shape, const Dims& reduced_strides) {
  const bool inside = output < num_outputs;
  const long long first = blockIdx.y * chunk;
  const long long last = inside ? cg_min(first + chunk, reduced_size) : first;
  const SCALAR* base =
      inside ? x + offset_of<KEPT_RANK>(Index(output), kept_shape, kept_strides) : x;
  COMBINE<COMPUTE> seen;
  for (long long r = first + lane; r < last; r += num_lanes) {
    const COMPUTE x =
        cg_cast<COMPUTE>(base[offset_of<REDUCED_RANK>(Index(r), reduced_shape, reduced_strides)]);
    seen.add(MAP);
  }
  const COMPUTE total = seen.template total<Across>();
  [[maybe_unused]] const COMPUTE count = cg_cast<COMPUTE>(num_elements);
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
