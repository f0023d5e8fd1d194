// The label and the scores of all classes, from num_raw scores: one for each class, or, of two
// classes, that of the second alone. Without `threshold` the highest score decides (the first of
// equal ones), else whether the last score is above it.
//
// opposite: what the other class gets where there is one score: 1 for 1 - score, 0 for -score.
// labels and scores may be null.
//
// TRANSFORM: a function of scores.cuh. One thread a row.
#include "device.cuh"
#include "scores.cuh"

extern "C" __global__ void __launch_bounds__(128)
    classify(const float* __restrict__ raw, const long long* __restrict__ classes,
             long long* __restrict__ labels, float* __restrict__ scores, long long num_rows,
             int num_raw, int num_classes, int has_threshold, float threshold, float opposite,
             int is_logistic) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= num_rows) return;
  const float* given = raw + row * num_raw;
  int best = 0;
  if (has_threshold) {
    best = given[num_raw - 1] > threshold ? 1 : 0;
  } else {
    for (int k = 1; k < num_raw; ++k) best = given[k] > given[best] ? k : best;
  }
  if (labels != nullptr) labels[row] = classes[best];
  if (scores == nullptr) return;
  float* mine = scores + row * num_classes;
  if (num_raw == num_classes) {
    for (int k = 0; k < num_classes; ++k) mine[k] = given[k];
    TRANSFORM(mine, num_classes);
  } else {
    const float score = given[0];
    mine[0] = is_logistic ? cg_act_sigmoid(-score, 0.0f, 0.0f) : opposite - score;
    mine[1] = is_logistic ? cg_act_sigmoid(score, 0.0f, 0.0f) : score;
  }
}
