// What Python hands to the runtime and gets back; runtime.py declares the same structs with ctypes.
#pragma once
#include <stdint.h>

#include "runtime.h"

namespace cuhost {

// An argument of a launch that points to memory, for the check mode.
struct Tensor {
  char* first;
  uint64_t num_bytes;
  uint8_t* initialised;  // one byte per byte: 1 if something wrote it; null: everything is
  const char* name;
  uint32_t element_bytes;  // 0: of a struct
  uint32_t is_const;
};

struct LaunchRecord {
  const Kernel* kernel;
  void** arguments;
  uint3 grid, block;
  uint64_t dynamic_bytes;
  uint64_t cost_ns;  // processor time of the last execution; 0: not known yet
  const Tensor* tensors;
  uint64_t num_tensors;
};

enum Order { kForward = 0, kReverse = 1, kRandom = 2 };

struct RunOptions {
  int32_t order;
  uint32_t seed;
  int32_t num_workers;
};

// What went wrong. The last five are the findings of the check mode; plain runs know the first four.
enum Kind {
  kSystem = 0,  // outside any thread
  kTrap = 1,
  kLimit = 2,
  kSynccheck = 3,
  kMemcheck = 4,
  kRacecheck = 5,
  kInitcheck = 6,
  kUbcheck = 7,
};

enum { kMaxFrames = 16 };

struct RunError {
  int32_t launch;
  int32_t kind;
  uint3 block, thread;
  char memory[128];              // the argument or shared array, or empty
  char file[256];                // where the compiler itself said so, else empty
  uint32_t line;
  uint32_t num_frames;           // check mode: calls, innermost first,
  uint64_t frames[kMaxFrames];   // as offsets into the kernel's library
  char text[1024];
};

}  // namespace cuhost
