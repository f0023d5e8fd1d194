// The check mode's half of the runtime; compiled with CUHOST_CHECK only.
//
// Kernels are compiled with -fsanitize=thread and parts of -fsanitize=undefined, but linked without
// those sanitizers: what the compiler then calls is defined here. Each access is looked up among
// the arguments of the launch and the shared arrays of the block.
//
// Races are found from what ordered two accesses, not from the order in which they happened to run.
// Two accesses of one block are ordered by a block barrier between them, or within a warp by
// __syncwarp; two blocks of one launch are never ordered. Shuffles order nothing.
#include "checker.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define COLD __attribute__((cold, noinline))

namespace cuhost {

enum How : unsigned { kRead = 1, kWrite = 2, kAtomic = 4 };

// The last one or more accesses to an element. `block` counts blocks of all launches; 0: none.
struct Access {
  uint32_t block, who, barriers, warp_syncs;
};
enum : uint32_t {
  kRankMask = 0xffff,
  kWasAtomic = 1u << 16,
  // Several threads have read since the last order: of one warp, of several, of several blocks.
  kManyLanes = 1u << 17,
  kManyWarps = 1u << 18,
  kManyBlocks = 1u << 19,
};
struct Cell {
  Access write, read;
};

// Memory that the kernel may access.
struct Region {
  char* first;
  size_t num_bytes;
  uint8_t* initialised;  // null: all of it is
  Cell* cells;           // one per element; null: read only
  const char* name;
  unsigned element_bytes;
  bool is_struct;
};

enum : size_t { kSharedBytes = kMaxSharedBytes + (kMaxSharedSlots + 1) * kRedzoneBytes };

struct Module {
  size_t inside, base, first, end;  // `inside`: an address in it, by which it is found
};

struct Checker {
  Memory stacks, worker;
  char* shared;
  Module module;
  const Kernel* kernel;

  unsigned rank;  // of the thread that runs
  uint32_t block, first_block_of_launch, barriers;
  uint32_t warp_syncs[kMaxThreads];  // by rank: how many __syncwarp it has passed

  Region* tensors;
  size_t num_tensors, tensor_capacity;
  Cell* cells;
  size_t num_cells;

  Region slots[kMaxSharedSlots + 1];
  size_t num_slots;
  Cell* shared_cells;
  uint8_t* shared_initialised;
  Region* last;  // that was accessed

