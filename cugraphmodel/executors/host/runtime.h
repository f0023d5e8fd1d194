// What the runtime and the compiled kernels share. No standard header: that keeps the compile time
// of a kernel near 0.15 s.
#pragma once

struct uint3 {
  unsigned x, y, z;
};

#define CUHOST_API extern "C" __attribute__((visibility("default")))
#if defined(CUHOST_CHECK)  // real calls, so that the chain of them tells where an access was
#define CUHOST_INLINE inline __attribute__((unused))
#define CUHOST_UNCHECKED __attribute__((no_sanitize_thread))
#if defined(__clang__)
#define CUHOST_NOMERGE __attribute__((nomerge))  // two calls stay two, each with its line
#endif
#else
#define CUHOST_INLINE inline __attribute__((always_inline, unused))
#define CUHOST_UNCHECKED
#endif
#if !defined(CUHOST_NOMERGE)
#define CUHOST_NOMERGE
#endif

namespace cuhost {

enum { kWarpSize = 32, kMaxThreads = 1024, kMaxSharedBytes = 48 * 1024 };

struct Block {
  uint3 index, dim, grid_dim;
  void* dynamic_shared;
};

// A CUDA thread, as a kernel sees it. `rank` is its linear number within the block.
struct Thread {
  uint3 index;
  unsigned rank;
  Block* block;
};

// Run once, by the last thread to arrive, over what every taking-part thread handed in. The
// payloads lie on the stacks of threads that wait, so the function may write answers into them.
typedef void (*WarpFunction)(void** payloads, unsigned mask);
typedef void (*BlockFunction)(void** payloads, unsigned num_threads);

// A parameter of a kernel, from its C++ signature. Kinds are NumPy's type characters; 'V' is a
// struct, 'P' a pointer. For a pointer, `element_kind` is 0 for void.
struct Parameter {
  int kind, num_bytes, element_kind, element_bytes, is_const;
};

// Blocks [first, end) of a kernel without barriers, run as plain loops.
struct FlatRange {
  uint3 grid, block;
  unsigned long long first, end, total;
  const unsigned* order;  // ranks of the threads in the order to run; null: forward
  int reverse_blocks;
};

// An entry point. Exactly one of `call` (one thread) and `run_flat` (many blocks) is set.
struct Kernel {
  void (*call)(void** arguments);
  void (*run_flat)(void** arguments, const FlatRange* range);
  const Parameter* parameters;
  int num_parameters;
  int max_threads;  // from __launch_bounds__
};

CUHOST_INLINE uint3 block_index(uint3 grid, unsigned long long number) {
  const unsigned long long rest = number / grid.x;
  return {unsigned(number % grid.x), unsigned(rest % grid.y), unsigned(rest / grid.y)};
}

}  // namespace cuhost

CUHOST_API __thread cuhost::Thread* cuhost_current __attribute__((tls_model("initial-exec")));
#if defined(CUHOST_CHECK)  // a variable would be an access to look up
CUHOST_API cuhost::Thread* cuhost_thread() __attribute__((const));
#define CUHOST_THREAD cuhost_thread()
#else
#define CUHOST_THREAD cuhost_current
#endif
CUHOST_API CUHOST_NOMERGE void cuhost_block_barrier(int line);
CUHOST_API void cuhost_block_collective(void* payload, cuhost::BlockFunction function);
CUHOST_API void cuhost_warp_collective(unsigned mask, void* payload,
                                       cuhost::WarpFunction function);
// `element_bytes`: 0 for a struct.
CUHOST_API void* cuhost_shared_memory(int* slot, unsigned num_bytes, unsigned alignment,
                                      unsigned element_bytes, const char* name);
CUHOST_API void cuhost_trap(const char* why) __attribute__((noreturn));
CUHOST_API void cuhost_expect_aligned(const void* pointer, unsigned alignment);  // check mode only
CUHOST_API void cuhost_expect_shared(const void* pointer, unsigned alignment);   // check mode only

// The calling thread's asynchronous copies from global to shared memory (async_copy.cuh).
CUHOST_API void cuhost_async_copy(void* shared, const void* global, unsigned num_bytes,
                                  unsigned num_valid_bytes);
CUHOST_API void cuhost_async_commit();
// Until no group is in flight but the `num_groups` newest.
CUHOST_API void cuhost_async_wait(unsigned num_groups);
CUHOST_API void cuhost_async_wait_all();  // also for copies of no group
