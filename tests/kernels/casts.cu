// What tests/kernels/test_casts.py launches, on the CPU and on a GPU: casts from and to NARROW.
// UNSATURATED: of a float x.
#include "device.cuh"
#include "narrow.cuh"

template <class To, class From>
CG_DEV void cast_at(int i, const void* from, void* to) {
  static_cast<To*>(to)[i] = cg_cast<To>(static_cast<const From*>(from)[i]);
}

// One kernel for all casts of a type, which is compiled once.
extern "C" __global__ void cast(const void* from, void* to, int which, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (which == 0) cast_at<float, NARROW>(i, from, to);
  if (which == 1) cast_at<half, NARROW>(i, from, to);
  if (which == 2) cast_at<int, NARROW>(i, from, to);
  if (which == 3) cast_at<bool, NARROW>(i, from, to);
  if (which == 4) cast_at<NARROW, half>(i, from, to);
  if (which == 5) cast_at<NARROW, float>(i, from, to);
  if (which == 6) cast_at<NARROW, double>(i, from, to);
  if (which == 7) cast_at<NARROW, int>(i, from, to);
  if (which == 8) cast_at<NARROW, long long>(i, from, to);
  if (which == 9) cast_at<NARROW, unsigned long long>(i, from, to);
  if (which == 10) cast_at<NARROW, bool>(i, from, to);
  if (which == 11) {
    const float x = static_cast<const float*>(from)[i];
    static_cast<NARROW*>(to)[i] = UNSATURATED;
  }
}
