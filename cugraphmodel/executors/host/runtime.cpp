// Runs kernels on the CPU with CUDA's semantics: blocks, threads, barriers, warp operations, shared
// memory. Compiled once per compiler and processor.
//
// One block runs on one OS thread. Each of its CUDA threads is a fiber: a stack of its own, and a
// switch of six registers whenever it waits. Fibers never migrate and are not pre-empted, so within
// a block nothing here needs a lock. Blocks are shared out over a pool of OS threads.
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "async_copies.h"
#include "checker.h"

#if !defined(__x86_64__) || !defined(__linux__)
#error "the CPU device needs Linux on x86-64: the switch between fibers is written for it"
#endif

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define COLD __attribute__((cold, noinline))

using namespace cuhost;

__thread Thread* cuhost_current __attribute__((tls_model("initial-exec"))) = nullptr;

// ---- Switching between fibers

struct Context {
  void* stack_pointer;
};

// Saves the callee-saved registers of the System V ABI on the old stack and takes those of the new
// one. An indirect jump predicts better here than `ret`.
extern "C" void cuhost_switch(Context* from, const Context* to);
__asm__(
    ".text\n"
    ".globl cuhost_switch\n"
    ".hidden cuhost_switch\n"
    ".type cuhost_switch,@function\n"
    "cuhost_switch:\n"
    "  pushq %rbp\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq (%rsi), %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  popq %rcx\n"
    "  jmp *%rcx\n"
    ".size cuhost_switch,.-cuhost_switch\n");

enum : size_t {
  kStackBytes = 64 * 1024,
  kGuardBytes = 4096,
  kMaxSlots = 65536,
  kSavedRegisters = 6,
  kSavedFramePointer = 5,  // its place among them on the stack
};
enum { kMaxWarps = kMaxThreads / kWarpSize, kWords = kMaxThreads / 64 };

// ---- Threads of the current block

// A set of threads, by their position in the order in which they run.
struct PositionSet {
  uint64_t words[kWords];

  void add(unsigned position) { words[position / 64] |= uint64_t(1) << position % 64; }
  void remove(unsigned position) { words[position / 64] &= ~(uint64_t(1) << position % 64); }

  // The first member after `position`, cyclically and `position` itself last; -1 if empty.
  int next(unsigned position, unsigned num_words) const {
    const unsigned first = position / 64;
    const uint64_t above = position % 64 == 63 ? 0 : ~uint64_t(0) << (position % 64 + 1);
    if (words[first] & above) return int(first * 64 + __builtin_ctzll(words[first] & above));
    for (unsigned i = 1; i <= num_words; ++i) {
      const unsigned word = (first + i) % num_words;
      if (words[word]) return int(word * 64 + __builtin_ctzll(words[word]));
    }
    return -1;
  }
};

struct Fiber {
  Thread thread;  // first member: cuhost_current points to it
  Context context;
  unsigned position;
  int stack;
  int line;  // of the barrier it waits at, for the report of a deadlock
  void* payload;
  WarpFunction warp_function;
};

struct Warp {
  void* payloads[kWarpSize];
  unsigned masks[kWarpSize];
  unsigned waiting, gone, existing;  // sets of lanes
};

struct SharedSlot {
  uint64_t block_serial;
  char* address;
};

// All that one OS thread needs to run blocks. Kept in a free list between runs.
struct Worker {
  Fiber fibers[kMaxThreads];  // by position
  unsigned position_of_rank[kMaxThreads];
  Warp warps[kMaxWarps];
  PositionSet runnable;  // ready or not started yet
  PositionSet at_barrier;
  unsigned num_threads, num_words, num_live, num_started, num_arrived;
  BlockFunction barrier_function;  // of those who arrived; null at a plain barrier

  uint3 order_block;  // for which the fibers are laid out
  RunOptions order_options;

  const Kernel* kernel;
  void** arguments;
  Block block;
  Fiber* current;
  Context scheduler;
  uint64_t block_serial;

  char* stacks;
  int free_stacks[kMaxThreads];
  int num_free_stacks;
  bool stack_ready[kMaxThreads];

  char* shared;
  size_t shared_used, num_shared;  // of this block: bytes, arrays
  SharedSlot slots[kMaxSlots];
  AsyncCopies async_copies;

