// Reductions whose rounding error stays near that of one rounding: compensated sums per thread,
// then a tree over the threads.
#pragma once

#include "device.cuh"

// A sum of many terms, one after another. For floats the rounding error of each addition is kept
// and added at the end (Knuth's two-sum; see Ogita, Rump and Oishi, "Accurate Sum and Dot Product",
// SIAM J. Sci. Comput. 26, 2005, section 4). Integers wrap.
template <class T>
struct RunningSum {
  T sum = T(0);
  T error = T(0);

  CG_DEV void add(T x) {
    if constexpr (CgLimits<T>::is_float) {
      const T total = sum + x;
      const T taken = total - sum;
      error += (sum - (total - taken)) + (x - taken);
      sum = total;
    } else {
      sum = T((unsigned long long)(sum) + (unsigned long long)(x));
    }
  }

  // Where the sum is infinite or NaN the error is NaN and says nothing.
  CG_DEV T total() const { return error == error ? sum + error : sum; }
};

struct CgProduct {
  template <class T>
  static CG_DEV T identity() {
    return T(1);
  }
  template <class T>
  static CG_DEV T combine(T a, T b) {
    if constexpr (CgLimits<T>::is_float) {
      return a * b;
    } else {
      return T((unsigned long long)(a) * (unsigned long long)(b));
    }
  }
};

// Over the kThreads threads that share a row: one warp, or the whole block. All of them get the
// result, and all threads of the block must call it.
template <int kThreads, class Op, class T>
CG_DEV T row_reduce(T x) {
  if constexpr (kThreads == 32) {
    return cg_warp_reduce<Op>(x);
  } else {
    return cg_block_reduce<Op>(x);
  }
}
template <int kThreads, class T>
CG_DEV T row_sum(T x) {
  return row_reduce<kThreads, CgSum>(x);
}
template <int kThreads, class T>
CG_DEV T row_max(T x) {
  return row_reduce<kThreads, CgMax>(x);
}

// Over the kRows threads of a block of (32, kRows) that share a column, which is threadIdx.x. All
// of them get the result, and all threads of the block must call it.
template <int kRows, class Op, class T>
CG_DEV T column_reduce(T x) {
  if constexpr (kRows == 1) {
    return x;
  } else {
    __shared__ T partial[kRows][32];
    __syncthreads();  // the threads of an earlier call have read `partial`
    partial[threadIdx.y][threadIdx.x] = x;
    __syncthreads();
    for (int half_rows = kRows / 2; half_rows > 0; half_rows /= 2) {
      if (threadIdx.y < half_rows) {
        T& mine = partial[threadIdx.y][threadIdx.x];
        mine = Op::combine(mine, partial[threadIdx.y + half_rows][threadIdx.x]);
      }
      __syncthreads();
    }
    return partial[0][threadIdx.x];
  }
}

// The elements of a row that one thread of kThreads holds: element k is number lane + k * kThreads.
// With kItems > 0 the row has at most kItems * kThreads elements, and they stay in registers; with
// kItems = 0 it has any number, and they are read again at each use.
template <class T, int kThreads, int kItems>
struct RowItems {
  typedef typename Acc<T>::type A;
  const T* row;
  int lane;
  long long size;
  A held[kItems > 0 ? kItems : 1];

  CG_DEV RowItems(const T* row, int lane, long long size) : row(row), lane(lane), size(size) {
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      held[k] = index(k) < size ? cg_cast<A>(row[index(k)]) : A(0);
    }
  }

  CG_DEV long long index(long long k) const { return lane + k * kThreads; }

  // Calls use(index, element) for each element, in order.
  template <class Use>
  CG_DEV void each(Use use) const {
    if constexpr (kItems > 0) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) {
        if (index(k) < size) use(index(k), held[k]);
      }
    } else {
      for (long long i = lane; i < size; i += kThreads) use(i, cg_cast<A>(row[i]));
    }
  }
};