  const AsyncCopies* copies;
  uint16_t* in_flight;  // by byte of shared memory: 1 + rank of the thread that copies to it, or 0
  size_t num_in_flight;  // bytes
};

// Set while threads of a block run.
static __thread Checker* active __attribute__((tls_model("initial-exec")));

static COLD __attribute__((noreturn, format(printf, 3, 4))) void found(Kind kind, const char* memory,
                                                                      const char* format, ...) {
  va_list values;
  va_start(values, format);
  fail_with(kind, memory, nullptr, 0, format, values);
}

// ---- What the runtime tells

static void* map_memory(size_t num_bytes) {
  void* address = mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

Checker* new_checker(Memory stacks, Memory worker, char* shared, const AsyncCopies* copies) {
  Checker* checker = static_cast<Checker*>(map_memory(sizeof(Checker)));
  if (!checker) return nullptr;
  checker->stacks = stacks;
  checker->worker = worker;
  checker->shared = shared;
  checker->copies = copies;
  checker->shared_cells = static_cast<Cell*>(map_memory(kSharedBytes * sizeof(Cell)));
  checker->shared_initialised = static_cast<uint8_t*>(map_memory(kSharedBytes));
  checker->in_flight = static_cast<uint16_t*>(map_memory(kSharedBytes * sizeof(uint16_t)));
  const bool has_all =
      checker->shared_cells && checker->shared_initialised && checker->in_flight;
  return has_all ? checker : nullptr;
}

// For dl_iterate_phdr: fills in the module that `inside` lies in.
static int find_module(dl_phdr_info* info, size_t, void* data) {
  Module* module = static_cast<Module*>(data);
  size_t first = ~size_t(0), end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const size_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (start < first) first = start;
    if (start + info->dlpi_phdr[i].p_memsz > end) end = start + info->dlpi_phdr[i].p_memsz;
  }
  if (module->inside < first || module->inside >= end) return 0;
  *module = {module->inside, info->dlpi_addr, first, end};
  return 1;
}

// Members of a struct may be accessed one by one.
static unsigned cell_bytes(unsigned element_bytes) { return element_bytes ? element_bytes : 4; }

static size_t cell_count(const Tensor& tensor) {
  const unsigned num_bytes = cell_bytes(tensor.element_bytes);
  return (tensor.num_bytes + num_bytes - 1) / num_bytes;
}

static COLD bool provide_cells(Checker* checker, size_t count) {
  if (checker->cells) munmap(checker->cells, checker->num_cells * sizeof(Cell));
  checker->cells = static_cast<Cell*>(map_memory(count * sizeof(Cell)));
  checker->num_cells = checker->cells ? count : 0;
  return checker->cells != nullptr;
}

static COLD bool provide_regions(Checker* checker, size_t count) {
  Region* regions = static_cast<Region*>(realloc(checker->tensors, count * sizeof(Region)));
  if (!regions) return false;
  checker->tensors = regions;
  checker->tensor_capacity = count;
  return true;
}

bool begin_launch(Checker* checker, const LaunchRecord& launch) {
  if (checker->kernel != launch.kernel) {
    checker->kernel = launch.kernel;
    checker->module.inside = reinterpret_cast<size_t>(launch.kernel);
    dl_iterate_phdr(find_module, &checker->module);
  }
  size_t num_cells = 0;
  for (size_t i = 0; i < launch.num_tensors; ++i) {
    if (!launch.tensors[i].is_const) num_cells += cell_count(launch.tensors[i]);
  }
  // A cell of an earlier launch is told by its block's number, until those numbers run out.
  const bool used_up = checker->block >= 1u << 31;
  if (used_up) memset(checker->shared_cells, 0, kSharedBytes * sizeof(Cell));
  if (used_up) checker->block = 0;
  if ((used_up || num_cells > checker->num_cells) && !provide_cells(checker, num_cells)) return false;
  if (launch.num_tensors > checker->tensor_capacity &&
      !provide_regions(checker, launch.num_tensors)) {
    return false;
  }
  Cell* cells = checker->cells;
  for (size_t i = 0; i < launch.num_tensors; ++i) {
    const Tensor& tensor = launch.tensors[i];
    checker->tensors[i] = {tensor.first,       tensor.num_bytes,
                           tensor.initialised, tensor.is_const ? nullptr : cells,
                           tensor.name,        cell_bytes(tensor.element_bytes),
                           tensor.element_bytes == 0};
    if (!tensor.is_const) cells += cell_count(tensor);
  }
  checker->num_tensors = launch.num_tensors;
  checker->num_slots = 0;
  checker->last = nullptr;
  checker->first_block_of_launch = checker->block + 1;
  return true;
}

void begin_block(Checker* checker) {
  ++checker->block;
  checker->barriers = 0;
  checker->num_slots = 0;
  checker->last = nullptr;
  if (checker->num_in_flight) memset(checker->in_flight, 0, kSharedBytes * sizeof(uint16_t));
  checker->num_in_flight = 0;
  memset(checker->warp_syncs, 0, sizeof checker->warp_syncs);
  active = checker;
}

void end_block() { active = nullptr; }

void set_rank(Checker* checker, unsigned rank) { checker->rank = rank; }

void block_synchronised(Checker* checker) { ++checker->barriers; }

void warp_synchronised(Checker* checker, unsigned rank) { ++checker->warp_syncs[rank]; }

void add_shared_slot(Checker* checker, char* first, size_t num_bytes, unsigned element_bytes,
                     const char* name) {
  const size_t offset = size_t(first - checker->shared);
  memset(checker->shared_initialised + offset, 0, num_bytes);
  checker->slots[checker->num_slots++] = {
      first, num_bytes, checker->shared_initialised + offset, checker->shared_cells + offset,
      name,  cell_bytes(element_bytes), element_bytes == 0};
}

void collect_frames(const Checker* checker, void* frame, RunError* error) {
  const Memory& stacks = checker->stacks;
  error->num_frames = 0;
  for (int depth = 0; depth < 4 * kMaxFrames && error->num_frames < kMaxFrames; ++depth) {
    if (size_t(static_cast<char*>(frame) - stacks.first) > stacks.num_bytes - 2 * sizeof(void*)) {
      return;
    }
    void** words = static_cast<void**>(frame);
    const size_t caller = reinterpret_cast<size_t>(words[1]) - 1;  // within the call itself
    if (caller >= checker->module.first && caller < checker->module.end) {
      error->frames[error->num_frames++] = caller - checker->module.base;
    }
    if (words[0] <= frame) return;
    frame = words[0];
  }
}

// ---- Accesses

static const char* verb(unsigned how) {
  return how & kAtomic ? "atomic access" : how & kWrite ? "write" : "read";
}

static size_t distance(const Region& region, const char* address) {
  if (address < region.first) return size_t(region.first - address);
  const char* end = region.first + region.num_bytes;
  return address < end ? 0 : size_t(address - end);
}

static const Region* nearest(const Region* regions, size_t count, const char* address) {
  const Region* best = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (!best || distance(regions[i], address) < distance(*best, address)) best = &regions[i];
  }
  return best;
}