  bool failed;
  RunError error;
  Worker* next_free;
#if defined(CUHOST_CHECK)
  Checker* checker;
#endif
};

static __thread Worker* this_worker __attribute__((tls_model("initial-exec")));

static char* stack_bottom(Worker* worker, int stack) {
  return worker->stacks + size_t(stack) * kStackBytes;
}

static void resume(Worker* worker, Context* from, Fiber* to) {
  worker->current = to;
  cuhost_current = &to->thread;
#if defined(CUHOST_CHECK)
  set_rank(worker->checker, to->thread.rank);
#endif
  cuhost_switch(from, &to->context);
}

void cuhost::fail_with(Kind kind, const char* memory, const char* file, unsigned line,
                       const char* format, va_list values) {
  Worker* worker = this_worker;
  RunError& error = worker->error;
  error.kind = kind;
  error.block = worker->block.index;
  error.thread = cuhost_current->index;
  snprintf(error.memory, sizeof error.memory, "%s", memory ? memory : "");
  snprintf(error.file, sizeof error.file, "%s", file ? file : "");
  error.line = line;
  vsnprintf(error.text, sizeof error.text, format, values);
#if defined(CUHOST_CHECK)
  void* frame = __builtin_frame_address(0);
  const Fiber* fiber = reinterpret_cast<Fiber*>(cuhost_current);
  if (fiber != worker->current) {  // one that waits, for the report of a deadlock
    frame = static_cast<void**>(fiber->context.stack_pointer)[kSavedFramePointer];
  }
  collect_frames(worker->checker, frame, &error);
  end_block();
#endif
  worker->failed = true;
  Context dropped;
  cuhost_switch(&dropped, &worker->scheduler);
  __builtin_unreachable();
}

static COLD __attribute__((noreturn, format(printf, 2, 3))) void fail(Kind kind, const char* format,
                                                                     ...) {
  va_list values;
  va_start(values, format);
  fail_with(kind, nullptr, nullptr, 0, format, values);
}

static void run_threads();

// Gives a thread that has not run yet a stack on which `run_threads` begins.
static void start_fiber(Worker* worker, Fiber* fiber) {
  ++worker->num_started;
  fiber->stack = worker->free_stacks[--worker->num_free_stacks];
  char* bottom = stack_bottom(worker, fiber->stack);
  if (UNLIKELY(!worker->stack_ready[fiber->stack])) {
    if (mprotect(bottom + kGuardBytes, kStackBytes - kGuardBytes, PROT_READ | PROT_WRITE) != 0) {
      fail(kLimit, "no memory for the stack of a thread");
    }
    worker->stack_ready[fiber->stack] = true;
  }
  // The tops are staggered, else they would all fall into the same sets of the cache.
  char* top = bottom + kStackBytes - size_t(fiber->stack % 32) * 192;
  void** frame = reinterpret_cast<void**>(top);
  *--frame = nullptr;  // return address of run_threads, which never returns
  *--frame = reinterpret_cast<void*>(run_threads);
  frame -= kSavedRegisters;
  frame[kSavedFramePointer] = nullptr;  // the chain of calls ends here
  fiber->context.stack_pointer = frame;
}

static Fiber* next_fiber(Worker* worker, unsigned position) {
  const int next = worker->runnable.next(position, worker->num_words);
  if (next < 0) return nullptr;
  Fiber* fiber = &worker->fibers[next];
  if (unsigned(next) == worker->num_started) start_fiber(worker, fiber);
  return fiber;
}

static COLD __attribute__((noreturn)) void report_deadlock(Worker* worker) {
  unsigned at_barrier = 0, at_warp = 0, line = 0, mask = 0, lane = 0;
  Thread* stuck = nullptr;
  for (unsigned position = 0; position < worker->num_threads; ++position) {
    Fiber& fiber = worker->fibers[position];
    const Warp& warp = worker->warps[fiber.thread.rank / kWarpSize];
    if (worker->at_barrier.words[position / 64] >> position % 64 & 1) {
      ++at_barrier;
      line = unsigned(fiber.line);
      if (!stuck) stuck = &fiber.thread;
    } else if (warp.waiting >> fiber.thread.rank % kWarpSize & 1) {
      ++at_warp;
      stuck = &fiber.thread;
      lane = fiber.thread.rank % kWarpSize;
      mask = warp.masks[lane];
    }
  }
  cuhost_current = stuck;
  if (at_warp == 0) {
    fail(kSynccheck, "deadlock: %u of %u threads wait for ever at a block barrier (line %u)",
         at_barrier, worker->num_threads, line);
  }
  fail(kSynccheck,
       "deadlock: %u of %u threads wait for ever at a warp operation (e.g. lane %u with mask %08x) "
       "and %u at a block barrier",
       at_warp, worker->num_threads, lane, mask, at_barrier);
}

