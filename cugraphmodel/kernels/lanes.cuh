#pragma once
// Neighbouring values that are loaded and computed together: registers of one thread on a GPU, one vector
// register on a CPU. Written out because no C++ compiler finds them by itself in a register tile.
#include "device.cuh"

// Bytes of the widest load from shared memory (GPU) or of a vector register (CPU).
#if defined(__CUDACC__) || defined(CUHOST_CHECK)
constexpr int kLaneBytes = 16;
#else
constexpr int kLaneBytes = 32;
#endif

template <class T, int N>
struct Lanes {
#if defined(__CUDACC__)
  T v[N];
#else
  typedef T Vector __attribute__((vector_size(N * sizeof(T))));
  Vector v;
#endif
};

// N neighbours; p must be aligned for all of them.
template <int N, class T>
CG_DEV Lanes<T, N> load_lanes(const T* p) {
  Lanes<T, N> result;
#if defined(__CUDACC__)
  struct alignas(N * sizeof(T)) Aligned {
    T v[N];
  };
  const Aligned aligned = *reinterpret_cast<const Aligned*>(p);
#pragma unroll
  for (int i = 0; i < N; ++i) result.v[i] = aligned.v[i];
#elif defined(CUHOST_CHECK)
  cuhost_expect_aligned(p, N * sizeof(T));
  for (int i = 0; i < N; ++i) result.v[i] = p[i];
#else
  __builtin_memcpy(&result.v, p, N * sizeof(T));
#endif
  return result;
}

#if !defined(__CUDACC__)
template <class T, class Vector>
CUHOST_INLINE Vector vector_fma(Vector a, Vector b, Vector c) {
#if defined(__FMA__) && defined(__clang__)
  if constexpr (CgLimits<T>::is_float) return __builtin_elementwise_fma(a, b, c);
#elif defined(__FMA__)
  constexpr bool is_float = CgSame<T, float>::value, is_double = CgSame<T, double>::value;
  if constexpr (is_float && sizeof a == 16) return __builtin_ia32_vfmaddps(a, b, c);
  if constexpr (is_float && sizeof a == 32) return __builtin_ia32_vfmaddps256(a, b, c);
  if constexpr (is_double && sizeof a == 16) return __builtin_ia32_vfmaddpd(a, b, c);
  if constexpr (is_double && sizeof a == 32) return __builtin_ia32_vfmaddpd256(a, b, c);
#endif
  return a * b + c;
}
#endif

// a * b + c in each lane, rounded as the scalar cg_fma rounds.
template <int N, class T>
CG_DEV Lanes<T, N> fma_lanes(const Lanes<T, N>& a, const Lanes<T, N>& b, const Lanes<T, N>& c) {
  Lanes<T, N> result;
#if defined(__CUDACC__)
#pragma unroll
  for (int i = 0; i < N; ++i) result.v[i] = cg_fma(a.v[i], b.v[i], c.v[i]);
#else
  result.v = vector_fma<T>(a.v, b.v, c.v);
#endif
  return result;
}

// `value` in each lane.
template <int N, class T>
CG_DEV Lanes<T, N> spread_lanes(T value) {
  Lanes<T, N> result;
#if defined(__CUDACC__)
#pragma unroll
  for (int i = 0; i < N; ++i) result.v[i] = value;
#else
  result.v = value - typename Lanes<T, N>::Vector{};
#endif
  return result;
}