static bool is_in_shared(const Checker* checker, const char* address) {
  return size_t(address - checker->shared) < kSharedBytes;
}

static COLD void outside(Checker* checker, char* address, size_t num_bytes, unsigned how) {
  const size_t place = reinterpret_cast<size_t>(address);
  // The compiler's tables of constants are in the kernel's library.
  if (place >= checker->module.first && place < checker->module.end && how == kRead) return;
  if (place < 4096) {
    found(kMemcheck, nullptr, "%s of %zu bytes through a null pointer", verb(how), num_bytes);
  }
  const Region* region = is_in_shared(checker, address)
                             ? nearest(checker->slots, checker->num_slots, address)
                             : nearest(checker->tensors, checker->num_tensors, address);
  if (!region) found(kMemcheck, nullptr, "%s of %zu bytes outside all memory", verb(how), num_bytes);
  found(kMemcheck, region->name, "%s of %zu bytes at byte %td of %s, which has %zu bytes",
        verb(how), num_bytes, address - region->first, region->name, region->num_bytes);
}

static Region* search(Region* regions, size_t count, const char* address, size_t num_bytes) {
  for (size_t i = 0; i < count; ++i) {
    const size_t offset = size_t(address - regions[i].first);
    if (offset < regions[i].num_bytes && num_bytes <= regions[i].num_bytes - offset) {
      return &regions[i];
    }
  }
  return nullptr;
}

// Whether all that an access stands for came before what the running thread does now.
static bool is_ordered(const Checker* checker, const Access& before) {
  if (before.block != checker->block) return false;
  if (before.barriers < checker->barriers) return true;
  const uint32_t rank = before.who & kRankMask;
  if (before.who & kManyWarps || rank / kWarpSize != checker->rank / kWarpSize) return false;
  if (before.warp_syncs < checker->warp_syncs[checker->rank]) return true;
  return rank == checker->rank && !(before.who & kManyLanes);
}

static bool is_current(const Checker* checker, const Access& access, bool is_shared) {
  return is_shared ? access.block == checker->block
                   : access.block >= checker->first_block_of_launch;
}

static COLD void race(const Checker* checker, const char* hazard, const Region* region,
                      size_t offset, const Access& other) {
  char block[64] = "";
  if (other.block != checker->block) {
    snprintf(block, sizeof block, "of block %u ", other.block - checker->first_block_of_launch);
  }
  found(kRacecheck, region->name,
        "%s hazard at byte %zu of %s: thread %u %saccessed it with no barrier in between", hazard,
        offset, region->name, other.who & kRankMask, block);
}

static void note_read(const Checker* checker, Access& read, bool is_current_read) {
  uint32_t many = 0;
  if (is_current_read && read.block != checker->block) {
    many = kManyBlocks;
  } else if (is_current_read) {
    many = read.who & kManyBlocks;
    if (!is_ordered(checker, read)) {
      const uint32_t rank = read.who & kRankMask;
      many |= read.who & (kManyLanes | kManyWarps);
      if (rank / kWarpSize != checker->rank / kWarpSize) many |= kManyWarps;
      if (rank != checker->rank) many |= kManyLanes;
    }
  }
  read = {checker->block, checker->rank | many, checker->barriers,
          checker->warp_syncs[checker->rank]};
}