static void wait(Worker* worker, Fiber* fiber) {
  worker->runnable.remove(fiber->position);
  Fiber* next = next_fiber(worker, fiber->position);
  if (UNLIKELY(!next)) report_deadlock(worker);
  resume(worker, &fiber->context, next);
}

static void release_barrier(Worker* worker) {
  for (unsigned word = 0; word < worker->num_words; ++word) {
    worker->runnable.words[word] |= worker->at_barrier.words[word];
    worker->at_barrier.words[word] = 0;
  }
  worker->num_arrived = 0;
#if defined(CUHOST_CHECK)
  block_synchronised(worker->checker);
#endif
}

// If every lane that `lane` waits for has come: runs the operation and lets them go.
static bool try_release_warp(Worker* worker, unsigned warp_index, unsigned lane) {
  Warp& warp = worker->warps[warp_index];
  const unsigned mask = warp.masks[lane], needed = mask & warp.existing & ~warp.gone;
#if defined(CUHOST_CHECK)
  if (mask & warp.gone) {
    cuhost_current = &worker->fibers[worker->position_of_rank[warp_index * kWarpSize + lane]].thread;
    fail(kSynccheck, "a warp operation whose mask %08x names lanes that have ended (%08x)", mask,
         mask & warp.gone);
  }
#endif
  if ((warp.waiting & needed) != needed) return false;
  const unsigned* positions = &worker->position_of_rank[warp_index * kWarpSize];
  const WarpFunction function = worker->fibers[positions[lane]].warp_function;
  for (unsigned rest = needed; rest; rest &= rest - 1) {
    const int other = __builtin_ctz(rest);
    if (warp.masks[other] != mask) return false;
    if (UNLIKELY(worker->fibers[positions[other]].warp_function != function)) {
      fail(kSynccheck, "lanes %u and %d of one warp meet at different warp operations", lane, other);
    }
  }
  for (unsigned rest = needed; rest; rest &= rest - 1) {
    worker->runnable.add(positions[__builtin_ctz(rest)]);
#if defined(CUHOST_CHECK)
    const unsigned rank = warp_index * kWarpSize + unsigned(__builtin_ctz(rest));
    if (!warp.payloads[lane]) warp_synchronised(worker->checker, rank);
#endif
  }
  warp.waiting &= ~needed;
  function(warp.payloads, needed);
  return true;
}

static COLD __attribute__((noreturn)) void report_ended_threads(Worker* worker) {
  const int waiting = worker->at_barrier.next(0, worker->num_words);
  if (waiting >= 0) cuhost_current = &worker->fibers[waiting].thread;
  fail(kSynccheck, "some threads of the block ended before a block-wide operation that all must call");
}

static void thread_ended(Worker* worker, Fiber* fiber) {
  worker->runnable.remove(fiber->position);
  --worker->num_live;
  if (UNLIKELY(worker->num_arrived != 0 && worker->num_arrived == worker->num_live)) {
    if (worker->barrier_function) report_ended_threads(worker);
    release_barrier(worker);
  }
  const unsigned warp_index = fiber->thread.rank / kWarpSize;
  Warp& warp = worker->warps[warp_index];
  warp.gone |= 1u << fiber->thread.rank % kWarpSize;
  for (unsigned rest = warp.waiting; UNLIKELY(rest); rest &= rest - 1) {
    if (try_release_warp(worker, warp_index, unsigned(__builtin_ctz(rest)))) break;
  }
}

