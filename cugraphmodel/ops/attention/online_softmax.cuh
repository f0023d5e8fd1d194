#pragma once
// The masks of scores, and a softmax that sees a row piece by piece. Macros: see attention.cu.
#include "attention.cuh"
#include "tiles.cuh"

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
