#pragma once
#include "device.cuh"

// The p-norm (sum of |x|^p)^(1/p): the terms of the sum, and the root of it.
template <class T>
CG_DEV T lp_term(T x, int p) {
  return p == 1 ? cg_abs(x) : p == 2 ? x * x : cg_pow(cg_abs(x), T(p));
}
template <class T>
CG_DEV T lp_root(T sum, int p) {
  return p == 1 ? sum : p == 2 ? cg_sqrt(sum) : cg_pow(sum, T(1) / T(p));
}