// The body of every fiber. A thread that ends hands its stack to the next one that has not started,
// so a kernel that never waits runs without any switch.
static void run_threads() {
  Worker* worker = this_worker;
  for (;;) {
    worker->kernel->call(worker->arguments);
    Fiber* fiber = worker->current;
    thread_ended(worker, fiber);
    if (worker->num_started < worker->num_threads) {
      Fiber* next = &worker->fibers[worker->num_started++];
      next->stack = fiber->stack;
      worker->current = next;
      cuhost_current = &next->thread;
#if defined(CUHOST_CHECK)
      set_rank(worker->checker, next->thread.rank);
#endif
      continue;
    }
    worker->free_stacks[worker->num_free_stacks++] = fiber->stack;
    Fiber* next = next_fiber(worker, fiber->position);
    if (next) resume(worker, &fiber->context, next);
    if (worker->num_live != 0) report_deadlock(worker);
    cuhost_switch(&fiber->context, &worker->scheduler);
  }
}

// ---- What kernels call

// True if this thread is the last one that a barrier waits for.
static bool arrive(Worker* worker, Fiber* fiber, BlockFunction function) {
  if (worker->num_arrived == 0) worker->barrier_function = function;
  if (UNLIKELY(worker->barrier_function != function)) {
    fail(kSynccheck, "threads of one block wait at different block-wide operations");
  }
  if (worker->num_arrived + 1 == worker->num_live) return true;
  ++worker->num_arrived;
  worker->at_barrier.add(fiber->position);
  return false;
}

void cuhost_block_barrier(int line) {
  Worker* worker = this_worker;
  Fiber* fiber = worker->current;
  fiber->line = line;
#if defined(CUHOST_CHECK)
  const int first = worker->at_barrier.next(0, worker->num_words);
  if (first >= 0 && worker->fibers[first].line != line && !worker->barrier_function) {
    fail(kSynccheck, "threads of one block wait at different __syncthreads (lines %d and %d)",
         worker->fibers[first].line, line);
  }
#endif
  if (arrive(worker, fiber, nullptr)) {
    release_barrier(worker);
  } else {
    wait(worker, fiber);
  }
}

void cuhost_block_collective(void* payload, BlockFunction function) {
  Worker* worker = this_worker;
  Fiber* fiber = worker->current;
  fiber->payload = payload;
  if (!arrive(worker, fiber, function)) return wait(worker, fiber);
  if (UNLIKELY(worker->num_live != worker->num_threads)) report_ended_threads(worker);
  void* payloads[kMaxThreads];
  for (unsigned rank = 0; rank < worker->num_threads; ++rank) {
    payloads[rank] = worker->fibers[worker->position_of_rank[rank]].payload;
  }
  function(payloads, worker->num_threads);
  release_barrier(worker);
}

void cuhost_warp_collective(unsigned mask, void* payload, WarpFunction function) {
  Worker* worker = this_worker;
  Fiber* fiber = worker->current;
  const unsigned lane = fiber->thread.rank % kWarpSize, warp_index = fiber->thread.rank / kWarpSize;
  if (UNLIKELY(!(mask >> lane & 1))) {
    fail(kSynccheck, "lane %u calls a warp operation whose mask %08x leaves it out", lane, mask);
  }
  Warp& warp = worker->warps[warp_index];
  fiber->warp_function = function;
  warp.payloads[lane] = payload;
  warp.masks[lane] = mask;
  warp.waiting |= 1u << lane;
  if (!try_release_warp(worker, warp_index, lane)) wait(worker, fiber);
}

static AsyncCopies& async_copies(Worker* worker) {
  worker->async_copies.begin_block(worker->block_serial, worker->num_threads);
  return worker->async_copies;
}

void cuhost_async_copy(void* shared, const void* global, unsigned num_bytes,
                       unsigned num_valid_bytes) {
  Worker* worker = this_worker;
  AsyncCopies& copies = async_copies(worker);
  const AsyncCopy copy = {static_cast<char*>(shared),
                          static_cast<const char*>(global),
                          num_bytes,
                          num_valid_bytes,
                          uint16_t(cuhost_current->rank),
                          0,
                          0};
#if defined(CUHOST_CHECK)
  begin_async_copy(worker->checker, copy);
#endif
  if (UNLIKELY(num_valid_bytes > num_bytes)) {
    fail(kTrap, "an async copy of %u bytes has %u valid ones", num_bytes, num_valid_bytes);
  }
  if (UNLIKELY(!copies.add(copy))) {
    fail(kLimit, "more than %d async copies of a block are in flight", int(kMaxAsyncCopies));
  }
}

