// Copies from global to shared memory that threads have begun and not waited for (cp.async).
#pragma once
#include <stdint.h>
#include <string.h>

#include "runtime.h"

namespace cuhost {

// More than that cannot be in flight without two of them writing to one place.
enum { kMaxAsyncCopies = kMaxSharedBytes / 4 };

struct AsyncCopy {
  char* to;
  const char* from;
  uint32_t num_bytes, num_valid_bytes;  // the rest becomes zero
  uint16_t rank, next;                  // of the thread; of the copy that it began next
  uint32_t group;
};

// Those of one block, in the order in which each thread began them. A copy is made when its thread
// waits for it: until then the destination keeps what it had, so that a wait that is missing or too
// weak gives wrong results.
class AsyncCopies {
 public:
  // False: there are too many. `to`, `from`, the sizes and the rank are to be set.
  bool add(AsyncCopy copy) {
    Thread& thread = threads_[copy.rank];
    uint16_t number = first_free_;
    if (number != kNone) {
      first_free_ = copies_[number].next;
    } else if (num_used_ < kMaxAsyncCopies) {
      number = uint16_t(num_used_++);
    } else {
      return false;
    }
    copy.next = kNone;
    copy.group = thread.num_commits;
    copies_[number] = copy;
    (thread.first == kNone ? thread.first : copies_[thread.last].next) = number;
    thread.last = number;
    return true;
  }

  void commit(unsigned rank) { ++threads_[rank].num_commits; }

  uint32_t num_commits(unsigned rank) const { return threads_[rank].num_commits; }

  // The oldest copy of a thread, out of the first `num_groups` groups; null: there is none.
  const AsyncCopy* oldest(unsigned rank, uint64_t num_groups) const {
    const Thread& thread = threads_[rank];
    if (thread.first == kNone || copies_[thread.first].group >= num_groups) return nullptr;
    return &copies_[thread.first];
  }

  // Makes a thread's oldest copy.
  void complete_oldest(unsigned rank) {
    Thread& thread = threads_[rank];
    const uint16_t number = thread.first;
    AsyncCopy& copy = copies_[number];
    memcpy(copy.to, copy.from, copy.num_valid_bytes);
    memset(copy.to + copy.num_valid_bytes, 0, copy.num_bytes - copy.num_valid_bytes);
    thread.first = copy.next;
    copy.next = first_free_;
    first_free_ = number;
  }

  // A copy in flight that reads some of these bytes, or null.
  const AsyncCopy* reader_of(const char* first, size_t num_bytes) const {
    for (unsigned rank = 0; rank < num_threads_; ++rank) {
      for (uint16_t i = threads_[rank].first; i != kNone; i = copies_[i].next) {
        const AsyncCopy& copy = copies_[i];
        if (first < copy.from + copy.num_valid_bytes && copy.from < first + num_bytes) return &copy;
      }
    }
    return nullptr;
  }

  // Forgets all, unless it is of this block. Blocks that use none never call it.
  void begin_block(uint64_t block_serial, unsigned num_threads) {
    if (block_serial == block_serial_) return;
    block_serial_ = block_serial;
    num_threads_ = num_threads;
    num_used_ = 0;
    first_free_ = kNone;
    for (unsigned rank = 0; rank < num_threads; ++rank) threads_[rank] = {kNone, kNone, 0};
  }

 private:
  enum : uint16_t { kNone = 0xffff };

  struct Thread {
    uint16_t first, last;
    uint32_t num_commits;
  };

  Thread threads_[kMaxThreads];
  AsyncCopy copies_[kMaxAsyncCopies];
  uint64_t block_serial_;
  unsigned num_threads_, num_used_;
  uint16_t first_free_;
};

}  // namespace cuhost