static void check_race(const Checker* checker, const Region* region, size_t offset, Cell& cell,
                       unsigned how, bool is_shared) {
  const bool both_atomic = how & kAtomic && cell.write.who & kWasAtomic;
  if (is_current(checker, cell.write, is_shared) && !both_atomic &&
      !is_ordered(checker, cell.write)) {
    race(checker, how & kWrite ? "write-after-write" : "read-after-write", region, offset,
         cell.write);
  }
  const bool was_read = is_current(checker, cell.read, is_shared);
  if (!(how & kWrite)) {
    if (!(how & kAtomic)) note_read(checker, cell.read, was_read);
    return;
  }
  if (was_read && (cell.read.who & kManyBlocks || !is_ordered(checker, cell.read))) {
    race(checker, "write-after-read", region, offset, cell.read);
  }
  cell.write = {checker->block, checker->rank | (how & kAtomic ? kWasAtomic : 0),
                checker->barriers, checker->warp_syncs[checker->rank]};
}

static void check_initialised(const Region* region, size_t offset, size_t num_bytes, unsigned how) {
  uint8_t* marks = region->initialised + offset;
  if (how & kWrite) {
    memset(marks, 1, num_bytes);
    return;
  }
  // Copies of a struct read its padding too, which is nobody's to write.
  const size_t step = region->is_struct && num_bytes > 4 ? 8 : 1;
  for (size_t i = 0; i < num_bytes; i += step) {
    if (LIKELY(marks[i])) continue;
    found(kInitcheck, region->name, "%s of %zu bytes at byte %zu of %s, which nobody wrote",
          verb(how), num_bytes, offset, region->name);
  }
}

// Nobody may touch what an async copy writes to, nor write to what it reads.
static void check_in_flight(const Checker* checker, const Region* region, const char* address,
                            size_t num_bytes, unsigned how) {
  const size_t offset = size_t(address - region->first);
  if (is_in_shared(checker, address)) {
    const uint16_t* owners = checker->in_flight + (address - checker->shared);
    for (size_t i = 0; i < num_bytes; ++i) {
      if (LIKELY(!owners[i])) continue;
      found(kRacecheck, region->name,
            "async copy into %s not waited for: %s of %zu bytes at byte %zu, to which thread %d "
            "copies",
            region->name, verb(how), num_bytes, offset, owners[i] - 1);
    }
  } else if (how & kWrite && region->cells) {
    const AsyncCopy* copy = checker->copies->reader_of(address, num_bytes);
    if (LIKELY(!copy)) return;
    found(kRacecheck, region->name,
          "async copy out of %s not waited for: %s of %zu bytes at byte %zu, from which thread %d "
          "copies",
          region->name, verb(how), num_bytes, offset, copy->rank);
  }
}

static void access(void* pointer, size_t num_bytes, size_t alignment, unsigned how) {
  Checker* checker = active;
  if (UNLIKELY(!checker)) return;
  char* address = static_cast<char*>(pointer);
  if (LIKELY(size_t(address - checker->stacks.first) < checker->stacks.num_bytes)) return;
  if (size_t(address - checker->worker.first) < checker->worker.num_bytes) return;
  if (UNLIKELY(num_bytes == 0)) return;
  Region* region = checker->last;
  const size_t into_last = region ? size_t(address - region->first) : 0;
  if (!region || into_last >= region->num_bytes || num_bytes > region->num_bytes - into_last) {
    region = search(checker->slots, checker->num_slots, address, num_bytes);
    if (!region) region = search(checker->tensors, checker->num_tensors, address, num_bytes);
    if (!region) return outside(checker, address, num_bytes, how);
    checker->last = region;
  }
  const size_t offset = size_t(address - region->first);
  if (UNLIKELY(reinterpret_cast<size_t>(pointer) % alignment != 0)) {
    found(kMemcheck, region->name, "misaligned %s of %zu bytes at byte %zu of %s", verb(how),
          num_bytes, offset, region->name);
  }
  if (UNLIKELY(checker->num_in_flight)) {
    check_in_flight(checker, region, address, num_bytes, how);
  }
  if (region->initialised) check_initialised(region, offset, num_bytes, how);
  if (!region->cells) {
    if (LIKELY(!(how & kWrite))) return;
    found(kMemcheck, region->name, "write of %zu bytes at byte %zu of %s, which is const",
          num_bytes, offset, region->name);
  }
  const bool is_shared = is_in_shared(checker, address);
  const size_t last = (offset + num_bytes - 1) / region->element_bytes;
  for (size_t i = offset / region->element_bytes; i <= last; ++i) {
    check_race(checker, region, i * region->element_bytes, region->cells[i], how, is_shared);
  }
}

// ---- Asynchronous copies

