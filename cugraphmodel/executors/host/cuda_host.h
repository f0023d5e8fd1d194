// The part of the CUDA language that our kernels use, for an ordinary C++ compiler.
//
// Included by device.cuh only. A kernel file whose text names no barrier, warp operation or shared
// memory is compiled with CUHOST_FLAT: its threads then run as plain loops that the compiler can
// vectorise. Every other file runs one fiber per CUDA thread (runtime.cpp).
#pragma once
#include "runtime.h"

typedef __SIZE_TYPE__ size_t;

#define __global__
#define __device__
#define __forceinline__ CUHOST_INLINE
#define __align__(num_bytes) __attribute__((aligned(num_bytes)))
#define __launch_bounds__(...)

// ---- Vector types

#define CUHOST_VECTORS(T, name, alignment2, alignment4)                                   \
  struct __attribute__((aligned(alignment2), may_alias)) name##2 {                        \
    T x, y;                                                                               \
  };                                                                                      \
  struct __attribute__((aligned(alignment4), may_alias)) name##4 {                        \
    T x, y, z, w;                                                                         \
  };                                                                                      \
  CUHOST_INLINE name##2 make_##name##2(T x, T y) { return {x, y}; }                       \
  CUHOST_INLINE name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
CUHOST_VECTORS(signed char, char, 2, 4)
CUHOST_VECTORS(unsigned char, uchar, 2, 4)
CUHOST_VECTORS(short, short, 4, 8)
CUHOST_VECTORS(unsigned short, ushort, 4, 8)
CUHOST_VECTORS(int, int, 8, 16)
CUHOST_VECTORS(unsigned, uint, 8, 16)
CUHOST_VECTORS(float, float, 8, 16)
CUHOST_VECTORS(long long, longlong, 16, 16)
CUHOST_VECTORS(double, double, 16, 16)
#undef CUHOST_VECTORS

// ---- Thread and block indices

#if defined(CUHOST_FLAT)
namespace cuhost {
static __thread uint3 flat_thread, flat_block, flat_block_dim, flat_grid_dim;
}
#define threadIdx (cuhost::flat_thread)
#define blockIdx (cuhost::flat_block)
#define blockDim (cuhost::flat_block_dim)
#define gridDim (cuhost::flat_grid_dim)
#else
#define threadIdx (CUHOST_THREAD->index)
#define blockIdx (CUHOST_THREAD->block->index)
#define blockDim (CUHOST_THREAD->block->dim)
#define gridDim (CUHOST_THREAD->block->grid_dim)
#endif
#define warpSize 32

// ---- Bits of numbers

template <class To, class From>
CUHOST_INLINE To cuhost_bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
CUHOST_INLINE int __float_as_int(float x) { return cuhost_bit_cast<int>(x); }
CUHOST_INLINE unsigned __float_as_uint(float x) { return cuhost_bit_cast<unsigned>(x); }
CUHOST_INLINE float __int_as_float(int x) { return cuhost_bit_cast<float>(x); }
CUHOST_INLINE float __uint_as_float(unsigned x) { return cuhost_bit_cast<float>(x); }
CUHOST_INLINE long long __double_as_longlong(double x) { return cuhost_bit_cast<long long>(x); }
CUHOST_INLINE double __longlong_as_double(long long x) { return cuhost_bit_cast<double>(x); }
CUHOST_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
CUHOST_INLINE int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
CUHOST_INLINE int __ffs(int x) { return __builtin_ffs(x); }
template <class T>
CUHOST_INLINE T __ldg(const T* p) {
  return *p;
}

// ---- half and bfloat16

