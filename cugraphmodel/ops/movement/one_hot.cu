// target[outer, d, inner] = values[1] where indices[outer, inner] is d, else values[0]. Indices
// count from the end if negative; one out of range is nowhere d, which is no error (ONNX OneHot).
// One thread an element of the target.
//
// WORD: the type moved. INDICES: the type of the indices.
#include "device.cuh"

extern "C" __global__ void __launch_bounds__(256)
    one_hot(const INDICES* __restrict__ indices, const WORD* __restrict__ values,
            WORD* __restrict__ target, long long count, long long depth, long long inner_size) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const long long row = position / inner_size;
  const long long outer = row / depth;
  const long long inner = position - row * inner_size;
  long long index = cg_cast<long long>(indices[outer * inner_size + inner]);
  if (index < 0) index += depth;
  target[position] = values[index == row - outer * depth ? 1 : 0];
}