static void expect_multiple(const void* pointer, size_t alignment, const char* what) {
  if (LIKELY(reinterpret_cast<size_t>(pointer) % alignment == 0)) return;
  found(kMemcheck, nullptr, "misaligned async copy: its %s must be a multiple of %zu", what,
        alignment);
}

// The destination counts as written, the source as read, when the copy begins and once more when its
// thread waits for it: others may touch them before the one and after the other, if a barrier lies
// in between.
void begin_async_copy(Checker* checker, const AsyncCopy& copy) {
  const size_t num_bytes = copy.num_bytes, num_valid_bytes = copy.num_valid_bytes;
  if (num_valid_bytes > num_bytes) {
    found(kMemcheck, nullptr, "an async copy of %zu bytes has %zu valid ones", num_bytes,
          num_valid_bytes);
  }
  expect_multiple(copy.to, num_bytes, "destination");
  expect_multiple(copy.from, num_bytes, "source");
  if (!is_in_shared(checker, copy.to)) {
    found(kMemcheck, nullptr, "async copy to memory that is not shared");
  }
  const bool on_stack = size_t(copy.from - checker->stacks.first) < checker->stacks.num_bytes;
  if (num_valid_bytes && (on_stack || is_in_shared(checker, copy.from))) {
    found(kMemcheck, nullptr, "async copy from memory that is not global");
  }
  access(const_cast<char*>(copy.from), num_valid_bytes, 1, kRead);
  access(copy.to, num_bytes, 1, kWrite);
  memset(copy.to, 0xff, num_bytes);
  uint16_t* owners = checker->in_flight + (copy.to - checker->shared);
  for (size_t i = 0; i < num_bytes; ++i) owners[i] = uint16_t(copy.rank + 1);
  checker->num_in_flight += num_bytes;
}

void end_async_copy(Checker* checker, const AsyncCopy& copy) {
  memset(checker->in_flight + (copy.to - checker->shared), 0, copy.num_bytes * sizeof(uint16_t));
  checker->num_in_flight -= copy.num_bytes;
  access(const_cast<char*>(copy.from), copy.num_valid_bytes, 1, kRead);
  access(copy.to, copy.num_bytes, 1, kWrite);
}

static COLD __attribute__((noreturn)) void undefined(Kind kind, const char* file, unsigned line,
                                                     const char* format, ...) {
  va_list values;
  va_start(values, format);
  fail_with(kind, nullptr, file, line, format, values);
}

}  // namespace cuhost

using namespace cuhost;

CUHOST_API void cuhost_expect_aligned(const void* pointer, unsigned alignment) {
  if (reinterpret_cast<size_t>(pointer) % alignment == 0) return;
  found(kMemcheck, nullptr, "misaligned access: the address must be a multiple of %u", alignment);
}

CUHOST_API void cuhost_expect_shared(const void* pointer, unsigned alignment) {
  cuhost_expect_aligned(pointer, alignment);
  if (is_in_shared(active, static_cast<const char*>(pointer))) return;
  found(kMemcheck, nullptr, "the address is not in shared memory");
}

// ---- What -fsanitize=thread calls

#define HOOKS(N)                                                                                 \
  CUHOST_API void __tsan_read##N(void* p) { access(p, N, N, kRead); }                            \
  CUHOST_API void __tsan_write##N(void* p) { access(p, N, N, kWrite); }                          \
  CUHOST_API void __tsan_unaligned_read##N(void* p) { access(p, N, 1, kRead); }                  \
  CUHOST_API void __tsan_unaligned_write##N(void* p) { access(p, N, 1, kWrite); }                \
  CUHOST_API void __tsan_volatile_read##N(void* p) { access(p, N, N, kRead); }                   \
  CUHOST_API void __tsan_volatile_write##N(void* p) { access(p, N, N, kWrite); }                 \
  CUHOST_API void __tsan_unaligned_volatile_read##N(void* p) { access(p, N, 1, kRead); }         \
  CUHOST_API void __tsan_unaligned_volatile_write##N(void* p) { access(p, N, 1, kWrite); }       \
  CUHOST_API void __tsan_read_write##N(void* p) {                                                \
    access(p, N, N, kRead);                                                                      \
    access(p, N, N, kWrite);                                                                     \
  }                                                                                              \
  CUHOST_API void __tsan_unaligned_read_write##N(void* p) {                                      \
    access(p, N, 1, kRead);                                                                      \
    access(p, N, 1, kWrite);                                                                     \
  }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
