// Regions of interest of an image [N, C, height, width], each brought to [C, pooled_height,
// pooled_width].
//
// SCALAR: element type of images and regions. WEIGHT: float or double. MODE: kAverage or kMax.
#include "device.cuh"

typedef Acc<SCALAR>::type Coordinate;

enum Mode { kAverage, kMax };
constexpr int kChannels = 4;  // of one thread, which finds each place once for all of them

struct Image {
  int num_images, channels, height, width;
};

// Along one axis: where a region's bins lie, and how many samples of each. The number of samples
// depends on the last bit of the sizes, so they are computed in the type of the regions.
struct Bins {
  double start, step;
  int samples;

  CG_DEV Bins(SCALAR low, SCALAR high, float scale, int half_pixel, int pooled, int ratio) {
    const Coordinate offset = half_pixel ? Coordinate(0.5) : Coordinate(0);
    const Coordinate from = cg_cast<Coordinate>(low) * Coordinate(scale) - offset;
    const Coordinate to = cg_cast<Coordinate>(high) * Coordinate(scale) - offset;
    const Coordinate size = half_pixel ? to - from : cg_max(to - from, Coordinate(1));
    start = double(from);
    step = double(size) / pooled;
    samples = ratio > 0 ? ratio : cg_cast<int>(cg_ceil(size / Coordinate(pooled)));
  }
  CG_DEV double place(int bin, int sample) const {
    return start + bin * step + (sample + 0.5) * step / samples;
  }
  // The samples of a bin that may lie in [-1, size]: a region far larger than the image has more
  // than anyone would wait for.
  CG_DEV void near_image(int bin, int size, int& first, int& last) const {
    const double spacing = step / samples;
    const double before = (-1.0 - start - bin * step) / spacing;
    const double after = (size - start - bin * step) / spacing;
    const double low = cg_floor(cg_min(before, after)) - 2, high = cg_ceil(cg_max(before, after)) + 2;
    const bool is_point = spacing == 0.0;
    first = is_point ? 0 : cg_cast<int>(cg_min(cg_max(low, 0.0), double(samples)));
    last = is_point ? samples : cg_cast<int>(cg_min(cg_max(high, double(first)), double(samples)));
  }
};

// The two elements around a place along one axis, and the weight of the second. False outside of
// [-1, size], and for NaN.
CG_DEV bool find_neighbours(double place, int size, int& first, int& second, WEIGHT& weight) {
  if (!(place >= -1.0 && place <= double(size))) return false;
  place = cg_min(cg_max(place, 0.0), double(size - 1));
  first = int(place);
  second = cg_min(first + 1, size - 1);
  weight = WEIGHT(place - first);
  return true;
}

// A corner's share of a sample. An element without weight may be Inf or NaN.
CG_DEV WEIGHT share(WEIGHT weight, SCALAR element) {
  return weight == WEIGHT(0) ? WEIGHT(0) : weight * cg_cast<WEIGHT>(element);
}

// kMax takes the largest share of any corner of any sample, not the largest sample: so say the
// standard's reference implementation and test data, and so do other runtimes.
CG_DEV WEIGHT combine(WEIGHT a, WEIGHT b) { return MODE == kMax ? cg_max(a, b) : a + b; }

