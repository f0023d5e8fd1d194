// What TopK sorts: a value as an unsigned number in the wanted order, and its place in its line.
#pragma once
#include "device.cuh"

struct Entry {
  unsigned long long key;
  unsigned index;
};

// Greater keys first; of equal ones, the one that stands first in the line.
CG_DEV bool comes_before(const Entry& a, const Entry& b) {
  return a.key > b.key || (a.key == b.key && a.index < b.index);
}

// Bitonic sort: `a` is at `position`, `b` further on. Runs of `size` entries are sorted forwards
// and backwards in turn.
CG_DEV void compare_exchange(Entry& a, Entry& b, long long position, long long size) {
  const bool forwards = (position & size) == 0;
  if (comes_before(b, a) == forwards) {
    const Entry held = a;
    a = b;
    b = held;
  }
}
