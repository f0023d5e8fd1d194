// Transforms (dft.cuh) of lines that fit into shared memory: a block does `lines_a_block` of them in one
// launch. If `lines_adjacent`, neighbouring lines are neighbours in memory, else the elements of a line.
#include "device.cuh"
#include "dft.cuh"

// `radices` holds the factors of the length in their order, ten bits each, the first one lowest.
extern "C" __global__ void __launch_bounds__(256)
    dft_lines(const SCALAR* __restrict__ x, const SCALAR* __restrict__ window,
              SCALAR* __restrict__ y, Lines lines, unsigned long long radices,
              int lines_a_block, int lines_adjacent) {
  CG_DYN_SHARED(Complex, shared);
  const int length = int(lines.length);
  Complex* roots = shared;
  Complex* from = roots + length;
  Complex* to = from + lines_a_block * length;
  const long long first = (long long)blockIdx.x * lines_a_block;
  const int num_lines = int(cg_min((long long)lines_a_block, lines.num_lines - first));
  const auto root = [&](long long k) { return roots[k]; };

  for (int k = threadIdx.x; k < length; k += blockDim.x) roots[k] = root_of_one(k, length);
  for (int i = threadIdx.x; i < num_lines * length; i += blockDim.x) {
    const int line = lines_adjacent ? i % num_lines : i / length;
    const int n = lines_adjacent ? i / num_lines : i - line * length;
    from[line * length + n] = load(lines, x, window, first + line, n);
  }
  __syncthreads();
  int stride = 1;
  for (; radices != 0; radices >>= 10) {
    const int radix = int(radices & 1023);
    const int items = radix == 4 || radix == 2 ? length / radix : length;
    for (int i = threadIdx.x; i < num_lines * items; i += blockDim.x) {
      const int line = i / items, at = i - line * items;
      const Complex* source = from + line * length;
      Complex* target = to + line * length;
      const auto get = [&](long long index) { return source[index]; };
      const auto put = [&](long long index, Complex value) { target[index] = value; };
      if (radix == 4) {
        butterfly<4>(at, length, stride, get, put, root);
      } else if (radix == 2) {
        butterfly<2>(at, length, stride, get, put, root);
      } else {
        target[at] = butterfly_output(at, length, stride, radix, get, root);
      }
    }
    __syncthreads();
    Complex* other = from;
    from = to;
    to = other;
    stride *= radix;
  }
  const int size = int(lines.output_size);
  for (int i = threadIdx.x; i < num_lines * size; i += blockDim.x) {
    const int line = lines_adjacent ? i % num_lines : i / size;
    const int k = lines_adjacent ? i / num_lines : i - line * size;
    store(lines, y, first + line, k, from[line * length + k]);
  }
}
