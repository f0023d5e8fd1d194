// Undoes a MaxPool with indices: y is 0 but for the elements of x, each at its index.
//
// Indices count the elements of the tensor of `inner` shape, which lies in y at its beginning. Where
// two elements have one index, the last wins. An index outside is reported and left out.
//
// WORD: the type moved. RANK: axes of y.
#include "device.cuh"

// owners[index] = the last element that goes there; -1 before. One thread an element.
extern "C" __global__ void __launch_bounds__(256)
    claim_places(const long long* __restrict__ indices, int* __restrict__ owners, long long count,
                 long long num_places, unsigned* error_word, unsigned error_code) {
  const long long element = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (element >= count) return;
  const long long index = indices[element];
  if (index < 0 || index >= num_places) {
    cg_report_index_error(error_word, error_code);
  } else {
    atomicMax(owners + index, int(element));
  }
}

// One thread an element of y.
extern "C" __global__ void __launch_bounds__(256)
    max_unpool(const WORD* __restrict__ x, const int* __restrict__ owners, WORD* __restrict__ y,
               long long count, CG_PARAM Dims shape, CG_PARAM Dims inner) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  long long rest = position, place = 0, stride = 1;
  bool is_inside = true;
#pragma unroll
  for (int d = RANK - 1; d >= 0; --d) {
    const long long next = rest / shape.v[d], coordinate = rest - next * shape.v[d];
    is_inside = is_inside && coordinate < inner.v[d];
    place += coordinate * stride;
    stride *= inner.v[d];
    rest = next;
  }
  const int owner = is_inside ? owners[place] : -1;
  y[position] = owner < 0 ? (WORD)0 : x[owner];
}
