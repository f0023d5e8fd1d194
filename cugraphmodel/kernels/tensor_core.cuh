// Warp-wide matrix instructions (PTX mma.sync and ldmatrix) and tf32, from sm_80 on.
//
// All 32 lanes of a warp call them together. A matrix lies in the registers of a warp as the PTX ISA
// draws it ("Matrix Fragments for mma.m16n8k8", "... k16", "... k32"). With g = lane / 4, t = lane % 4,
// and E elements in a word (the first in its low bits; 1 of tf32, 2 of half or bfloat16, 4 of a byte),
// the depth is 8 E and element e of a lane's word r is
//   of a (16 x depth)  row g + 8 (r % 2), column E t + e + 4 E (r / 2)
//   of b (depth x 8)   row E t + e + 4 E r, column g
// and element i of d (16 x 8) is row g + 8 (i / 2), column 2 t + i % 2.
#pragma once
#include "device.cuh"

// ---- tf32: a float with 10 bits of fraction

// The bits of the nearest tf32, ties away from zero. They are those of a float too: the 13 bits that
// tf32 lacks are zero.
CG_DEV unsigned cg_to_tf32(float x) {
#if defined(__CUDACC__)
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits & 0xffffe000u;
#else
  const unsigned bits = __float_as_uint(x);
  const bool is_finite = (bits & 0x7f800000u) != 0x7f800000u;
  return x != x ? 0x7fffe000u : (is_finite ? bits + 0x1000u : bits) & 0xffffe000u;
#endif
}

// ---- The CPU's side: one lane computes for all

#if !defined(__CUDACC__)
namespace cuhost {

struct MatrixRows {
  const void* row;        // that this lane names
  const void* wanted[8];  // two of each matrix
};
template <int N, bool kTransposed>
void share_rows(void** payloads, unsigned) {
  for (int lane = 0; lane < kWarpSize; ++lane) {
    auto* mine = (MatrixRows*)payloads[lane];
    for (int i = 0; i < 2 * N; ++i) {
      const int row = kTransposed ? lane % 4 * 2 + i % 2 : lane / 4;
      mine->wanted[i] = ((MatrixRows*)payloads[i / 2 * 8 + row])->row;
    }
  }
}
// Each lane reads for itself, so that races are found: ldmatrix orders no memory.
template <int N, bool kTransposed>
CUHOST_INLINE void load_matrices(unsigned (&to)[N], const void* row) {
#if defined(CUHOST_CHECK)
  if (CUHOST_THREAD->rank % kWarpSize < 8 * N) cuhost_expect_shared(row, 16);
#endif
  MatrixRows rows = {row, {}};
  cuhost_warp_collective(0xffffffffu, &rows, share_rows<N, kTransposed>);
  const int lane = int(CUHOST_THREAD->rank % kWarpSize);
  const int column = kTransposed ? lane / 4 : lane % 4 * 2;
  for (int i = 0; i < N; ++i) {
    const auto* first = (const uint16_t*)rows.wanted[2 * i] + column;
    const auto* second = (const uint16_t*)rows.wanted[2 * i + 1] + column + int(!kTransposed);
    to[i] = *first | unsigned(*second) << 16;
  }
}

// Tensor cores round sums toward zero (Fasi et al., "Numerical behavior of NVIDIA tensor cores", PeerJ
// Computer Science 7, 2021). So does this, once.
struct FloatSum {
  typedef float Result;
  typedef double Sum;
  static CUHOST_INLINE float rounded(double sum) {
    const double magnitude = sum < 0 ? -sum : sum;
    float result = float(magnitude);
    const bool is_finite = result - result == 0;
    if (is_finite && result > magnitude) result = __uint_as_float(__float_as_uint(result) - 1);
    return sum < 0 ? -result : result;
  }
};
struct Tf32Element : FloatSum {
  enum { kPerWord = 1 };
  static CUHOST_INLINE float at(unsigned word, int) { return __uint_as_float(word & 0xffffe000u); }
};
struct HalfElement : FloatSum {
  enum { kPerWord = 2 };
  static CUHOST_INLINE float at(unsigned word, int e) {
    return cg_half_bits_to_float(uint16_t(word >> 16 * e));
  }
};
struct Bfloat16Element : FloatSum {
  enum { kPerWord = 2 };
  static CUHOST_INLINE float at(unsigned word, int e) {
    return __uint_as_float(word >> 16 * e << 16);
  }
};
struct IntegerSum {
  typedef int Result;
  typedef unsigned Sum;  // wraps
  static CUHOST_INLINE int rounded(unsigned sum) { return int(sum); }
};
struct SignedByteElement : IntegerSum {
  enum { kPerWord = 4 };
  static CUHOST_INLINE int at(unsigned word, int e) { return (signed char)(word >> 8 * e); }
};
struct UnsignedByteElement : IntegerSum {
  enum { kPerWord = 4 };
  static CUHOST_INLINE int at(unsigned word, int e) { return (unsigned char)(word >> 8 * e); }
};

template <class Result>
struct Fragments {
  Result* d;
  const unsigned *a, *b;
};
template <class Element>
void multiply_matrices(void** payloads, unsigned) {
  typedef typename Element::Result Result;
  typedef typename Element::Sum Sum;
  constexpr int kPerWord = Element::kPerWord, kDepth = 8 * kPerWord;
  Sum a[16][kDepth], b[8][kDepth];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const auto* from = (Fragments<Result>*)payloads[lane];
    const int g = lane / 4, t = lane % 4;
    for (int e = 0; e < kPerWord; ++e) {
      for (int r = 0; r < 4; ++r) {
        a[g + 8 * (r % 2)][kPerWord * (t + 4 * (r / 2)) + e] = Sum(Element::at(from->a[r], e));
      }
      for (int r = 0; r < 2; ++r) {
        b[g][kPerWord * (t + 4 * r) + e] = Sum(Element::at(from->b[r], e));
      }
    }
  }
  for (int lane = 0; lane < kWarpSize; ++lane) {
    auto* to = (Fragments<Result>*)payloads[lane];
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
      Sum sum = Sum(to->d[i]);
      for (int k = 0; k < kDepth; ++k) sum += a[row][k] * b[column][k];
      to->d[i] = Element::rounded(sum);
    }
  }
}
template <class Element>
CUHOST_INLINE void multiply(typename Element::Result* d, const unsigned* a, const unsigned* b) {
  Fragments<typename Element::Result> fragments = {d, a, b};
  cuhost_warp_collective(0xffffffffu, &fragments, multiply_matrices<Element>);
}

}  // namespace cuhost
#endif

