#pragma once
#include "device.cuh"

// N neighbouring elements of type T, 1 or 4, in the type to compute in. Pointers to four must be
// aligned for them.
template <class T, int N>
struct AccPack {
  typedef typename Acc<T>::type Accumulator;
  Accumulator v[N];

  CG_DEV explicit AccPack(Accumulator value) {
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = value;
  }
  CG_DEV explicit AccPack(const T* from) {
    if constexpr (N == 4) {
      const Pack4<T> pack = cg_load4(from);
#pragma unroll
      for (int i = 0; i < N; ++i) v[i] = Accumulator(pack.v[i]);
    } else {
      v[0] = Accumulator(*from);
    }
  }
  CG_DEV void store(T* to) const {
    if constexpr (N == 4) {
      Pack4<T> pack;
#pragma unroll
      for (int i = 0; i < N; ++i) pack.v[i] = T(v[i]);
      cg_store4(to, pack);
    } else {
      *to = T(v[0]);
    }
  }
  CG_DEV void add(const AccPack& other) {
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] += other.v[i];
  }
};
