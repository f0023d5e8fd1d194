// The check mode: every access of a kernel to memory is looked up and every barrier is compared.
// Without CUHOST_CHECK all of this is empty.
#pragma once
#include <stdarg.h>
#include <stddef.h>

#include "async_copies.h"
#include "records.h"

namespace cuhost {

// Ends the block with an error: its fibers are dropped where they stand. `memory` names what was
// accessed, or is null.
__attribute__((cold, noinline, noreturn)) void fail_with(Kind kind, const char* memory,
                                                         const char* file, unsigned line,
                                                         const char* format, va_list values);

#if defined(CUHOST_CHECK)

// Free room before and after each shared array, so that an index just outside it hits no other.
enum : size_t { kRedzoneBytes = 256, kMaxSharedSlots = 63 };

struct Memory {
  const char* first;
  size_t num_bytes;
};

struct Checker;

// Kernels read and write the stacks and the worker unchecked. Null: there is no memory for it.
Checker* new_checker(Memory stacks, Memory worker, char* shared, const AsyncCopies* copies);
// False: there is no memory for it.
bool begin_launch(Checker* checker, const LaunchRecord& launch);
void begin_block(Checker* checker);
void end_block();
void set_rank(Checker* checker, unsigned rank);
void block_synchronised(Checker* checker);
void warp_synchronised(Checker* checker, unsigned rank);
void add_shared_slot(Checker* checker, char* first, size_t num_bytes, unsigned element_bytes,
                     const char* name);
// A thread begins a copy; the thread that began it waits for it, and the copy is made now.
void begin_async_copy(Checker* checker, const AsyncCopy& copy);
void end_async_copy(Checker* checker, const AsyncCopy& copy);
// The chain of calls that starts at a frame pointer, as offsets into the kernel's library.
void collect_frames(const Checker* checker, void* frame, RunError* error);

#else

enum : size_t { kRedzoneBytes = 0, kMaxSharedSlots = 65535 };

#endif

}  // namespace cuhost
