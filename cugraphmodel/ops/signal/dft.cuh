#pragma once
// Discrete Fourier transforms of lines: y[k] = sum_n x[n] * exp(-+2 pi i n k / length).
//
// Any length is done in stages, one for each factor (Stockham's autosort order; see Van Loan,
// "Computational Frameworks for the Fast Fourier Transform", 1992, section 1.7). A prime factor p takes
// p multiplications an element. All of it is in double: transforms cancel much, and each element is read
// and written but once.
//
// Macros
//   SCALAR             element type
//   COMPLEX_INPUT      x has (real, imaginary) pairs; else real numbers
//   HALF_INPUT         x is the first half of a spectrum whose second half mirrors it
//   REAL_OUTPUT        only the real part is kept
//   INVERSE            the sign of the exponent is +, and the result is divided by the length
//   WINDOWED           x is multiplied by a window
#include "device.cuh"

struct Complex {
  double re, im;
};
CG_DEV Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
CG_DEV Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
CG_DEV Complex operator*(Complex a, Complex b) {
  return {cg_fma(a.re, b.re, -(a.im * b.im)), cg_fma(a.re, b.im, a.im * b.re)};
}
// The quarter turn of the transform's direction: by -i, or i for the inverse.
CG_DEV Complex turned(Complex a) { return INVERSE ? Complex{-a.im, a.re} : Complex{a.im, -a.re}; }

// Line number `outer * inner_lines + inner` begins at outer * outer_stride + inner * inner_stride, with
// `step` from one of its elements to the next; all in units of SCALAR.
struct Layout {
  long long outer_stride, inner_stride, step;
};
struct Lines {
  long long num_lines, inner_lines;
  Layout input, output;
  long long length;       // of the transform
  long long input_size;   // elements of x that are read; the rest is 0
  long long output_size;  // elements of y that are written
};

CG_DEV long long begin_of(const Lines& lines, const Layout& layout, long long line) {
  const long long outer = line / lines.inner_lines;
  return outer * layout.outer_stride + (line - outer * lines.inner_lines) * layout.inner_stride;
}

CG_DEV Complex load(const Lines& lines, const SCALAR* x, const SCALAR* window, long long line,
                    long long n) {
  const bool mirrored = HALF_INPUT && n > lines.length / 2;
  const long long index = mirrored ? lines.length - n : n;
  if (index >= lines.input_size) return {0.0, 0.0};
  const SCALAR* from = x + begin_of(lines, lines.input, line) + index * lines.input.step;
  Complex value = {cg_cast<double>(from[0]), 0.0};
  if (COMPLEX_INPUT) value.im = cg_cast<double>(from[1]);
  if (WINDOWED) {
    const double weight = cg_cast<double>(window[index]);
    value = {value.re * weight, value.im * weight};
  }
  return mirrored ? Complex{value.re, -value.im} : value;
}

CG_DEV void store(const Lines& lines, SCALAR* y, long long line, long long k, Complex value) {
  if (k >= lines.output_size) return;
  const double divisor = INVERSE ? double(lines.length) : 1.0;
  SCALAR* to = y + begin_of(lines, lines.output, line) + k * lines.output.step;
  to[0] = cg_cast<SCALAR>(value.re / divisor);
  if (!REAL_OUTPUT) to[1] = cg_cast<SCALAR>(value.im / divisor);
}

// exp(-+2 pi i k / n) for 0 <= k < n. The angle is brought into [0, pi / 4], where its own rounding
// matters least.
CG_DEV Complex root_of_one(long long k, long long n) {
  const long long octant = 8 * k / n, rest = 8 * k - octant * n;
  const double part = double(octant & 1 ? n - rest : rest) / double(n);
  const double angle = part * 0.78539816339744830962, square = angle * angle;
  double c = 1.0, s = 1.0;  // Taylor's series: the first term left out is below 1e-18
#pragma unroll
  for (int term = 9; term >= 1; --term) {
    c = cg_fma(-square * (1.0 / ((2 * term - 1) * (2 * term))), c, 1.0);
    s = cg_fma(-square * (1.0 / ((2 * term) * (2 * term + 1))), s, 1.0);
  }
  s *= angle;
  const bool swapped = ((octant + 1) & 2) != 0;
  const double x = swapped ? s : c, y = swapped ? c : s;
  const double re = octant >= 2 && octant < 6 ? -x : x;
  const double im = octant >= 4 ? -y : y;
  return {re, INVERSE ? im : -im};
}

// ---- One stage: a line of `length` elements in groups of `stride`, whose sub-transforms of `size`
// elements become `radix` times as many of size / radix. get(index) reads an element, put(index, value)
// writes one, root(k) is root_of_one(k, length).

// All `kRadix` outputs of butterfly number `at`, of length / kRadix.
template <int kRadix, class Get, class Put, class Root>
CG_DEV void butterfly(long long at, long long length, long long stride, Get get, Put put,
                      Root root) {
  const long long group = at / stride, within = at - group * stride;
  const long long distance = length / kRadix, to = within + group * kRadix * stride;
  Complex a[kRadix];
#pragma unroll
  for (int j = 0; j < kRadix; ++j) a[j] = get(at + j * distance);
  const long long twist = group * stride;
  if constexpr (kRadix == 2) {
    put(to, a[0] + a[1]);
    put(to + stride, (a[0] - a[1]) * root(twist));
  } else {
    const Complex even = a[0] + a[2], odd = a[1] + a[3];
    const Complex difference = a[0] - a[2], turn = turned(a[1] - a[3]);
    put(to, even + odd);
    put(to + stride, (difference + turn) * root(twist));
    put(to + 2 * stride, (even - odd) * root(2 * twist));
    put(to + 3 * stride, (difference - turn) * root(3 * twist));
  }
}

// One output of a butterfly of any radix: number `at` of `length`, in the order they are written.
template <class Get, class Root>
CG_DEV Complex butterfly_output(long long at, long long length, long long stride, int radix,
                                Get get, Root root) {
  const long long row = at / stride, within = at - row * stride;
  const long long group = row / radix, k = row - group * radix;
  const long long distance = length / radix, from = within + group * stride;
  const long long turn = k * distance;
  long long exponent = k * group * stride;
  Complex sum = {0.0, 0.0};
  for (int j = 0; j < radix; ++j) {
    sum = sum + get(from + j * distance) * root(exponent);
    exponent += turn;
    if (exponent >= length) exponent -= length;
  }
  return sum;
}