#if defined(__F16C__) && defined(__clang__)
CUHOST_INLINE float cg_half_bits_to_float(unsigned short bits) {
  return float(cuhost_bit_cast<_Float16>(bits));
}
CUHOST_INLINE unsigned short cg_float_to_half_bits(float x) {
  return cuhost_bit_cast<unsigned short>(_Float16(x));
}
#elif defined(__F16C__)
CUHOST_INLINE float cg_half_bits_to_float(unsigned short bits) {
  typedef short Halves __attribute__((vector_size(16)));
  return __builtin_ia32_vcvtph2ps(Halves{short(bits)})[0];
}
CUHOST_INLINE unsigned short cg_float_to_half_bits(float x) {
  typedef float Floats __attribute__((vector_size(16)));
  return (unsigned short)__builtin_ia32_vcvtps2ph(Floats{x}, 0)[0];
}
#else
CUHOST_INLINE float cg_half_bits_to_float(unsigned short bits) {
  const unsigned magnitude = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
  const unsigned normal = (magnitude << 13) + (112u << 23);
  const unsigned special = magnitude << 13 | 0x7f800000u | (magnitude > 0x7c00u) << 22;
  const unsigned subnormal = __float_as_uint(float(magnitude) * 0x1p-24f);
  return __uint_as_float(
      sign | (magnitude >= 0x7c00u ? special : magnitude >= 0x0400u ? normal : subnormal));
}
CUHOST_INLINE unsigned short cg_float_to_half_bits(float x) {
  const unsigned bits = __float_as_uint(x), magnitude = bits & 0x7fffffffu;
  // Ties go to even because the half's last bit is added to just under half of a unit.
  const unsigned normal = (magnitude + 0x0fffu + (magnitude >> 13 & 1u) - (112u << 23)) >> 13;
  // The sum's last bits are the half's: the float 0.5 has an ulp of 2^-24.
  const unsigned subnormal =
      __float_as_uint(__uint_as_float(magnitude) + 0.5f) - __float_as_uint(0.5f);
  const unsigned half_bits = magnitude > 0x7f800000u   ? 0x7e00u
                             : magnitude >= 0x477ff000u ? 0x7c00u
                             : magnitude < 0x38800000u  ? subnormal
                                                        : normal;
  return (unsigned short)(bits >> 16 & 0x8000u | half_bits);
}
#endif
CUHOST_INLINE unsigned short cg_float_to_bfloat16_bits(float x) {
  const unsigned bits = __float_as_uint(x);
  const unsigned nearest = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return (unsigned short)((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : nearest);
}

// ---- Atomics

namespace cuhost {
template <class T, class Update>
CUHOST_INLINE T atomic_update(T* address, Update update) {
  T old, changed;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  do {
    changed = update(old);
  } while (!__atomic_compare_exchange(address, &old, &changed, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED));
  return old;
}
template <class T>
struct Identity {
  typedef T type;
};
}  // namespace cuhost
template <class T>
CUHOST_INLINE T atomicAdd(T* address, typename cuhost::Identity<T>::type value) {
  return cuhost::atomic_update(address, [value](T old) { return T(old + value); });
}
template <class T>
CUHOST_INLINE T atomicMin(T* address, typename cuhost::Identity<T>::type value) {
  return cuhost::atomic_update(address, [value](T old) { return value < old ? value : old; });
}
template <class T>
CUHOST_INLINE T atomicMax(T* address, typename cuhost::Identity<T>::type value) {
  return cuhost::atomic_update(address, [value](T old) { return old < value ? value : old; });
}
template <class T>
CUHOST_INLINE T atomicExch(T* address, typename cuhost::Identity<T>::type value) {
  return cuhost::atomic_update(address, [value](T) { return value; });
}
template <class T>
CUHOST_INLINE T atomicCAS(T* address, typename cuhost::Identity<T>::type compare,
                          typename cuhost::Identity<T>::type value) {
  T old = compare;
  __atomic_compare_exchange(address, &old, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return old;
}

// A block runs on one OS thread, and blocks never wait for each other.
#define __threadfence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __threadfence_block() ((void)0)

// ---- Barriers, warp operations, shared memory

namespace cuhost {
template <class T>
struct IsArray {
  static constexpr bool value = false;
};
template <class T, size_t N>
struct IsArray<T[N]> {
  static constexpr bool value = true;
};
}  // namespace cuhost

#if !defined(CUHOST_FLAT)
#define __syncthreads() cuhost_block_barrier(__LINE__)
#define __trap() cuhost_trap("__trap()")

// The compiler driver turns `__shared__ T name[..]..;` into this (compiler.py).
#define CUHOST_SHARED(T, name, extents)                                                      \
  static_assert(!cuhost::IsArray<T>::value, "write the extents of a __shared__ array out");  \
  typedef T cuhost_type_##name##_ extents;                                                   \
  static int cuhost_slot_##name##_;                                                          \
  cuhost_type_##name##_& name = *(cuhost_type_##name##_*)cuhost_shared_memory(               \
      &cuhost_slot_##name##_, sizeof(cuhost_type_##name##_), alignof(cuhost_type_##name##_), \
      __is_class(T) && sizeof(T) > 2 ? 0 : sizeof(T), #name)

CUHOST_INLINE void* cuhost_dynamic_shared() { return CUHOST_THREAD->block->dynamic_shared; }

namespace cuhost {

CUHOST_INLINE unsigned lane() { return CUHOST_THREAD->rank % kWarpSize; }

template <class T>
struct ShufflePayload {
  T value, answer;
  unsigned source;
};
template <class T>
void shuffle_lanes(void** payloads, unsigned mask) {
  for (unsigned rest = mask; rest; rest &= rest - 1) {
    auto* mine = (ShufflePayload<T>*)payloads[__builtin_ctz(rest)];
    auto* from = mask >> mine->source & 1 ? (ShufflePayload<T>*)payloads[mine->source] : mine;
    mine->answer = from->value;
  }
}
template <class T>
CUHOST_INLINE T shuffle(unsigned mask, T value, unsigned source) {
  ShufflePayload<T> payload = {value, value, source};
  cuhost_warp_collective(mask, &payload, shuffle_lanes<T>);
  return payload.answer;
}

struct VotePayload {
  unsigned predicate, answer;
};
inline void collect_votes(void** payloads, unsigned mask) {
  unsigned votes = 0;
  for (unsigned rest = mask; rest; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    votes |= ((VotePayload*)payloads[lane])->predicate << lane;
  }
  for (unsigned rest = mask; rest; rest &= rest - 1) {
    ((VotePayload*)payloads[__builtin_ctz(rest)])->answer = votes;
  }
}
CUHOST_INLINE unsigned vote(unsigned mask, bool predicate) {
  VotePayload payload = {predicate, 0};
  cuhost_warp_collective(mask, &payload, collect_votes);
  return payload.answer;
}

inline void only_wait(void**, unsigned) {}

// The xor tree of cg_warp_reduce, over 32 values in place.
template <class Op, class T>
CUHOST_INLINE void reduce_tree(T (&values)[kWarpSize]) {
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    T next[kWarpSize];
    for (int lane = 0; lane < kWarpSize; ++lane) {
      next[lane] = Op::combine(values[lane], values[lane ^ offset]);
    }
    for (int lane = 0; lane < kWarpSize; ++lane) values[lane] = next[lane];
  }
}
template <class Op, class T>
void reduce_warp(void** payloads, unsigned) {
  T values[kWarpSize];
  for (int lane = 0; lane < kWarpSize; ++lane) values[lane] = *(T*)payloads[lane];
  reduce_tree<Op>(values);
  for (int lane = 0; lane < kWarpSize; ++lane) *(T*)payloads[lane] = values[lane];
}
template <class Op, class T>
void reduce_block(void** payloads, unsigned num_threads) {
  T partial[kWarpSize];
  for (unsigned warp = 0; warp < kWarpSize; ++warp) {
    partial[warp] = Op::template identity<T>();
    if (warp * kWarpSize >= num_threads) continue;
    T values[kWarpSize];
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      values[lane] = *(T*)payloads[warp * kWarpSize + lane];
    }
    reduce_tree<Op>(values);
    partial[warp] = values[0];
  }
  reduce_tree<Op>(partial);
  for (unsigned rank = 0; rank < num_threads; ++rank) {
    *(T*)payloads[rank] = partial[rank % kWarpSize];
  }
}
template <class Op, class T>
CUHOST_INLINE T warp_reduce(T value) {
  cuhost_warp_collective(0xffffffffu, &value, reduce_warp<Op, T>);
  return value;
}
template <class Op, class T>
CUHOST_INLINE T block_reduce(T value) {
  const uint3 dim = blockDim;
  if (dim.x * dim.y * dim.z % kWarpSize != 0) cuhost_trap("cg_block_*: block has a partial warp");
  cuhost_block_collective(&value, reduce_block<Op, T>);
  return value;
}

}  // namespace cuhost

