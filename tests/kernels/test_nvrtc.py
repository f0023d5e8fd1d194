"""NVRTC takes the same files as the host compiler. Needs no GPU, only CuPy and NVRTC's wheel."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

import cugraphmodel
from cugraphmodel.executors.cuda.compiler import compile_cubin, nvrtc_options
from cugraphmodel.kernels.source import Source, load_source
from cugraphmodel.ops.launch import Launch
from cugraphmodel.plan import build_plan
from tests.ops import harness
from tests.ops.test_cases import CASES

pytest.importorskip("cupy", reason="NVRTC is called through CuPy")

ARCHITECTURES = ["sm_80", "sm_90", "sm_120"]
PACKAGE = Path(cugraphmodel.__file__).parent
FILES = sorted(str(path.relative_to(PACKAGE)) for path in (PACKAGE / "ops").rglob("*.cu"))

WHOLE_HEADER = """
#include "device.cuh"
template <class T>
CG_DEV double of_any(T x) {
  return double(cg_max(x, cg_min(x, T(3)))) + double(cg_fma(x, x, x)) + double(cg_abs(x)) +
         double(cg_load4(&x).v[0]) + cg_cast<bool>(x) + cg_cast<double>(cg_cast<half>(x)) +
         cg_cast<signed char>(x) + cg_cast<unsigned long long>(x) + cg_cast<int>(x);
}
template <class T>
CG_DEV double of_word(T x) {
  return double(cg_warp_sum(x) + cg_warp_max(x) + cg_warp_min(x) + cg_block_sum(x)) +
         double(cg_block_max(x) + cg_block_min(x)) + double(CgLimits<T>::lowest());
}
template <class T>
CG_DEV double of_float(T x) {
  return cg_exp(x) + cg_expm1(x) + cg_log(x) + cg_log1p(x) + cg_sqrt(x) + cg_rsqrt(x) + cg_sin(x) +
         cg_cos(x) + cg_tan(x) + cg_asin(x) + cg_acos(x) + cg_atan(x) + cg_sinh(x) + cg_cosh(x) +
         cg_tanh(x) + cg_asinh(x) + cg_acosh(x) + cg_atanh(x) + cg_erf(x) + cg_floor(x) +
         cg_ceil(x) + cg_trunc(x) + cg_round(x) + cg_pow(x, x) + cg_fmod(x, x) + cg_isnan(x) +
         cg_isinf(x) + CG_INF + CG_NAN;
}
extern "C" __global__ void __launch_bounds__(256)
    test(double* y, half* halves, Dims dims, unsigned* word, long long n) {
  CG_DYN_SHARED(double, dynamic);
  __shared__ float tile[4][32];
  tile[0][threadIdx.x % 32] = float(halves[threadIdx.x]);
  __syncthreads();
  y[0] = of_any(1.5f) + of_any(n) + of_any(int(n)) + of_any(double(n)) + of_any((unsigned char)n);
  y[1] = of_word(1.5f) + of_word(n) + of_word(int(n)) + of_word(double(n)) + of_word(unsigned(n));
  y[2] = of_float(float(n)) + of_float(double(n)) + tile[0][3];
  cg_store4(halves + 4, cg_load4(halves));
  halves[2] = cg_cast<half>(double(n));
  dynamic[threadIdx.x] = cg_cast<double>(halves[1]) + dims.v[3];
  if (n > 5) cg_report_index_error(word, 7u);
}
"""


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_everything_in_the_header_compiles(architecture: str) -> None:
    cubin = compile_cubin(Source("header.cu", WHOLE_HEADER), nvrtc_options(architecture, ()))
    assert cubin.startswith(b"\x7fELF")


@functools.cache
def launches() -> dict[str, list[Launch]]:
    """Every way in which the operators' cases launch a source: source -> distinct macros."""
    found: dict[str, dict[tuple[tuple[str, str], ...], Launch]] = {}
    for case in CASES:
        for step in build_plan(harness.graph_of(case)).steps:
            launch = step.launch
            found.setdefault(launch.source, {}).setdefault(launch.macros, launch)
    return {source: list(by_macros.values()) for source, by_macros in found.items()}


@pytest.mark.parametrize("name", FILES)
def test_every_kernel_file_compiles(name: str) -> None:
    """For one architecture, as the first, the middle and the last case launch it."""
    ways = launches().get(name, [])
    assert ways, "no case launches this file"
    for launch in {id(way): way for way in (ways[0], ways[len(ways) // 2], ways[-1])}.values():
        cubin = compile_cubin(load_source(name), nvrtc_options("sm_90", launch.macros))
        assert launch.entry.encode() in cubin
