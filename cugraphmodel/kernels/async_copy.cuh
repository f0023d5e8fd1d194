// Copies from global to shared memory that run while the thread goes on (PTX cp.async, from sm_80 on).
//
// A thread begins copies, ends a group with cg_cp_async_commit, and waits for groups. After a wait only
// the waiting thread may use what it copied; for the others __syncthreads (in a warp, __syncwarp) must
// follow. Until the wait nobody may touch the destination, nor write to the source. On the CPU a copy is
// made at the wait for it.
#pragma once
#include "device.cuh"

// Begins a copy of kBytes bytes (4, 8 or 16), both pointers aligned to that. Only the first
// `num_valid_bytes` of them are read; the rest of the destination becomes zero. Copies of 16 bytes
// bypass the L1 cache.
template <int kBytes>
CG_DEV void cg_cp_async(void* shared, const void* global, unsigned num_valid_bytes = kBytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async copies 4, 8 or 16 bytes");
#if defined(__CUDACC__)
  const unsigned to = unsigned(__cvta_generic_to_shared(shared));
  const unsigned long long from = __cvta_generic_to_global(global);
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(to), "l"(from), "r"(num_valid_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :
                 : "r"(to), "l"(from), "n"(kBytes), "r"(num_valid_bytes)
                 : "memory");
  }
#else
  cuhost_async_copy(shared, global, kBytes, num_valid_bytes);
#endif
}

// Makes a group of the copies that this thread has begun since its last group; it may be empty.
CG_DEV void cg_cp_async_commit() {
#if defined(__CUDACC__)
  asm volatile("cp.async.commit_group;" : : : "memory");
#else
  cuhost_async_commit();
#endif
}

// Waits until no group of this thread is in flight but the N newest. Copies of no group are not
// waited for.
template <int N>
CG_DEV void cg_cp_async_wait() {
#if defined(__CUDACC__)
  asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
#else
  cuhost_async_wait(N);
#endif
}

// Waits for all copies of this thread, also those of no group.
CG_DEV void cg_cp_async_wait_all() {
#if defined(__CUDACC__)
  asm volatile("cp.async.wait_all;" : : : "memory");
#else
  cuhost_async_wait_all();
#endif
}
