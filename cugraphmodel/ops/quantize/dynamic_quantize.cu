#include "device.cuh"
#include "quantization.cuh"

// Quantises float tensors to uint8 by their own range, which always includes 0:
//   scale = (highest - lowest) / 255, or 1 where all of x is 0
//   zero_point = saturate(round(-lowest / scale))
//   y = saturate(round(x / scale) + zero_point)
//
// dynamic_quantize     one block does it all
// find_ranges          each block finds the range of its share of x: range b of `ranges`
// quantize_by_ranges   each block joins all ranges, and then quantises a share

typedef unsigned char Quantized;

struct Range {
  float lowest;
  float highest;

  CG_DEV void add(float x) {
    lowest = cg_min(lowest, x);
    highest = cg_max(highest, x);
  }
  CG_DEV void add(const Range& other) {
    lowest = cg_min(lowest, other.lowest);
    highest = cg_max(highest, other.highest);
  }
  // Of all threads of the block.
  CG_DEV Range joined() const { return {cg_block_min(lowest), cg_block_max(highest)}; }
  CG_DEV float scale() const { return highest == lowest ? 1.0f : (highest - lowest) / 255.0f; }
};

// Of the elements that the threads [thread, num_threads) of the grid see when they take turns.
CG_DEV Range range_of(const float* x, long long size, long long thread, long long num_threads) {
  Range range = {0, 0};
  for (long long i = 4 * thread; i < size; i += 4 * num_threads) {
    if (i + 4 <= size) {
      const Pack4<float> pack = cg_load4(x + i);
#pragma unroll
      for (int k = 0; k < 4; ++k) range.add(pack.v[k]);
    } else {
      for (long long j = i; j < size; ++j) range.add(x[j]);
    }
  }
  return range;
}

// Likewise quantises them; thread 0 stores scale and zero point.
CG_DEV void quantize(const float* x, Quantized* y, float* y_scale, Quantized* y_zero_point,
                     long long size, const Range& range, long long thread, long long num_threads) {
  const float scale = range.scale();
  const Quantized zero_point = cg_quantize(-range.lowest / scale, Quantized(0));
  if (thread == 0) {
    if (y_scale != nullptr) *y_scale = scale;
    if (y_zero_point != nullptr) *y_zero_point = zero_point;
  }
  if (y == nullptr) return;
  for (long long i = 4 * thread; i < size; i += 4 * num_threads) {
    if (i + 4 <= size) {
      const Pack4<float> pack = cg_load4(x + i);
      Pack4<Quantized> out;
#pragma unroll
      for (int k = 0; k < 4; ++k) out.v[k] = cg_quantize(pack.v[k] / scale, zero_point);
      cg_store4(y + i, out);
    } else {
      for (long long j = i; j < size; ++j) y[j] = cg_quantize(x[j] / scale, zero_point);
    }
  }
}

extern "C" __global__ void __launch_bounds__(1024)
    dynamic_quantize(const float* __restrict__ x, Quantized* __restrict__ y,
                     float* __restrict__ y_scale, Quantized* __restrict__ y_zero_point,
                     long long size) {
  const Range range = range_of(x, size, threadIdx.x, blockDim.x).joined();
  quantize(x, y, y_scale, y_zero_point, size, range, threadIdx.x, blockDim.x);
}

extern "C" __global__ void __launch_bounds__(256)
    find_ranges(const float* __restrict__ x, Range* __restrict__ ranges, long long size) {
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const Range range = range_of(x, size, thread, (long long)gridDim.x * blockDim.x).joined();
  if (threadIdx.x == 0) ranges[blockIdx.x] = range;
}

extern "C" __global__ void __launch_bounds__(256)
    quantize_by_ranges(const float* __restrict__ x, const Range* __restrict__ ranges,
                       Quantized* __restrict__ y, float* __restrict__ y_scale,
                       Quantized* __restrict__ y_zero_point, long long size) {
  Range range = {0, 0};
  for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x) range.add(ranges[b]);
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  quantize(x, y, y_scale, y_zero_point, size, range.joined(), thread,
           (long long)gridDim.x * blockDim.x);
}