CUHOST_INLINE void __syncwarp(unsigned mask = 0xffffffffu) {
  cuhost_warp_collective(mask, nullptr, cuhost::only_wait);
}
template <class T>
CUHOST_INLINE T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const unsigned first = cuhost::lane() & ~unsigned(width - 1);
  return cuhost::shuffle(mask, value, first | unsigned(source & (width - 1)));
}
template <class T>
CUHOST_INLINE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  const unsigned lane = cuhost::lane(), source = lane ^ unsigned(lane_mask);
  const bool inside = (source & ~unsigned(width - 1)) <= (lane & ~unsigned(width - 1));
  return cuhost::shuffle(mask, value, inside ? source : lane);
}
template <class T>
CUHOST_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned lane = cuhost::lane(), offset = lane & unsigned(width - 1);
  return cuhost::shuffle(mask, value, offset + delta < unsigned(width) ? lane + delta : lane);
}
template <class T>
CUHOST_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned lane = cuhost::lane(), offset = lane & unsigned(width - 1);
  return cuhost::shuffle(mask, value, offset >= delta ? lane - delta : lane);
}
CUHOST_INLINE unsigned __ballot_sync(unsigned mask, int predicate) {
  return cuhost::vote(mask, predicate != 0);
}
CUHOST_INLINE int __any_sync(unsigned mask, int predicate) {
  return cuhost::vote(mask, predicate != 0) != 0;
}
CUHOST_INLINE int __all_sync(unsigned mask, int predicate) {
  return cuhost::vote(mask, predicate != 0) == mask;
}
#else
namespace cuhost {  // device.cuh names these in templates that a flat file never instantiates
template <class Op, class T>
T warp_reduce(T);
template <class Op, class T>
T block_reduce(T);
}  // namespace cuhost
#endif