void cuhost_async_commit() { async_copies(this_worker).commit(cuhost_current->rank); }

// Makes the calling thread's copies in its first `num_groups` groups.
static void complete_async_copies(AsyncCopies& copies, uint64_t num_groups) {
  const unsigned rank = cuhost_current->rank;
  while (const AsyncCopy* copy = copies.oldest(rank, num_groups)) {
#if defined(CUHOST_CHECK)
    end_async_copy(this_worker->checker, *copy);
#endif
    copies.complete_oldest(rank);
  }
}

void cuhost_async_wait(unsigned num_groups) {
  AsyncCopies& copies = async_copies(this_worker);
  const uint32_t num_commits = copies.num_commits(cuhost_current->rank);
  if (num_commits > num_groups) complete_async_copies(copies, num_commits - num_groups);
}

void cuhost_async_wait_all() { complete_async_copies(async_copies(this_worker), ~uint64_t(0)); }

#if defined(CUHOST_CHECK)
Thread* cuhost_thread() { return cuhost_current; }
#endif

void cuhost_trap(const char* why) { fail(kTrap, "%s", why); }

static int next_slot = 1;

// `slot` numbers the declaration, once per process; every block gives it memory of its own.
void* cuhost_shared_memory(int* slot, unsigned num_bytes, unsigned alignment,
                           unsigned element_bytes, const char* name) {
  Worker* worker = this_worker;
  int number = __atomic_load_n(slot, __ATOMIC_RELAXED);
  if (UNLIKELY(number == 0)) {
    const int fresh = __atomic_fetch_add(&next_slot, 1, __ATOMIC_RELAXED);
    if (size_t(fresh) >= kMaxSlots) fail(kLimit, "too many __shared__ arrays in this process");
    if (__atomic_compare_exchange_n(slot, &number, fresh, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      number = fresh;
    }
  }
  SharedSlot& entry = worker->slots[number];
  if (LIKELY(entry.block_serial == worker->block_serial)) return entry.address;
  const size_t step = alignment < 16 ? 16 : alignment;
  const size_t offset = (worker->shared_used + step - 1) / step * step;
  if (offset + num_bytes > kMaxSharedBytes) {
    fail(kLimit, "__shared__ %s: %zu bytes of shared memory, a block has %d", name,
         offset + num_bytes, int(kMaxSharedBytes));
  }
  if (worker->num_shared >= kMaxSharedSlots) {
    fail(kLimit, "__shared__ %s: too many arrays in one block", name);
  }
  worker->shared_used = offset + num_bytes;
  ++worker->num_shared;
  char* address = worker->shared + offset + worker->num_shared * kRedzoneBytes;
  entry = {worker->block_serial, address};
#if defined(CUHOST_CHECK)
  add_shared_slot(worker->checker, address, num_bytes, element_bytes, name);
#else
  (void)element_bytes;
#endif
  return entry.address;
}

// ---- Running blocks

static void* map_memory(size_t num_bytes, int protection) {
  void* address = mmap(nullptr, num_bytes, protection,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

static Worker* new_worker() {
  Worker* worker = static_cast<Worker*>(map_memory(sizeof(Worker), PROT_READ | PROT_WRITE));
  if (!worker) return nullptr;
  worker->stacks = static_cast<char*>(map_memory(kMaxThreads * kStackBytes, PROT_NONE));
  const size_t redzones = kRedzoneBytes * (kMaxSharedSlots + 1);
  worker->shared =
      static_cast<char*>(map_memory(kMaxSharedBytes + redzones, PROT_READ | PROT_WRITE));
  if (!worker->stacks || !worker->shared) return nullptr;
#if defined(CUHOST_CHECK)
  worker->checker = new_checker({worker->stacks, kMaxThreads * kStackBytes},
                                {reinterpret_cast<char*>(worker), sizeof(Worker)}, worker->shared,
                                &worker->async_copies);
  if (!worker->checker) return nullptr;
#endif
  return worker;
}

static void reset_stacks(Worker* worker) {
  for (int i = 0; i < kMaxThreads; ++i) worker->free_stacks[i] = kMaxThreads - 1 - i;
  worker->num_free_stacks = kMaxThreads;
}

static unsigned count_threads(uint3 block) { return block.x * block.y * block.z; }

// Ranks of a block's threads in the order in which they run.
static void fill_order(unsigned* ranks, unsigned num_threads, const RunOptions& options) {
  for (unsigned i = 0; i < num_threads; ++i) {
    ranks[i] = options.order == kReverse ? num_threads - 1 - i : i;
  }
  if (options.order != kRandom) return;
  uint64_t state = options.seed;
  for (unsigned i = num_threads - 1; i > 0; --i) {
    state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX generator
    const unsigned j = unsigned((state >> 33) % (i + 1)), rank = ranks[i];
    ranks[i] = ranks[j];
    ranks[j] = rank;
  }
}

static bool same(uint3 a, uint3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

// Lays out the fibers for a block shape, unless they are laid out for it already.
static void lay_out(Worker* worker, uint3 dim, const RunOptions& options) {
  if (same(worker->order_block, dim) && worker->order_options.order == options.order &&
      worker->order_options.seed == options.seed) {
    return;
  }
  worker->order_block = dim;
  worker->order_options = options;
  worker->num_threads = count_threads(dim);
  worker->num_words = (worker->num_threads + 63) / 64;
  unsigned ranks[kMaxThreads];
  fill_order(ranks, worker->num_threads, options);
  for (unsigned position = 0; position < worker->num_threads; ++position) {
    const unsigned rank = ranks[position];
    Fiber& fiber = worker->fibers[position];
    fiber.position = position;
    fiber.thread = {{rank % dim.x, rank / dim.x % dim.y, rank / (dim.x * dim.y)},
                    rank,
                    &worker->block};
    worker->position_of_rank[rank] = position;
  }
}

static void run_block(Worker* worker, uint3 index, size_t dynamic_bytes) {
  const unsigned num_threads = worker->num_threads;
  worker->block.index = index;
  ++worker->block_serial;
  worker->num_live = num_threads;
  worker->num_started = 0;
  worker->num_arrived = 0;
  for (unsigned word = 0; word < worker->num_words; ++word) {
    const unsigned rest = num_threads - word * 64;
    worker->runnable.words[word] = rest >= 64 ? ~uint64_t(0) : (uint64_t(1) << rest) - 1;
    worker->at_barrier.words[word] = 0;
  }
  for (unsigned warp = 0; warp * kWarpSize < num_threads; ++warp) {
    const unsigned rest = num_threads - warp * kWarpSize;
    worker->warps[warp].waiting = worker->warps[warp].gone = 0;
    worker->warps[warp].existing = rest >= kWarpSize ? ~0u : (1u << rest) - 1;
  }
  worker->block.dynamic_shared = worker->shared + kRedzoneBytes;
  worker->shared_used = dynamic_bytes;
  worker->num_shared = kRedzoneBytes ? 1 : 0;
  Fiber* first = &worker->fibers[0];
  cuhost_current = &first->thread;
#if defined(CUHOST_CHECK)
  begin_block(worker->checker);
  add_shared_slot(worker->checker, static_cast<char*>(worker->block.dynamic_shared), dynamic_bytes,
                  1, "dynamic shared memory");
#endif
  worker->current = first;
  start_fiber(worker, first);
  resume(worker, &worker->scheduler, first);
#if defined(CUHOST_CHECK)
  end_block();
#endif
  if (worker->failed) reset_stacks(worker);
}

// One launch being executed. Workers take chunks of its blocks until none is left.
struct Job {
  const LaunchRecord* launch;
  const RunOptions* options;
  RunError* error;
  uint64_t num_blocks, chunk, next_block;
  const unsigned* flat_order;
  int num_wanted, num_active;  // helpers; guarded by pool.mutex
  int failed;
  Job* next;
};

static void report(Job* job, const RunError& error) {
  if (__atomic_exchange_n(&job->failed, 1, __ATOMIC_RELAXED) == 0) *job->error = error;
}

static bool run_fiber_blocks(Worker* worker, Job* job, uint64_t first, uint64_t end) {
  const LaunchRecord& launch = *job->launch;
  for (uint64_t number = first; number < end; ++number) {
    const uint64_t turned =
        job->options->order == kReverse ? job->num_blocks - 1 - number : number;
    run_block(worker, block_index(launch.grid, turned), launch.dynamic_bytes);
    if (UNLIKELY(worker->failed)) {
      report(job, worker->error);
      return false;
    }
  }
  return true;
}

static void run_flat_blocks(Job* job, uint64_t first, uint64_t end) {
  const LaunchRecord& launch = *job->launch;
  const FlatRange range = {launch.grid,     launch.block,    first, end, job->num_blocks,
                           job->flat_order, job->options->order == kReverse};
  launch.kernel->run_flat(launch.arguments, &range);
}

static void work(Worker* worker, Job* job) {
  const LaunchRecord& launch = *job->launch;
  if (launch.kernel->call) {
    worker->kernel = launch.kernel;
    worker->arguments = launch.arguments;
    worker->block.dim = launch.block;
    worker->block.grid_dim = launch.grid;
    worker->failed = false;
    lay_out(worker, launch.block, *job->options);
  }
  while (!__atomic_load_n(&job->failed, __ATOMIC_RELAXED)) {
    const uint64_t first = __atomic_fetch_add(&job->next_block, job->chunk, __ATOMIC_RELAXED);
    if (first >= job->num_blocks) return;
    const uint64_t end =
        job->num_blocks - first < job->chunk ? job->num_blocks : first + job->chunk;
    if (launch.kernel->run_flat) {
      run_flat_blocks(job, first, end);
    } else if (!run_fiber_blocks(worker, job, first, end)) {
      return;
    }
  }
}

// ---- The pool

enum {
  kSpins = 400,              // some 20 microseconds: the gap between two launches of a graph
  kHelperCostNs = 20 * 1000,  // a launch below this runs on its caller alone
};

static struct Pool {
  pthread_mutex_t mutex;
  pthread_cond_t work_came, job_done;
  Job* jobs;        // those that want helpers
  int num_waiting;  // jobs in the list, read without the mutex while spinning
  int num_helpers;
  Worker* free_workers;
} pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, nullptr, 0,
          0,                         nullptr};

static Worker* take_worker() {
  pthread_mutex_lock(&pool.mutex);
  Worker* worker = pool.free_workers;
  if (worker) pool.free_workers = worker->next_free;
  pthread_mutex_unlock(&pool.mutex);
  if (worker) return worker;
  worker = new_worker();
  if (worker) reset_stacks(worker);
  return worker;
}

static void give_back_worker(Worker* worker) {
  pthread_mutex_lock(&pool.mutex);
  worker->next_free = pool.free_workers;
  pool.free_workers = worker;
  pthread_mutex_unlock(&pool.mutex);
}

static void unlist(Job* job) {
  for (Job** link = &pool.jobs; *link; link = &(*link)->next) {
    if (*link != job) continue;
    *link = job->next;
    __atomic_fetch_sub(&pool.num_waiting, 1, __ATOMIC_RELAXED);
    return;
  }
}

static void* help(void*) {
  Worker* worker = take_worker();
  this_worker = worker;
  pthread_mutex_lock(&pool.mutex);
  while (worker) {
    Job* job = pool.jobs;
    if (!job) {
      pthread_mutex_unlock(&pool.mutex);
      for (int i = 0; i < kSpins && !__atomic_load_n(&pool.num_waiting, __ATOMIC_RELAXED); ++i) {
        __builtin_ia32_pause();
      }
      pthread_mutex_lock(&pool.mutex);
      while (!pool.jobs) pthread_cond_wait(&pool.work_came, &pool.mutex);
      continue;
    }
    ++job->num_active;
    if (--job->num_wanted == 0) unlist(job);
    pthread_mutex_unlock(&pool.mutex);
    work(worker, job);
    pthread_mutex_lock(&pool.mutex);
    if (__atomic_sub_fetch(&job->num_active, 1, __ATOMIC_RELEASE) == 0) {
      pthread_cond_broadcast(&pool.job_done);
    }
  }
  pthread_mutex_unlock(&pool.mutex);
  return nullptr;
}

// fork() holds the mutex, so that the child never sees half an update nor half a new thread.
static void lock_pool() { pthread_mutex_lock(&pool.mutex); }
static void unlock_pool() { pthread_mutex_unlock(&pool.mutex); }

// In the child only the thread that forked lives on.
static void forget_pool() {
  pool.mutex = PTHREAD_MUTEX_INITIALIZER;
  pool.work_came = pool.job_done = PTHREAD_COND_INITIALIZER;
  pool.jobs = nullptr;
  pool.num_waiting = pool.num_helpers = 0;
}

// While the library loads: a fork() under way elsewhere knows no handler registered after it began.
static __attribute__((constructor)) void register_fork_handlers() {
  pthread_atfork(lock_pool, unlock_pool, forget_pool);
}

// Called with the mutex held. Fewer helpers than asked for is no error: the caller works anyway.
static void start_helpers(int num_helpers) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);  // signals are the Python threads' business
  while (pool.num_helpers < num_helpers) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, help, nullptr) != 0) break;
    pthread_detach(thread);
    ++pool.num_helpers;
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

