// The right operand of a deformable convolution, which then is a matrix product:
//     columns[n, c, k, p] = mask[n, g, k, p] * x[n, c] at (place of tap k of output p)
//                                                         + offset[n, g, k, :, p]
// with g the offset group of channel c, and linear interpolation between elements; outside of the
// image they are 0. One thread a (n, g, k, p) and `channels` neighbouring channels of the group.
// blockIdx.y counts those.
//
// SCALAR: element type. WEIGHT: float or double. RANK: spatial axes, the last of the Window's three.
#include "device.cuh"
#include "window.cuh"

struct Sizes {
  int num_images, channels, offset_groups, num_taps, num_outputs;
};

struct Corners {
  int offset[1 << RANK];  // -1 for one that weighs nothing
  WEIGHT weight[1 << RANK];
};

CG_DEV void find_corners(Corners& corners, const Window& w, const double (&place)[RANK]) {
  int below[RANK];
  WEIGHT fraction[RANK];
  for (int d = 0; d < RANK; ++d) {
    const double size = double(w.input[3 - RANK + d]);
    const double near = cg_min(cg_max(place[d], -2.0), size + 1);
    const double floor = near == near ? cg_floor(near) : 0.0;  // NaN weighs as NaN
    below[d] = int(floor);
    fraction[d] = WEIGHT(near - floor);
  }
  for (int corner = 0; corner < 1 << RANK; ++corner) {
    int offset = 0;
    WEIGHT weight = 1;
    bool is_inside = true;
    for (int d = 0; d < RANK; ++d) {
      const int bit = corner >> d & 1, size = w.input[3 - RANK + d];
      is_inside = is_inside && unsigned(below[d] + bit) < unsigned(size);
      weight *= bit ? fraction[d] : WEIGHT(1) - fraction[d];
      offset = offset * size + below[d] + bit;
    }
    corners.offset[corner] = is_inside && weight != WEIGHT(0) ? offset : -1;
    corners.weight[corner] = weight;
  }
}

extern "C" __global__ void __launch_bounds__(256)
    deform_columns(const SCALAR* __restrict__ x, const SCALAR* __restrict__ offsets,
                   const SCALAR* __restrict__ mask, SCALAR* __restrict__ columns, long long count,
                   Sizes sizes, int channels, Window w) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const long long row = position / sizes.num_outputs;
  const int output = int(position - row * sizes.num_outputs);
  const long long group_of_all = row / sizes.num_taps;
  const int tap = int(row - group_of_all * sizes.num_taps);
  const int image = int(group_of_all / sizes.offset_groups);
  const int group = int(group_of_all - (long long)image * sizes.offset_groups);

  double place[RANK];
  int output_rest = output, tap_rest = tap;
  for (int d = RANK - 1; d >= 0; --d) {
    const int axis = 3 - RANK + d;
    const int at = output_rest % w.output[axis], k = tap_rest % w.kernel[axis];
    output_rest /= w.output[axis];
    tap_rest /= w.kernel[axis];
    const SCALAR offset = offsets[(row * RANK + d) * sizes.num_outputs + output];
    place[d] =
        double(at * w.stride[axis] - w.pad[axis] + k * w.dilation[axis]) + cg_cast<double>(offset);
  }
  Corners corners;
  find_corners(corners, w, place);
  const WEIGHT factor = mask ? cg_cast<WEIGHT>(mask[position]) : WEIGHT(1);

  const int group_size = sizes.channels / sizes.offset_groups;
  const int first = blockIdx.y * channels, last = cg_min(first + channels, group_size);
  const long long plane = (long long)w.input[0] * w.input[1] * w.input[2];
  for (int c = first; c < last; ++c) {
    const long long channel = (long long)image * sizes.channels + group * group_size + c;
    const SCALAR* from = x + channel * plane;
    WEIGHT sum = 0;
    for (int corner = 0; corner < 1 << RANK; ++corner) {
      if (corners.offset[corner] >= 0) {
        sum = cg_fma(corners.weight[corner], cg_cast<WEIGHT>(from[corners.offset[corner]]), sum);
      }
    }
    columns[(channel * sizes.num_taps + tap) * sizes.num_outputs + output] =
        cg_cast<SCALAR>(factor * sum);
  }
}
