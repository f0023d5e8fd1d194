// out[i] = values[k] where keys[k] is x[i], else values[num_keys]. The keys ascend; a NaN, which is
// the same as any other, is the last of them. One thread an element.
//
// KEY: element type of x and keys. WORD: the type of values moved.
#include "device.cuh"

CG_DEV bool key_is_below(KEY key, KEY x) { return key < x || (x != x && key == key); }

extern "C" __global__ void __launch_bounds__(256)
    label_encoder(const KEY* __restrict__ x, const KEY* __restrict__ keys,
                  const WORD* __restrict__ values, WORD* __restrict__ out, long long count,
                  int num_keys) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const KEY wanted = x[i];
  int first = 0, last = num_keys;
  while (first < last) {
    const int middle = (first + last) / 2;
    if (key_is_below(keys[middle], wanted)) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  bool found = false;
  if (first < num_keys) {
    const KEY key = keys[first];
    found = key == wanted || (key != key && wanted != wanted);
  }
  out[i] = values[found ? first : num_keys];
}
