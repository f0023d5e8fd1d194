// Index data of a run, checked before it becomes an address.
#pragma once
#include "device.cuh"

// Counts a negative index from the end. Out of [-size, size): reports, and returns false.
CG_DEV bool resolve_index(long long& index, long long size, unsigned* error_word,
                          unsigned error_code) {
  if (index < 0) index += size;
  if (index >= 0 && index < size) return true;
  cg_report_index_error(error_word, error_code);
  return false;
}
