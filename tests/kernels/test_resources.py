"""The compiler's report is read right: kernels written to take a known amount."""

from __future__ import annotations

import pytest

from cugraphmodel.errors import KernelCompileError
from cugraphmodel.executors.cuda.compiler import compile_cubin, compile_with_log, nvrtc_options
from cugraphmodel.kernels.source import Source
from tests.kernels.gate import ARCHITECTURES
from tests.kernels.resources import REPORT_OPTION, Instance, compile_job, usage_of

pytest.importorskip("cupy", reason="NVRTC is called through CuPy")

HUNGRY = """
extern "C" __global__ void BOUNDS hungry(float* x, int n) {
  float a[80];
#pragma unroll
  for (int i = 0; i < 80; ++i) a[i] = x[i * n];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 80; ++i) x[i * n] = a[i] * a[(i * 7 + 3) % 80];
}
"""
SEVERAL = """
__device__ __noinline__ float not_inlined(float x) {
  float a[16] = {};
  for (int i = 0; i < int(x); ++i) a[i * i & 15] += x;
  return a[int(x) & 15];
}
extern "C" __global__ void __launch_bounds__(96) shares(float* x) {
  __shared__ float tile[777];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[threadIdx.x ^ 1];
}
extern "C" __global__ void indexes(float* x, int n) {
  float a[40] = {};
  for (int i = 0; i < n; ++i) a[int(x[i])] += 1;
  for (int i = 0; i < n; ++i) x[i] = a[i];
}
extern "C" __global__ void calls(float* x) { x[0] = not_inlined(x[1]); }
extern "C" __global__ void plain(float* x) { x[0] = 1; }
"""


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_registers_and_spills(architecture: str) -> None:
    """80 live values fit without bounds; 1536 threads of 42 registers do not hold them."""
    options = {
        bounds: nvrtc_options(architecture, [("BOUNDS", bounds)])
        for bounds in ("", "__launch_bounds__(768, 2)")
    }
    free, bound = (usage_of(Source("h.cu", HUNGRY), each) for each in options.values())
    assert free.kernels["hungry"].registers > 80
    assert free.kernels["hungry"].spill_bytes == free.kernels["hungry"].local_bytes == 0
    assert free.kernels["hungry"].max_threads == 1024
    assert bound.kernels["hungry"].registers <= 65536 // (768 * 2)
    assert bound.kernels["hungry"].spill_bytes >= 2 * 4 * 30
    assert bound.kernels["hungry"].local_bytes >= 4 * 30
    assert bound.kernels["hungry"].max_threads == 768


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_each_kernel_of_a_source_has_its_own_numbers(architecture: str) -> None:
    kernels = usage_of(Source("s.cu", SEVERAL), nvrtc_options(architecture, ())).kernels
    assert list(kernels) == ["calls", "indexes", "plain", "shares"]
    assert {name: usage.shared_bytes for name, usage in kernels.items()} == {
        "calls": 0,
        "indexes": 0,
        "plain": 0,
        "shares": 4 * 777,
    }
    assert {name: usage.max_threads for name, usage in kernels.items()} == {
        "calls": 1024,
        "indexes": 1024,
        "plain": 1024,
        "shares": 96,
    }
    assert kernels["indexes"].local_bytes == 4 * 40
    assert kernels["calls"].local_bytes >= 4 * 16
    assert all(usage.spill_bytes == 0 for usage in kernels.values())


def test_the_report_does_not_change_the_code() -> None:
    source, options = Source("s.cu", SEVERAL), nvrtc_options("sm_90", ())
    cubin = compile_cubin(source, options)
    assert compile_with_log(source, (*options, REPORT_OPTION))[0] == cubin
    assert usage_of(source, options).cubin_bytes == len(cubin)


def test_a_name_that_nvrtc_does_not_know_is_told_with_file_and_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = '#line 1 "ops/a.cu"\n#include "device.cuh"\nCG_DEV float f(float x) { return fast(x); }'
    monkeypatch.setattr("tests.kernels.resources.load_source", lambda name: Source(name, text))
    complaint = compile_job((Instance("ops/a.cu", (("SCALAR", "float"),)), "sm_120"))
    assert isinstance(complaint, str)
    assert 'ops/a.cu(2): error: identifier "fast" is undefined' in complaint
    assert "--gpu-architecture=sm_120" in complaint
    assert "-DSCALAR=float" in complaint


def test_what_is_broken_for_one_architecture_is_told_for_it_alone() -> None:
    text = "#if __CUDA_ARCH__ >= 1200\n#error no\n#endif\nextern __constant__ int unused;\n"
    for architecture in ARCHITECTURES[:-1]:
        usage_of(Source("a.cu", text + SEVERAL), nvrtc_options(architecture, ()))
    with pytest.raises(KernelCompileError, match="directive: no"):
        usage_of(Source("a.cu", text + SEVERAL), nvrtc_options(ARCHITECTURES[-1], ()))
