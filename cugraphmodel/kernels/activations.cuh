// Activation functions, one signature for all: cg_act_*(x, a, b).
//
// T is float or double; callers with half operands compute in float. a and b are the operator's
// float attributes (ONNX stores attributes as float32); a function that has fewer ignores the rest.
// So an epilogue can be written once, as ACTIVATION(x, a, b). NaN goes through every function
// that has no comparison to swallow it in its ONNX definition.
#pragma once

#include "device.cuh"

template <typename T> CG_DEV T cg_act_none(T x, float, float) { return x; }

template <typename T> CG_DEV T cg_act_relu(T x, float, float) { return cg_max(x, T(0)); }

// a: slope below zero.
template <typename T> CG_DEV T cg_act_leaky_relu(T x, float a, float) {
  return x < T(0) ? T(a) * x : x;
}

// a: threshold, at and below which the result is zero.
template <typename T> CG_DEV T cg_act_thresholded_relu(T x, float a, float) {
  return x > T(a) ? x : T(0);
}

// a, b: lower and upper bound; b wins where they cross.
template <typename T> CG_DEV T cg_act_clip(T x, float a, float b) {
  return cg_min(cg_max(x, T(a)), T(b));
}

// The exponent is never positive, so that both tails keep their relative accuracy.
template <typename T> CG_DEV T cg_act_sigmoid(T x, float, float) {
  const T e = cg_exp(-cg_abs(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}

// x * sigmoid(a * x); a = 1 is SiLU.
template <typename T> CG_DEV T cg_act_swish(T x, float a, float) {
  return x * cg_act_sigmoid(T(a) * x, 0.0f, 0.0f);
}

template <typename T> CG_DEV T cg_act_tanh(T x, float, float) { return cg_tanh(x); }

// a, b: slope and offset of the ramp.
template <typename T> CG_DEV T cg_act_hard_sigmoid(T x, float a, float b) {
  return cg_max(T(0), cg_min(T(1), cg_fma(T(a), x, T(b))));
}

template <typename T> CG_DEV T cg_act_hard_swish(T x, float, float) {
  return x * cg_max(T(0), cg_min(T(1), cg_fma(x, T(1.0 / 6.0), T(0.5))));
}

// a: scale of the exponential below zero.
template <typename T> CG_DEV T cg_act_elu(T x, float a, float) {
  return x < T(0) ? T(a) * cg_expm1(x) : x;
}

// a, b: alpha and gamma of the ONNX definition.
template <typename T> CG_DEV T cg_act_selu(T x, float a, float b) {
  return T(b) * (x <= T(0) ? T(a) * cg_expm1(x) : x);
}

// a: alpha of the ONNX definition.
template <typename T> CG_DEV T cg_act_celu(T x, float a, float) {
  return x < T(0) ? T(a) * cg_expm1(x / T(a)) : x;
}

// log(1 + exp(x)) without overflow.
template <typename T> CG_DEV T cg_act_softplus(T x, float, float) {
  return cg_max(x, T(0)) + cg_log1p(cg_exp(-cg_abs(x)));
}

template <typename T> CG_DEV T cg_act_softsign(T x, float, float) {
  return x / (T(1) + cg_abs(x));
}

// x * tanh(softplus(x)). With e = exp(x), tanh(log(1 + e)) = n / (n + 2) where n = e * (e + 2);
// from x = 20 on the quotient rounds to one, in double too.
template <typename T> CG_DEV T cg_act_mish(T x, float, float) {
  const T e = cg_exp(cg_min(x, T(20)));
  const T n = e * (e + T(2));
  return x * (n / (n + T(2)));
}

template <typename T> CG_DEV T cg_act_gelu(T x, float, float) {
  return T(0.5) * x * (T(1) + cg_erf(x * T(0.70710678118654752440)));
}

// The tanh approximation: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
template <typename T> CG_DEV T cg_act_gelu_tanh(T x, float, float) {
  const T inner = T(0.79788456080286535588) * x * cg_fma(T(0.044715) * x, x, T(1));
  return T(0.5) * x * (T(1) + cg_tanh(inner));
}