#undef HOOKS

CUHOST_API void __tsan_read_range(void* p, size_t n) { access(p, n, 1, kRead); }
CUHOST_API void __tsan_write_range(void* p, size_t n) { access(p, n, 1, kWrite); }
CUHOST_API void* __tsan_memcpy(void* to, const void* from, size_t n) {
  access(const_cast<void*>(from), n, 1, kRead);
  access(to, n, 1, kWrite);
  return memcpy(to, from, n);
}
CUHOST_API void* __tsan_memmove(void* to, const void* from, size_t n) {
  access(const_cast<void*>(from), n, 1, kRead);
  access(to, n, 1, kWrite);
  return memmove(to, from, n);
}
CUHOST_API void* __tsan_memset(void* to, int value, size_t n) {
  access(to, n, 1, kWrite);
  return memset(to, value, n);
}
CUHOST_API void __tsan_init() {}
CUHOST_API void __tsan_func_entry(void*) {}
CUHOST_API void __tsan_func_exit() {}
CUHOST_API void __tsan_atomic_thread_fence(int) {}

// One OS thread runs all blocks, so that ordinary memory accesses are atomic enough.
#define ATOMICS(BITS)                                                                            \
  typedef uint##BITS##_t Word##BITS;                                                             \
  CUHOST_API Word##BITS __tsan_atomic##BITS##_load(const Word##BITS* p, int) {                   \
    access(const_cast<Word##BITS*>(p), sizeof *p, sizeof *p, kRead | kAtomic);                   \
    return *p;                                                                                   \
  }                                                                                              \
  CUHOST_API void __tsan_atomic##BITS##_store(Word##BITS* p, Word##BITS value, int) {            \
    access(p, sizeof *p, sizeof *p, kWrite | kAtomic);                                           \
    *p = value;                                                                                  \
  }                                                                                              \
  CUHOST_API Word##BITS __tsan_atomic##BITS##_compare_exchange_val(                              \
      Word##BITS* p, Word##BITS expected, Word##BITS value, int, int) {                          \
    access(p, sizeof *p, sizeof *p, kRead | kAtomic);                                            \
    access(p, sizeof *p, sizeof *p, kWrite | kAtomic);                                           \
    const Word##BITS old = *p;                                                                   \
    if (old == expected) *p = value;                                                             \
    return old;                                                                                  \
  }                                                                                              \
  CUHOST_API int __tsan_atomic##BITS##_compare_exchange_strong(                                  \
      Word##BITS* p, Word##BITS* expected, Word##BITS value, int, int) {                         \
    const Word##BITS wanted = *expected;                                                         \
    *expected = __tsan_atomic##BITS##_compare_exchange_val(p, wanted, value, 0, 0);              \
    return *expected == wanted;                                                                  \
  }                                                                                              \
  CUHOST_API int __tsan_atomic##BITS##_compare_exchange_weak(                                    \
      Word##BITS* p, Word##BITS* expected, Word##BITS value, int, int) {                         \
    return __tsan_atomic##BITS##_compare_exchange_strong(p, expected, value, 0, 0);              \
  }
ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)
#undef ATOMICS

// ---- What -fsanitize=undefined calls; the first argument begins with where

struct SourceLocation {
  const char* file;
  uint32_t line, column;
};
#define UNDEFINED(name, kind, text)                                         \
  CUHOST_API void __ubsan_handle_##name(const SourceLocation* where, ...) { \
    if (active) undefined(kind, where->file, where->line, text);            \
  }
UNDEFINED(out_of_bounds, kUbcheck, "index outside an array")
UNDEFINED(shift_out_of_bounds, kUbcheck, "shift by a negative amount or by the type's bits or more")
UNDEFINED(add_overflow, kUbcheck, "signed integer overflow of +")
UNDEFINED(sub_overflow, kUbcheck, "signed integer overflow of -")
UNDEFINED(mul_overflow, kUbcheck, "signed integer overflow of *")
UNDEFINED(negate_overflow, kUbcheck, "signed integer overflow of unary -")
UNDEFINED(divrem_overflow, kUbcheck, "integer division by zero, or of the least integer by -1")
UNDEFINED(float_cast_overflow, kUbcheck, "a float outside the range of the integer it becomes")
UNDEFINED(type_mismatch_v1, kMemcheck, "access through a misaligned or null pointer")
#undef UNDEFINED