// One thread a bin and kChannels channels. A sample out of the image counts as 0; a bin without
// samples is 0. An image that does not exist is reported and gives 0.
extern "C" __global__ void __launch_bounds__(256)
    roi_align(const SCALAR* __restrict__ x, const SCALAR* __restrict__ regions,
              const long long* __restrict__ image_of, SCALAR* __restrict__ y, long long count,
              Image image, int pooled_height, int pooled_width, int ratio, float scale,
              int half_pixel, unsigned* error_word, unsigned error_code) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const long long row = position / pooled_width;
  const int column_bin = int(position - row * pooled_width);
  const long long group = row / pooled_height;
  const int row_bin = int(row - group * pooled_height);
  const int groups = (image.channels - 1) / kChannels + 1;
  const long long region = group / groups;
  const int channel = int(group - region * groups) * kChannels;
  const long long index = image_of[region];
  const bool exists = index >= 0 && index < image.num_images;
  if (!exists) cg_report_index_error(error_word, error_code);

  const SCALAR* corners = regions + region * 4;
  const Bins across(corners[0], corners[2], scale, half_pixel, pooled_width, ratio);
  const Bins down(corners[1], corners[3], scale, half_pixel, pooled_height, ratio);
  const long long plane = (long long)image.height * image.width;
  const SCALAR* from = x + ((exists ? index : 0) * image.channels + channel) * plane;
  const int channels = exists ? cg_min(kChannels, image.channels - channel) : 0;
  int top, bottom, left, right;
  down.near_image(row_bin, image.height, top, bottom);
  across.near_image(column_bin, image.width, left, right);
  const long long samples = (long long)cg_max(down.samples, 0) * cg_max(across.samples, 0);
  const bool has_zeros = samples == 0 || samples != (long long)(bottom - top) * (right - left);
  WEIGHT total[kChannels];
  for (int c = 0; c < kChannels; ++c) {
    total[c] = MODE == kMax && !has_zeros ? -WEIGHT(CG_INF) : WEIGHT(0);
  }
  for (int i = top; i < bottom; ++i) {
    int y0 = 0, y1 = 0;
    WEIGHT y_weight = 0;
    const bool is_inside =
        find_neighbours(down.place(row_bin, i), image.height, y0, y1, y_weight);
    for (int j = left; j < right; ++j) {
      int x0 = 0, x1 = 0;
      WEIGHT x_weight = 0;
      const bool weighs =
          find_neighbours(across.place(column_bin, j), image.width, x0, x1, x_weight) && is_inside;
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
        if (c >= channels) break;
        WEIGHT sample = 0;
        if (weighs) {
          const SCALAR* upper = from + c * plane + (long long)y0 * image.width;
          const SCALAR* lower = from + c * plane + (long long)y1 * image.width;
          const WEIGHT x_rest = WEIGHT(1) - x_weight, y_rest = WEIGHT(1) - y_weight;
          sample = combine(combine(share(y_rest * x_rest, upper[x0]),
                                   share(y_rest * x_weight, upper[x1])),
                           combine(share(y_weight * x_rest, lower[x0]),
                                   share(y_weight * x_weight, lower[x1])));
        }
        total[c] = combine(total[c], sample);
      }
    }
  }
  const long long bins = (long long)pooled_height * pooled_width;
  SCALAR* to = y + (region * image.channels + channel) * bins + row_bin * pooled_width + column_bin;
  for (int c = 0; c < cg_min(kChannels, image.channels - channel); ++c) {
    const WEIGHT divisor = MODE == kMax ? WEIGHT(1) : WEIGHT(cg_max(samples, 1LL));
    to[c * bins] = cg_cast<SCALAR>(exists ? total[c] / divisor : WEIGHT(0));
  }
}

// Along one axis: the elements of one bin of MaxRoiPool.
struct Range {
  int begin, end;

  static CG_DEV Coordinate round_away(Coordinate x) {
    const Coordinate whole = cg_trunc(x);
    return cg_abs(x - whole) < Coordinate(0.5) ? whole : whole + (x < 0 ? -1 : 1);
  }
  CG_DEV Range(SCALAR low, SCALAR high, float scale, int bin, int pooled, int size) {
    const Coordinate from = round_away(cg_cast<Coordinate>(low) * Coordinate(scale));
    const Coordinate to = round_away(cg_cast<Coordinate>(high) * Coordinate(scale));
    const Coordinate step = cg_max(to - from + 1, Coordinate(1)) / Coordinate(pooled);
    begin = clamped(from + cg_floor(bin * step), size);
    end = clamped(from + cg_ceil((bin + 1) * step), size);
  }
  static CG_DEV int clamped(Coordinate x, int size) {
    return cg_cast<int>(cg_min(cg_max(x, Coordinate(0)), Coordinate(size)));
  }
};

// pooled_height x pooled_width largest elements of regions [image, x1, y1, x2, y2] whose scaled corners
// are rounded to elements, half away from zero; both ends belong to the region. An empty bin gives 0.
// One thread a bin and channel.
extern "C" __global__ void __launch_bounds__(256)
    max_roi_pool(const SCALAR* __restrict__ x, const SCALAR* __restrict__ regions,
                 SCALAR* __restrict__ y, long long count, Image image, int pooled_height,
                 int pooled_width, float scale, unsigned* error_word, unsigned error_code) {
  const long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= count) return;
  const long long row = position / pooled_width;
  const int column_bin = int(position - row * pooled_width);
  const long long plane_of_y = row / pooled_height;
  const int row_bin = int(row - plane_of_y * pooled_height);
  const long long region = plane_of_y / image.channels;
  const int channel = int(plane_of_y - region * image.channels);
  const SCALAR* corners = regions + region * 5;
  const Coordinate index = cg_cast<Coordinate>(corners[0]);
  if (!(index >= Coordinate(0) && index < Coordinate(image.num_images))) {
    cg_report_index_error(error_word, error_code);
    y[position] = cg_cast<SCALAR>(0.0f);
    return;
  }
  const Range across(corners[1], corners[3], scale, column_bin, pooled_width, image.width);
  const Range down(corners[2], corners[4], scale, row_bin, pooled_height, image.height);
  const SCALAR* from = x + ((long long)index * image.channels + channel) *
                               ((long long)image.height * image.width);
  const bool is_empty = down.begin >= down.end || across.begin >= across.end;
  WEIGHT largest = is_empty ? WEIGHT(0) : -WEIGHT(CG_INF);
  for (int i = down.begin; i < down.end; ++i) {
    for (int j = across.begin; j < across.end; ++j) {
      largest = cg_max(largest, cg_cast<WEIGHT>(from[(long long)i * image.width + j]));
    }
  }
  y[position] = cg_cast<SCALAR>(largest);
}
