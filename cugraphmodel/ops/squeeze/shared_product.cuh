#pragma once
// Products of a row of weights and a vector in shared memory, made by a few neighbouring lanes.
#include "device.cuh"
#include "acc_pack.cuh"

// What one of kLanes lanes has of the product of `size` elements, kWidth of which come in one load.
template <int kLanes, int kWidth, class Scalar, class Accumulator>
CG_DEV Accumulator share_of_product(const Scalar* row, const Accumulator* elements, int size) {
  Accumulator sum = Accumulator(0);
#pragma unroll 2
  for (int k = threadIdx.x % kLanes * kWidth; k < size; k += kLanes * kWidth) {
    const AccPack<Scalar, kWidth> weight(row + k);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sum = cg_fma(weight.v[i], elements[k + i], sum);
  }
  return sum;
}

// Over kLanes neighbouring lanes; all of a warp must call it.
template <int kLanes, class Accumulator>
CG_DEV Accumulator sum_of_lanes(Accumulator sum) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  }
  return sum;
}