// ---- Entry points

namespace cuhost {

template <class T>
struct Kind {
  static constexpr int value = 'V';
};
template <class T>
struct Kind<T*> {
  static constexpr int value = 'P';
};
}  // namespace cuhost
#define CUHOST_KIND(T, number)           \
  template <>                            \
  struct cuhost::Kind<T> {               \
    static constexpr int value = number; \
  };
CUHOST_KIND(bool, '?')
CUHOST_KIND(signed char, 'b')
CUHOST_KIND(unsigned char, 'B')
CUHOST_KIND(short, 'h')
CUHOST_KIND(unsigned short, 'H')
CUHOST_KIND(int, 'i')
CUHOST_KIND(unsigned, 'I')
CUHOST_KIND(long, 'q')
CUHOST_KIND(unsigned long, 'Q')
CUHOST_KIND(long long, 'q')
CUHOST_KIND(unsigned long long, 'Q')
CUHOST_KIND(float, 'f')
CUHOST_KIND(double, 'd')
CUHOST_KIND(void, 0)
namespace cuhost {

template <class T>
struct ElementBytes {
  static constexpr int value = sizeof(T);
};
template <>
struct ElementBytes<void> {
  static constexpr int value = 0;
};
template <class T>
struct Describe {
  static constexpr Parameter value = {Kind<T>::value, sizeof(T), 0, 0, 0};
};
template <class T>
struct Describe<T*> {
  static constexpr Parameter value = {'P', sizeof(T*), Kind<T>::value, ElementBytes<T>::value, 0};
};
template <class T>
struct Describe<const T*> {
  static constexpr Parameter value = {'P', sizeof(T*), Kind<T>::value, ElementBytes<T>::value, 1};
};

template <int... numbers>
struct Sequence {};
template <int count, int... numbers>
struct MakeSequence : MakeSequence<count - 1, count - 1, numbers...> {};
template <int... numbers>
struct MakeSequence<0, numbers...> {
  typedef Sequence<numbers...> type;
};

template <class Function, Function function>
struct Entry;
template <class... Ts, void (*function)(Ts...)>
struct Entry<void (*)(Ts...), function> {
  typedef typename MakeSequence<sizeof...(Ts)>::type All;
  static constexpr int num_parameters = sizeof...(Ts);
  static constexpr Parameter parameters[] = {Describe<Ts>::value..., {}};

#if defined(CUHOST_FLAT)
  static constexpr decltype(Kernel::call) call = nullptr;