// ---- Fragments from shared memory

// Loads N (1, 2 or 4) matrices of 8 x 8 elements of 16 bits. Lane 8 i + j gives the address of row j
// of matrix i: 8 neighbouring elements in shared memory, aligned to 16 bytes; what lanes from 8 N on
// give is ignored. Word i is of matrix i: row lane / 4, columns lane % 4 * 2 and the next.
template <int N>
CG_DEV void cg_ldmatrix(unsigned (&to)[N], const void* row) {
  static_assert(N == 1 || N == 2 || N == 4, "ldmatrix loads 1, 2 or 4 matrices");
#if defined(__CUDACC__)
  const unsigned from = unsigned(__cvta_generic_to_shared(row));
  if constexpr (N == 1) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(to[0])
                 : "r"(from)
                 : "memory");
  } else if constexpr (N == 2) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(from)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
  }
#else
  cuhost::load_matrices<N, false>(to, row);
#endif
}

// The same of the transposed matrices: word i has rows lane % 4 * 2 and the next of column lane / 4.
template <int N>
CG_DEV void cg_ldmatrix_transposed(unsigned (&to)[N], const void* row) {
  static_assert(N == 1 || N == 2 || N == 4, "ldmatrix loads 1, 2 or 4 matrices");
#if defined(__CUDACC__)
  const unsigned from = unsigned(__cvta_generic_to_shared(row));
  if constexpr (N == 1) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(to[0])
                 : "r"(from)
                 : "memory");
  } else if constexpr (N == 2) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(from)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
  }
#else
  cuhost::load_matrices<N, true>(to, row);
#endif
}

// ---- d += a * b. Products are exact; a sum of one instruction is not rounded as a float's is, but
// toward zero, so sums over a long depth had better be added up outside.

#if defined(__CUDACC__)
#define CG_MMA(instruction, constraint)                                                          \
  asm volatile("mma.sync.aligned." instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
               "{%0, %1, %2, %3};"                                                               \
               : constraint(d[0]), constraint(d[1]), constraint(d[2]), constraint(d[3])          \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#endif

// a and b: cg_to_tf32. Of other floats the last 13 bits are ignored, which truncates them.
CG_DEV void cg_mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if defined(__CUDACC__)
  CG_MMA("m16n8k8.row.col.f32.tf32.tf32.f32", "+f");
#else
  cuhost::multiply<cuhost::Tf32Element>(d, a, b);
#endif
}
CG_DEV void cg_mma_m16n8k16_f16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if defined(__CUDACC__)
  CG_MMA("m16n8k16.row.col.f32.f16.f16.f32", "+f");
#else
  cuhost::multiply<cuhost::HalfElement>(d, a, b);
#endif
}
CG_DEV void cg_mma_m16n8k16_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if defined(__CUDACC__)
  CG_MMA("m16n8k16.row.col.f32.bf16.bf16.f32", "+f");
#else
  cuhost::multiply<cuhost::Bfloat16Element>(d, a, b);
#endif
}
// Sums of integers wrap.
CG_DEV void cg_mma_m16n8k32_s8(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if defined(__CUDACC__)
  CG_MMA("m16n8k32.row.col.s32.s8.s8.s32", "+r");
#else
  cuhost::multiply<cuhost::SignedByteElement>(d, a, b);
#endif
}
CG_DEV void cg_mma_m16n8k32_u8(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if defined(__CUDACC__)
  CG_MMA("m16n8k32.row.col.s32.u8.u8.s32", "+r");
#else
  cuhost::multiply<cuhost::UnsignedByteElement>(d, a, b);
#endif
}
#if defined(__CUDACC__)
#undef CG_MMA
#endif
