"""Compiling kernels with NVRTC, which needs neither a GPU nor a driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cugraphmodel.errors import KernelCompileError
from cugraphmodel.executors.cuda import compiler
from cugraphmodel.kernels import source as source_module
from cugraphmodel.kernels.source import Source
from cugraphmodel.ops.launch import Launch

cupy = pytest.importorskip("cupy", reason="NVRTC is called through CuPy")

ARITHMETIC = """#include "device.cuh"
extern "C" __global__ void arithmetic(float* y, float a, float b)
{
    y[0] = a + b;
    y[1] = a / b;
    y[2] = cg_sqrt(a);
    y[3] = a * b;
}
"""


def launch(source: str, entry: str, **macros: str) -> Launch:
    return Launch(source, entry, (1, 1, 1), (32, 1, 1), (), tuple(macros.items()))


def test_arithmetic_is_exact_and_keeps_subnormals() -> None:
    from cupy.cuda import nvrtc

    options = compiler.nvrtc_options("compute_90", ())
    program = nvrtc.createProgram(
        ARITHMETIC, "a.cu", [source_module.device_header().encode()], [b"device.cuh"]
    )
    nvrtc.compileProgram(program, options)
    ptx = nvrtc.getPTX(program)
    ptx = ptx.decode() if isinstance(ptx, bytes) else ptx
    for instruction in ("add.f32", "div.rn.f32", "sqrt.rn.f32", "mul.f32"):
        assert instruction in ptx
    assert ".ftz" not in ptx
    assert ".approx" not in ptx


def test_macros_reach_the_kernel() -> None:
    text = 'extern "C" __global__ void ENTRY(SCALAR* y) { y[0] = VALUE; }'
    macros = (("ENTRY", "chosen"), ("SCALAR", "long long"), ("VALUE", "(1 + 2)"))
    cubin = compiler.compile_cubin(Source("m.cu", text), compiler.nvrtc_options("sm_90", macros))
    assert cubin.startswith(b"\x7fELF")
    assert b"chosen" in cubin


def test_an_error_carries_name_options_log_and_numbered_source() -> None:
    text = '#line 1 "ops/broken.cu"\n#include "device.cuh"\nint f() { return missing; }'
    options = compiler.nvrtc_options("sm_90", (("TILE_M", "64"),))
    with pytest.raises(KernelCompileError) as raised:
        compiler.compile_cubin(Source("ops/broken.cu", text), options)
    error: Any = raised.value
    assert 'ops/broken.cu(2): error: identifier "missing" is undefined' in error.log
    assert error.log in str(error)
    assert "-DTILE_M=64" in str(error)
    assert error.options == options
    assert error.source.splitlines()[2] == "3  int f() { return missing; }"


def test_each_source_is_compiled_once_and_kept_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    original = compiler.compile_cubin

    def compile_cubin(source: Source, options: tuple[str, ...]) -> bytes:
        compiled.append(source.name)
        return original(source, options)

    class RawModule:
        def __init__(self, path: str) -> None:
            assert Path(path).read_bytes().startswith(b"\x7fELF")

        def get_function(self, name: str) -> str:
            return name

    sources = {
        "one.cu": 'extern "C" __global__ void a() {} extern "C" __global__ void b() {}',
        "two.cu": '#include "device.cuh"\nextern "C" __global__ void c(SCALAR* y) {}',
    }
    monkeypatch.setenv("CUGRAPHMODEL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "compile_cubin", compile_cubin)
    monkeypatch.setattr(compiler, "load_source", lambda name: Source(name, sources[name]))
    monkeypatch.setattr(cupy, "RawModule", RawModule)
    launches = [
        launch("one.cu", "a"),
        launch("two.cu", "c", SCALAR="float"),
        launch("one.cu", "b"),
        launch("two.cu", "c", SCALAR="double"),
    ]
    calls: list[tuple[str, int, int]] = []
    loaded = compiler.load_kernels(launches, "sm_90", lambda *call: calls.append(call))
    assert [loaded[each] for each in launches] == ["a", "c", "b", "c"]
    assert compiled == ["one.cu", "two.cu", "two.cu"]
    assert [(done, total) for _, done, total in calls] == [(0, 3), (1, 3), (2, 3), (3, 3)]

    compiler.load_kernels(launches, "sm_90", None)
    assert len(compiled) == 3, "the disk has them"
    compiler.load_kernels(launches, "sm_80", None)
    assert len(compiled) == 6, "another architecture is another file"
    monkeypatch.setattr(compiler, "device_header", lambda: "// another header\n")
    compiler.load_kernels(launches[:1], "sm_90", None)
    assert len(compiled) == 7, "a changed header is another file"
