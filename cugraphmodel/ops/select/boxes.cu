// NonMaxSuppression: of the boxes of each image and class the best ones that do not overlap. One block a
// class; boxes [images, num_boxes, 4], scores [images, classes, num_boxes].
//
// CENTRES: a box is (x, y, width, height) around its centre; else two opposite corners (y, x, y, x).
#include "device.cuh"

struct Box {
  float x0, y0, x1, y1;

  CG_DEV Box(const float* p) {
    if (CENTRES) {
      const float half_width = p[2] / 2, half_height = p[3] / 2;
      x0 = p[0] - half_width, x1 = p[0] + half_width;
      y0 = p[1] - half_height, y1 = p[1] + half_height;
    } else {
      x0 = cg_min(p[1], p[3]), x1 = cg_max(p[1], p[3]);
      y0 = cg_min(p[0], p[2]), y1 = cg_max(p[0], p[2]);
    }
  }
  CG_DEV float area() const { return (x1 - x0) * (y1 - y0); }
};

// Whether the part that two boxes share of what they cover together is more than `threshold`.
CG_DEV bool overlap(const Box& a, const Box& b, float threshold) {
  const float width = cg_min(a.x1, b.x1) - cg_max(a.x0, b.x0);
  const float height = cg_min(a.y1, b.y1) - cg_max(a.y0, b.y0);
  const float shared = width * height, covered = a.area() + b.area() - shared;
  const bool is_area = width > 0 && height > 0 && shared > 0 && a.area() > 0 && b.area() > 0;
  return is_area && covered > 0 && shared / covered > threshold;
}

// chosen [classes, most] box numbers, by falling score, of equal ones the lower number first; and how
// many. `open` [classes, num_boxes] is scratch: whether a box may still be chosen.
extern "C" __global__ void __launch_bounds__(256)
    choose_boxes(const float* __restrict__ boxes, const float* __restrict__ scores,
                 const float* __restrict__ overlap_threshold,
                 const float* __restrict__ score_threshold, unsigned char* __restrict__ open,
                 int* __restrict__ chosen, int* __restrict__ counts, int classes, int num_boxes,
                 int most) {
  boxes += (long long)(blockIdx.x / classes) * num_boxes * 4;
  scores += (long long)blockIdx.x * num_boxes;
  open += (long long)blockIdx.x * num_boxes;
  chosen += (long long)blockIdx.x * most;
  const float threshold = overlap_threshold ? *overlap_threshold : 0.0f;
  const float least = score_threshold ? *score_threshold : 0.0f;
  for (int i = threadIdx.x; i < num_boxes; i += blockDim.x) {
    open[i] = scores[i] == scores[i] && (!score_threshold || scores[i] > least);
  }
  int count = 0, last = -1;
  for (; count < most; ++count) {
    float best = -CG_INF;
    int best_at = num_boxes;
    for (int i = threadIdx.x; i < num_boxes; i += blockDim.x) {  // each thread has boxes of its own
      if (!open[i]) continue;
      if (i == last || (last >= 0 && overlap(Box(boxes + 4 * i), Box(boxes + 4 * last), threshold))) {
        open[i] = 0;
      } else if (best_at == num_boxes || scores[i] > best) {
        best = scores[i];
        best_at = i;
      }
    }
    const float highest = cg_block_max(best);
    last = cg_block_min(best == highest ? best_at : num_boxes);
    if (last == num_boxes) break;
    if (threadIdx.x == 0) chosen[count] = last;
  }
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

// rows [all classes * most, 3] of (image, class, box), then -1; and how many. One block a class.
extern "C" __global__ void __launch_bounds__(256)
    list_boxes(const int* __restrict__ chosen, const int* __restrict__ counts,
               long long* __restrict__ rows, long long* __restrict__ count, int classes, int most) {
  long long before = 0, all = 0;
  for (int b = threadIdx.x; b < int(gridDim.x); b += blockDim.x) {
    all += counts[b];
    before += b < int(blockIdx.x) ? counts[b] : 0;
  }
  all = cg_block_sum(all);
  before = cg_block_sum(before);
  for (int k = threadIdx.x; k < most; k += blockDim.x) {
    if (k < counts[blockIdx.x]) {
      long long* row = rows + (before + k) * 3;
      row[0] = blockIdx.x / classes;
      row[1] = blockIdx.x % classes;
      row[2] = chosen[(long long)blockIdx.x * most + k];
    }
    const long long place = (long long)blockIdx.x * most + k;
    if (place >= all) rows[place * 3] = rows[place * 3 + 1] = rows[place * 3 + 2] = -1;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *count = all;
}
