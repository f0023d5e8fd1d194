// What is done to the scores of one row: post_transform of ai.onnx.ml.
#pragma once

#include "activations.cuh"
#include "device.cuh"

template <class T>
CG_DEV void transform_none(T*, int) {}

template <class T>
CG_DEV void transform_logistic(T* scores, int count) {
  for (int k = 0; k < count; ++k) scores[k] = cg_act_sigmoid(scores[k], 0.0f, 0.0f);
}

template <class T>
CG_DEV void transform_softmax(T* scores, int count) {
  T highest = scores[0], sum = T(0);
  for (int k = 1; k < count; ++k) highest = cg_max(highest, scores[k]);
  for (int k = 0; k < count; ++k) sum += scores[k] = cg_exp(scores[k] - highest);
  for (int k = 0; k < count; ++k) scores[k] /= sum;
}

// Softmax over the scores that are not 0, up to rounding; those stay 0.
template <class T>
CG_DEV void transform_softmax_zero(T* scores, int count) {
  T highest = scores[0], sum = T(0);
  for (int k = 1; k < count; ++k) highest = cg_max(highest, scores[k]);
  for (int k = 0; k < count; ++k) {
    const bool is_zero = cg_abs(scores[k]) <= T(1e-7);
    scores[k] = is_zero ? T(0) : cg_exp(scores[k] - highest);
    sum += scores[k];
  }
  for (int k = 0; k < count; ++k) scores[k] = sum > T(0) ? scores[k] / sum : T(0);
}
