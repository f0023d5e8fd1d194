// The different slices among the `num_slices` slices of x [outer, num_slices, inner], each compared with
// each: for a number of them that only a run knows. One thread a slice.
//
// SCALAR: element type. NaN equals NaN and is larger than any number.
#include "device.cuh"

typedef Acc<SCALAR>::type Number;

struct Slices {
  long long outer, num_slices, inner;

  CG_DEV long long place(long long slice, long long element) const {
    const long long row = element / inner;
    return (row * num_slices + slice) * inner + (element - row * inner);
  }
  // -1, 0 or 1 as slice a is less than, equal to or greater than slice b.
  CG_DEV int compare(const SCALAR* x, long long a, long long b) const {
    for (long long i = 0; i < outer * inner; ++i) {
      const Number p = cg_cast<Number>(x[place(a, i)]), q = cg_cast<Number>(x[place(b, i)]);
      if (p < q || (p == p && q != q)) return -1;
      if (q < p || (q == q && p != p)) return 1;
    }
    return 0;
  }
};

// firsts[i] = the first slice that equals slice i.
extern "C" __global__ void __launch_bounds__(256)
    find_firsts(const SCALAR* __restrict__ x, int* __restrict__ firsts, Slices slices) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= slices.num_slices) return;
  long long first = 0;
  while (first < i && slices.compare(x, first, i) != 0) ++first;
  firsts[i] = int(first);
}

// ranks[i] = how many different slices come before slice i in the result, where i is a first one: those
// that are less, or (not `sorted`) those that stand before it.
extern "C" __global__ void __launch_bounds__(256)
    rank_firsts(const SCALAR* __restrict__ x, const int* __restrict__ firsts,
                int* __restrict__ ranks, Slices slices, int sorted) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= slices.num_slices) return;
  int rank = 0;
  if (firsts[i] == i) {
    for (long long k = 0; k < slices.num_slices; ++k) {
      if (firsts[k] == k) rank += sorted ? slices.compare(x, k, i) < 0 : k < i;
    }
  }
  ranks[i] = rank;
}

// y [outer, num_slices, inner]: the different slices, then 0. `places` of their first occurrences, then
// -1. `inverse`: the place in y of each slice of x. `counts`: how often each occurs, then 0. `count`: how
// many there are. Any but `count` may be left out.
extern "C" __global__ void __launch_bounds__(256)
    write_unique(const SCALAR* __restrict__ x, const int* __restrict__ firsts,
                 const int* __restrict__ ranks, SCALAR* __restrict__ y,
                 long long* __restrict__ places, long long* __restrict__ inverse,
                 long long* __restrict__ counts, long long* __restrict__ count, Slices slices) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= slices.num_slices) return;
  long long equal = 0, all = 0;
  for (long long k = 0; k < slices.num_slices; ++k) {
    equal += firsts[k] == i;
    all += firsts[k] == k;
  }
  if (inverse) inverse[i] = ranks[firsts[i]];
  if (i == 0) *count = all;
  const bool is_first = firsts[i] == i;
  if (is_first) {
    const int rank = ranks[i];
    if (places) places[rank] = i;
    if (counts) counts[rank] = equal;
    for (long long e = 0; y && e < slices.outer * slices.inner; ++e) {
      y[slices.place(rank, e)] = x[slices.place(i, e)];
    }
  }
  if (i >= all) {
    if (places) places[i] = -1;
    if (counts) counts[i] = 0;
    for (long long e = 0; y && e < slices.outer * slices.inner; ++e) {
      y[slices.place(i, e)] = cg_cast<SCALAR>(0.0f);
    }
  }
}
