#pragma once
// What products of 8-bit integers share: exact sums by four-byte dot products, zero points, and what
// becomes of a sum.
//
// All arithmetic is on signed bytes. An unsigned byte is read less 128, and its zero point is lowered
// by as much, so that one kind of dot product serves all mixes. With l and r the bytes and L and R
// their zero points, the sum of (l - L) * (r - R) over the depth is
//   sum(l * r) - R * sum(l) - L * sum(r) + depth * L * R
// modulo 2^32, so elements beyond the depth are read as 0.
//
// Macros
//   LEFT, RIGHT    element types of the operands: signed char, unsigned char
//   SCALE          type of the scales
//   BIAS           int: added to the sum; a floating-point type: added to the scaled sum
//   OUT            int: the sum; a floating-point type: scaled; a byte: scaled and quantised
#include "device.cuh"
#include "quantization.cuh"

namespace quantized_product {

typedef LEFT Left;
typedef RIGHT Right;
typedef SCALE Scale;
typedef BIAS Bias;
typedef OUT Out;

// ---- Four bytes in a word

// sum + the products of four pairs of signed bytes, modulo 2^32.
CG_DEV unsigned dot4(unsigned a, unsigned b, unsigned sum) {
#if defined(__CUDACC__)
  return unsigned(__dp4a(int(a), int(b), int(sum)));
#else
  for (int i = 0; i < 32; i += 8) sum += unsigned((signed char)(a >> i) * (signed char)(b >> i));
  return sum;
#endif
}

constexpr unsigned kOnes = 0x01010101u;  // dot4 with it adds up bytes

// Bytes of a and b by number: 0 to 3 are those of a, 4 to 7 those of b; the last digit comes first.
template <unsigned kDigits>
CG_DEV unsigned pick_bytes(unsigned a, unsigned b) {
#if defined(__CUDACC__)
  return __byte_perm(a, b, kDigits);
#else
  const unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned picked = 0;
  for (int i = 0; i < 4; ++i) {
    picked |= unsigned(both >> (kDigits >> 4 * i & 7u) * 8 & 0xffu) << 8 * i;
  }
  return picked;
#endif
}

// Byte i of word j becomes byte j of word i.
CG_DEV void transpose_bytes(unsigned (&w)[4]) {
  const unsigned low01 = pick_bytes<0x5140>(w[0], w[1]), high01 = pick_bytes<0x7362>(w[0], w[1]);
  const unsigned low23 = pick_bytes<0x5140>(w[2], w[3]), high23 = pick_bytes<0x7362>(w[2], w[3]);
  w[0] = pick_bytes<0x5410>(low01, low23);
  w[1] = pick_bytes<0x7632>(low01, low23);
  w[2] = pick_bytes<0x5410>(high01, high23);
  w[3] = pick_bytes<0x7632>(high01, high23);
}

// ---- Reading operands as signed bytes

template <class T>
struct Signed {
  static constexpr bool is_unsigned = CgSame<T, unsigned char>::value;
  static constexpr int lowered = is_unsigned ? 128 : 0;

  static CG_DEV unsigned byte(T x) { return (unsigned char)(x) ^ (is_unsigned ? 0x80u : 0u); }
  // Four neighbours; p must be aligned for them.
  static CG_DEV unsigned word(const T* p) {
    CG_EXPECT_ALIGNED(p, 4);
    return *reinterpret_cast<const unsigned*>(p) ^ (is_unsigned ? 0x80808080u : 0u);
  }
  static CG_DEV int zero_point(const T* p) { return (p == nullptr ? 0 : int(*p)) - lowered; }
};

// ---- Batches of matrices

struct Offsets {
  long long left;
  long long right;
};

// Of the operands of one product of a batch. The batch axes are batch_shape[0:batch_rank], with strides
// in elements that are zero where an operand is broadcast.
CG_DEV Offsets batch_offsets(int batch, int batch_rank, const Dims& batch_shape,
                             const Dims& left_strides, const Dims& right_strides) {
  Offsets offsets = {0, 0};
  for (int axis = batch_rank - 1; axis >= 0; --axis) {
    const int size = int(batch_shape.v[axis]);
    offsets.left += batch % size * left_strides.v[axis];
    offsets.right += batch % size * right_strides.v[axis];
    batch /= size;
  }
  return offsets;
}

// ---- From a sum to an output

// cugraphmodel.ops.matmul.quantized: how many numbers there are, one for the whole operand or one for
// each row (left) or column (right), of one matrix or of all; strides of the bias.
struct Counts {
  int left_zero;
  int right_zero;
  int left_scale;
  int right_scale;
  int bias_row_stride;
  int bias_column_stride;
};

CG_DEV int which(int index, int count) { return count == 1 ? 0 : index % count; }

CG_DEV float scale_at(const Scale* scales, int index, int count) {
  return scales == nullptr ? 1.0f : cg_cast<float>(scales[which(index, count)]);
}

struct Epilogue {
  const Left* left_zero;    // may be null, like all that are not used
  const Right* right_zero;
  const Scale* left_scale;
  const Scale* right_scale;
  const Scale* y_scale;
  const Out* y_zero;
  const Bias* bias;
  Counts counts;
  float alpha;

  CG_DEV int left_zero_point(int row) const {
    const Left* at = left_zero;
    return Signed<Left>::zero_point(at == nullptr ? at : at + which(row, counts.left_zero));
  }
  CG_DEV int right_zero_point(int column) const {
    const Right* at = right_zero;
    return Signed<Right>::zero_point(at == nullptr ? at : at + which(column, counts.right_zero));
  }

  // left_index, right_index: of the row and the column among those that have numbers of their own.
  CG_DEV Out operator()(unsigned sum, int row, int column, int left_index, int right_index) const {
    const long long at = (long long)row * counts.bias_row_stride +
                         (long long)column * counts.bias_column_stride;
    return outcome<Out>(sum, bias == nullptr ? bias : bias + at, left_index, right_index);
  }

  template <class Result, class Term>
  CG_DEV Result outcome(unsigned sum, const Term* term, int left_index, int right_index) const {
    constexpr bool term_is_integer = CgSame<Term, int>::value;
    if constexpr (term_is_integer) {
      if (term != nullptr) sum += unsigned(*term);
    }
    if constexpr (CgSame<Result, int>::value) {
      return int(sum);
    } else {
      float factor = alpha * scale_at(left_scale, left_index, counts.left_scale) *
                     scale_at(right_scale, right_index, counts.right_scale);
      if constexpr (sizeof(Result) == 1) {
        factor /= cg_cast<float>(*y_scale);
        return cg_quantize(float(int(sum)) * factor, y_zero == nullptr ? Result(0) : *y_zero);
      } else {
        float value = float(int(sum)) * factor;
        if constexpr (!term_is_integer) {
          if (term != nullptr) value += cg_cast<float>(*term);
        }
        return cg_cast<Result>(value);
      }
    }
  }
};

}  // namespace quantized_product
