// Writes to a tensor at positions that come from an index tensor. Every update u owns `inner_size`
// words and goes to one slot of the target, which has as many words:
//     slot(u) = sum_d coordinate_d(u) * beside.v[d] + sum_j indices[u, j] * strides.v[j]
// ScatterND has only the second sum (rank 0); ScatterElements has depth 1 and the coordinates of u
// in the index tensor, with a stride of 0 along the axis. Updates with an index out of range are
// reported and left out.
//
// Two updates may share a slot, and the result must not hang on the order of threads:
// `scatter_columns` takes the updates that can share one in one thread, in order; claim_slots and
// write_owned let the last update of each slot win.
//
// SCALAR: the element type, or the word moved. INDICES: int or long long. REDUCTION: reduce_*.
#include "device.cuh"
#include "index.cuh"
#include "word.cuh"

template <class T>
CG_DEV T reduce_none(T, T update) {
  return update;
}
// Integers wrap, hence unsigned: signed overflow is undefined in C++.
template <class T>
CG_DEV T reduce_add(T a, T b) {
  if constexpr (!CgSame<T, typename Acc<T>::type>::value) {
    return T(float(a) + float(b));
  } else if constexpr (CgLimits<T>::is_float) {
    return a + b;
  } else {
    return T((unsigned long long)a + (unsigned long long)b);
  }
}
template <class T>
CG_DEV T reduce_mul(T a, T b) {
  if constexpr (!CgSame<T, typename Acc<T>::type>::value) {
    return T(float(a) * float(b));
  } else if constexpr (CgLimits<T>::is_float) {
    return a * b;
  } else {
    return T((unsigned long long)a * (unsigned long long)b);
  }
}
template <class T>
CG_DEV T reduce_min(T a, T b) {
  typedef typename Acc<T>::type A;
  return cg_cast<T>(cg_min(A(a), A(b)));
}
template <class T>
CG_DEV T reduce_max(T a, T b) {
  typedef typename Acc<T>::type A;
  return cg_cast<T>(cg_max(A(a), A(b)));
}

// The slot of an update, or -1 if one of its indices is out of range.
CG_DEV long long find_slot(long long update, const INDICES* __restrict__ indices, int rank,
                           const Dims& shape, const Dims& beside, int depth, const Dims& sizes,
                           const Dims& strides, unsigned* error_word, unsigned error_code) {
  long long slot = 0;
  long long rest = update;
  for (int d = rank - 1; d >= 0; --d) {
    const long long next = rest / shape.v[d];
    slot += (rest - next * shape.v[d]) * beside.v[d];
    rest = next;
  }
  bool inside = true;
  for (int j = 0; j < depth; ++j) {
    long long index = indices[update * depth + j];
    inside = resolve_index(index, sizes.v[j], error_word, error_code) && inside;
    slot += index * strides.v[j];
  }
  return inside ? slot : -1;
}

// Updates [outer, step, column_stride]: those of one (outer, column) may share a slot. One thread a
// word of each such column, `steps` updates in order.
extern "C" __global__ void __launch_bounds__(256)
    scatter_columns(const INDICES* __restrict__ indices, int rank, CG_PARAM Dims shape,
                    CG_PARAM Dims beside, int depth, CG_PARAM Dims sizes, CG_PARAM Dims strides,
                    unsigned* error_word, unsigned error_code, const SCALAR* __restrict__ updates,
                    SCALAR* __restrict__ target, long long count, long long inner_size,
                    long long steps, long long column_stride) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const long long column = position / inner_size;
  const long long inner = position - column * inner_size;
  const long long outer = column / column_stride;
  long long update = outer * steps * column_stride + column - outer * column_stride;
  for (long long step = 0; step < steps; ++step, update += column_stride) {
    const long long slot = find_slot(update, indices, rank, shape, beside, depth, sizes, strides,
                                     error_word, error_code);
    if (slot < 0) continue;
    SCALAR* place = target + slot * inner_size + inner;
    *place = REDUCTION(*place, updates[update * inner_size + inner]);
  }
}

// owners[slot] = the last update that goes there; -1 before. One thread an update.
extern "C" __global__ void __launch_bounds__(256)
    claim_slots(const INDICES* __restrict__ indices, int rank, CG_PARAM Dims shape,
                CG_PARAM Dims beside, int depth, CG_PARAM Dims sizes, CG_PARAM Dims strides,
                unsigned* error_word, unsigned error_code, int* owners, long long num_updates) {
  const long long update = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (update >= num_updates) return;
  const long long slot = find_slot(update, indices, rank, shape, beside, depth, sizes, strides,
                                   error_word, error_code);
  if (slot >= 0) atomicMax(owners + slot, (int)update);
}

// target[slot] = the update that owns it. One thread a word of the updates.
extern "C" __global__ void __launch_bounds__(256)
    write_owned(const INDICES* __restrict__ indices, int rank, CG_PARAM Dims shape,
                CG_PARAM Dims beside, int depth, CG_PARAM Dims sizes, CG_PARAM Dims strides,
                unsigned* error_word, unsigned error_code, const int* __restrict__ owners,
                const void* __restrict__ updates, void* __restrict__ target, long long count,
                long long inner_size) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const long long update = position / inner_size;
  const long long slot = find_slot(update, indices, rank, shape, beside, depth, sizes, strides,
                                   error_word, error_code);
  if (slot >= 0 && owners[slot] == (int)update) {
    static_cast<SCALAR*>(target)[slot * inner_size + position - update * inner_size] =
        static_cast<const SCALAR*>(updates)[position];
  }
}
