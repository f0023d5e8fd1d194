// Elements are moved, not computed with, so a kernel sees them as words of 1 to 16 bytes. A word may
// hold several elements; tensors moved so come as void pointers.
#pragma once

struct alignas(16) Word16 {
  unsigned long long low;
  unsigned long long high;
};
