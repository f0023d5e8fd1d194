// y[n, c, p] = x[n, c] interpolated at the location grid[n, p], for RANK spatial dimensions.
//
// x [N, C, *size], grid [N, P, RANK] with the innermost dimension first, y [N, C, P]; P counts the
// output's positions. One thread a position and `channels` neighbouring channels, for which it finds
// the location once. blockIdx.y counts groups of channels.
//
// Along each dimension a location is the weighted sum of TAPS neighbouring elements: 1 (nearest), 2
// (linear) or 4 (cubic). An element without weight is not read: it may be Inf or NaN. A location that
// is NaN gives NaN.
//
// SCALAR, GRID: element types of x and grid. WEIGHT: float or double. PADDING: kZeros, kBorder or
// kReflection. ALIGN_CORNERS: 0 or 1. RANK, TAPS.
#include "device.cuh"

// What an element is that lies outside of x: 0, the nearest one inside, or the one that it mirrors. For
// cubic and kBorder this is what PyTorch and ONNX Runtime do; onnx.reference moves the location instead.
enum Padding { kZeros, kBorder, kReflection };

// Rounding to the nearest element depends on the last bit of a location, so it is computed in the
// type of the grid, as elsewhere; interpolation has more digits to lose.
template <int kTaps>
struct Location {
  typedef double type;
};
template <>
struct Location<1> {
  typedef typename Acc<GRID>::type type;
};
typedef Location<TAPS>::type Coordinate;

// Keys, "Cubic convolution interpolation for digital image processing" (1981), with a = -0.75.
CG_DEV WEIGHT cubic(WEIGHT distance) {
  const WEIGHT a = WEIGHT(-0.75), d = cg_abs(distance);
  const WEIGHT near = ((a + 2) * d - (a + 3)) * d * d + 1;
  const WEIGHT far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return d <= WEIGHT(1) ? near : d < WEIGHT(2) ? far : WEIGHT(0);
}

struct Taps {
  int offset[RANK][TAPS];  // in elements; -1 for one that weighs nothing
  WEIGHT weight[RANK][TAPS];
};

constexpr int kUnrolled = RANK <= 3 || TAPS == 2 ? TAPS : 1;

// The elements around `location`, which is in [-1, 1] inside the tensor, along dimension d. False if
// there is no such place.
CG_DEV bool find_taps(Taps& taps, int d, Coordinate location, int size, int stride) {
  const Coordinate last = Coordinate(size - 1);
  Coordinate x = ALIGN_CORNERS ? (location + 1) / 2 * last : ((location + 1) * size - 1) / 2;
  if (TAPS == 1) x = cg_round(x);
  const int period = ALIGN_CORNERS ? 2 * (size - 1) : 2 * size;
  if (PADDING == kReflection) {
    x = period == 0 ? Coordinate(0) : x - period * cg_floor(x / period);
    x = cg_min(cg_max(x, Coordinate(0)), Coordinate(period));
  } else {
    x = cg_min(cg_max(x, Coordinate(-4)), last + 4);
  }
  if (x != x) return false;
  const Coordinate below = cg_floor(x);
  const WEIGHT fraction = WEIGHT(x - below);
  const int first = TAPS == 4 ? -1 : 0;
#pragma unroll
  for (int t = 0; t < TAPS; ++t) {
    const WEIGHT distance = WEIGHT(first + t) - fraction;
    const WEIGHT weight = TAPS == 1   ? WEIGHT(1)
                          : TAPS == 2 ? WEIGHT(1) - cg_abs(distance)
                                      : cubic(distance);
    int at = int(below) + first + t;
    bool weighs = weight != WEIGHT(0);
    if (PADDING == kBorder) {
      at = cg_min(cg_max(at, 0), size - 1);
    } else if (PADDING == kReflection) {
      at = period == 0 ? 0 : (at % period + period) % period;
      if (at >= size) at = (ALIGN_CORNERS ? period : period - 1) - at;
    } else {
      weighs = weighs && unsigned(at) < unsigned(size);
    }
    taps.offset[d][t] = weighs ? at * stride : -1;
    taps.weight[d][t] = weight;
  }
  return true;
}

// The weighted sum over dimensions d and up.
template <int d>
CG_DEV WEIGHT interpolate(const Taps& taps, const SCALAR* x) {
  if constexpr (d == RANK) {
    return cg_cast<WEIGHT>(*x);
  } else {
    WEIGHT sum = 0;
#pragma unroll kUnrolled
    for (int t = 0; t < TAPS; ++t) {
      if (taps.offset[d][t] >= 0) {
        sum = cg_fma(taps.weight[d][t], interpolate<d + 1>(taps, x + taps.offset[d][t]), sum);
      }
    }
    return sum;
  }
}

// The element itself, so that integers of any size stay exact.
CG_DEV SCALAR nearest(const Taps& taps, const SCALAR* x) {
  bool inside = true;
  int at = 0;
#pragma unroll
  for (int d = 0; d < RANK; ++d) {
    inside = inside && taps.offset[d][0] >= 0;
    at += taps.offset[d][0];
  }
  return inside ? x[at] : cg_cast<SCALAR>(0.0f);
}

extern "C" __global__ void __launch_bounds__(256)
    grid_sample(const SCALAR* __restrict__ x, const GRID* __restrict__ grid,
                SCALAR* __restrict__ y, long long num_locations, int num_positions,
                int num_channels, int channels, CG_PARAM Dims size, CG_PARAM Dims strides) {
  const long long location = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (location >= num_locations) return;
  const long long image = location / num_positions;
  const int position = int(location - image * num_positions);
  Taps taps;
  bool is_place = true;
#pragma unroll
  for (int d = 0; d < RANK; ++d) {
    const Coordinate at = cg_cast<Coordinate>(grid[location * RANK + RANK - 1 - d]);
    is_place = find_taps(taps, d, at, int(size.v[d]), int(strides.v[d])) && is_place;
  }
  const long long plane = size.v[0] * strides.v[0];
  const int first = blockIdx.y * channels;
  const int last = cg_min(first + channels, num_channels);
  const SCALAR* from = x + (image * num_channels + first) * plane;
  SCALAR* to = y + (image * num_channels + first) * num_positions + position;
  for (int c = first; c < last; ++c, from += plane, to += num_positions) {
    if (!is_place) {
      *to = cg_cast<SCALAR>(CG_NAN);
    } else if constexpr (TAPS == 1) {
      *to = nearest(taps, from);
    } else {
      *to = cg_cast<SCALAR>(interpolate<0>(taps, from));
    }
  }
}