  template <int... numbers>
  static CUHOST_INLINE void unpack(void** arguments, const FlatRange& range, Sequence<numbers...>) {
    run_threads(range, *(Ts*)arguments[numbers]...);
  }
  static void run_flat(void** arguments, const FlatRange* range) {
    unpack(arguments, *range, All());
  }
  // The parameters are copies, so that nothing the kernel stores can change them: the compiler may
  // then keep them in registers over the whole loop.
  static __attribute__((flatten)) void run_threads(const FlatRange range, Ts... parameters) {
    const uint3 dim = range.block;
    flat_grid_dim = range.grid;
    flat_block_dim = dim;
    for (unsigned long long number = range.first; number < range.end; ++number) {
      flat_block =
          block_index(range.grid, range.reverse_blocks ? range.total - 1 - number : number);
      if (range.order) {
        for (unsigned i = 0; i < dim.x * dim.y * dim.z; ++i) {
          const unsigned rank = range.order[i];
          flat_thread = {rank % dim.x, rank / dim.x % dim.y, rank / (dim.x * dim.y)};
          function(parameters...);
        }
        continue;
      }
      for (unsigned z = 0; z < dim.z; ++z) {
        for (unsigned y = 0; y < dim.y; ++y) {
          for (unsigned x = 0; x < dim.x; ++x) {
            flat_thread = {x, y, z};
            function(parameters...);
          }
        }
      }
    }
  }
#else
  static constexpr decltype(Kernel::run_flat) run_flat = nullptr;

  template <int... numbers>
  static CUHOST_INLINE CUHOST_UNCHECKED void unpack(void** arguments, Sequence<numbers...>) {
    function(*(Ts*)arguments[numbers]...);
  }
  static CUHOST_UNCHECKED void call(void** arguments) { unpack(arguments, All()); }
#endif
};

constexpr int launch_bound(int max_threads = kMaxThreads, ...) { return max_threads; }

}  // namespace cuhost

// `...`: the arguments of the kernel's __launch_bounds__, if it has one.
#define CUHOST_EXPORT(name, ...)                                                           \
  extern "C" {                                                                             \
  extern __attribute__((visibility("default"))) const cuhost::Kernel cuhost_kernel_##name; \
  }                                                                                        \
  const cuhost::Kernel cuhost_kernel_##name = {                                            \
      cuhost::Entry<decltype(&name), &name>::call,                                         \
      cuhost::Entry<decltype(&name), &name>::run_flat,                                     \
      cuhost::Entry<decltype(&name), &name>::parameters,                                   \
      cuhost::Entry<decltype(&name), &name>::num_parameters,                               \
      cuhost::launch_bound(__VA_ARGS__)};