static void run_with_helpers(Worker* worker, Job* job, int num_helpers) {
  job->num_wanted = num_helpers;
  pthread_mutex_lock(&pool.mutex);
  start_helpers(num_helpers);
  job->next = pool.jobs;
  pool.jobs = job;
  __atomic_fetch_add(&pool.num_waiting, 1, __ATOMIC_RELAXED);
  pthread_cond_broadcast(&pool.work_came);
  pthread_mutex_unlock(&pool.mutex);

  work(worker, job);

  pthread_mutex_lock(&pool.mutex);
  unlist(job);
  pthread_mutex_unlock(&pool.mutex);
  for (int i = 0; i < kSpins && __atomic_load_n(&job->num_active, __ATOMIC_ACQUIRE); ++i) {
    __builtin_ia32_pause();
  }
  pthread_mutex_lock(&pool.mutex);
  while (job->num_active) pthread_cond_wait(&pool.job_done, &pool.mutex);
  pthread_mutex_unlock(&pool.mutex);
}

static uint64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1000000000u + uint64_t(time.tv_nsec);
}

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t larger(uint64_t a, uint64_t b) { return a < b ? b : a; }

static bool run_launch(Worker* worker, LaunchRecord* launch, const RunOptions* options,
                       RunError* error) {
  const uint3 grid = launch->grid;
  Job job = {};
  job.launch = launch;
  job.options = options;
  job.error = error;
  job.num_blocks = uint64_t(grid.x) * grid.y * grid.z;
  const unsigned num_threads = count_threads(launch->block);
  unsigned ranks[kMaxThreads];
  uint64_t smallest_chunk = 1;
  if (launch->kernel->run_flat) {
    if (options->order != kForward) {
      fill_order(ranks, num_threads, *options);
      job.flat_order = ranks;
    }
    smallest_chunk = larger(4096 / num_threads, 1);
  }
  const uint64_t workers = uint64_t(options->num_workers);
  job.chunk = larger(smallest_chunk, smaller(job.num_blocks / (workers * 16), 64));
  const uint64_t num_chunks = (job.num_blocks + job.chunk - 1) / job.chunk;
  const bool worth = launch->cost_ns == 0 || launch->cost_ns > kHelperCostNs;
  const int num_helpers = worth ? int(smaller(workers, num_chunks)) - 1 : 0;
#if defined(CUHOST_CHECK)
  if (!begin_launch(worker->checker, *launch)) {
    snprintf(error->text, sizeof error->text, "no memory for the check of a launch");
    return false;
  }
#endif
  const uint64_t start = now_ns();
  if (num_helpers > 0) {
    run_with_helpers(worker, &job, num_helpers);
  } else {
    work(worker, &job);
  }
  launch->cost_ns = (now_ns() - start) * uint64_t(num_helpers + 1) + 1;
  return !job.failed;
}

// Runs the launches in order.
//
// Returns 0 when all ran. Otherwise the error names the launch and what happened; the launches
// after it did not run.
CUHOST_API int cuhost_run(LaunchRecord* launches, int num_launches, const RunOptions* options,
                          RunError* error) {
  Worker* worker = take_worker();
  error->launch = 0;
  error->kind = kSystem;
  if (!worker) {
    snprintf(error->text, sizeof error->text, "no memory for the stacks of the emulated threads");
    return 1;
  }
  this_worker = worker;
  int failed = 0;
  for (int i = 0; i < num_launches && !failed; ++i) {
    if (run_launch(worker, &launches[i], options, error)) continue;
    error->launch = i;
    failed = 1;
  }
  this_worker = nullptr;
  give_back_worker(worker);
  return failed;
}
