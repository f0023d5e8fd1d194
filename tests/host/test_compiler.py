"""Which compiler is taken, and what the key of a compiled kernel covers."""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cugraphmodel.errors import CompilerNotFoundError, DeviceUnavailableError
from cugraphmodel.executors.host import compiler
from cugraphmodel.executors.host.compiler import compile_source, find_compiler, is_flat
from cugraphmodel.executors.host.module import HostModule
from cugraphmodel.kernels.source import Source, device_header

ADD = """#include "device.cuh"
extern "C" __global__ void add(const float* x, float* y) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[63 - threadIdx.x] + AMOUNT + cg_block_sum(tile[threadIdx.x]);
}
"""


@pytest.fixture
def no_compiler_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


def compiles_and_runs() -> None:
    run = HostModule(Source("add.cu", ADD), (("AMOUNT", "2.0f"),)).get_function("add")
    x = np.arange(64, dtype=np.float32)
    y = np.zeros(64, np.float32)
    run((1, 1, 1), (64, 1, 1), [x, y])
    np.testing.assert_array_equal(y, x[::-1] + 2 + x.sum())


@pytest.mark.usefixtures("no_compiler_on_path")
def test_the_wheel_alone_suffices() -> None:
    pytest.importorskip("ziglang", reason="the cpu extra is not installed")
    found = find_compiler()
    assert found.is_zig
    assert found.title.startswith("zig ")
    compiles_and_runs()


@pytest.mark.usefixtures("no_compiler_on_path")
def test_without_any_compiler_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(CompilerNotFoundError, match="pip install ziglang"):
        compiler._find_compiler.__wrapped__(None, os.environ["PATH"])


def test_cxx_is_obeyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = find_compiler()
    log = tmp_path / "log"
    script = tmp_path / "my-compiler"
    command = " ".join(real.command)
    script.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {command} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CXX", f"{script} -DFROM_CXX")
    monkeypatch.setenv("CUGRAPHMODEL_CACHE_DIR", str(tmp_path / "cache"))
    assert find_compiler().command == (str(script), "-DFROM_CXX")
    compiles_and_runs()
    assert all(line.startswith("-DFROM_CXX") for line in log.read_text().splitlines())


@pytest.mark.parametrize("value", ["/nowhere/c++", "no-such-compiler -O2"])
def test_a_wrong_cxx_is_an_error(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", value)
    with pytest.raises(CompilerNotFoundError, match="names a C\\+\\+ compiler that is not there"):
        find_compiler()


def test_a_cxx_that_is_no_compiler_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "false")
    with pytest.raises(CompilerNotFoundError, match="no usable C\\+\\+ compiler"):
        find_compiler()


@pytest.mark.parametrize("system", [("Darwin", "x86_64"), ("Linux", "aarch64")])
def test_other_systems_are_told_so(
    system: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system[0])
    monkeypatch.setattr(platform, "machine", lambda: system[1])
    with pytest.raises(DeviceUnavailableError, match="needs Linux on x86-64"):
        find_compiler()


def test_the_key_covers_all_that_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUGRAPHMODEL_CACHE_DIR", str(tmp_path / "cache"))
    source = Source("add.cu", ADD)
    macros = (("AMOUNT", "1.0f"),)
    paths = [compile_source(source, macros)]
    assert compile_source(source, macros) == paths[0]
    paths.append(compile_source(source, (("AMOUNT", "2.0f"),)))
    paths.append(compile_source(Source("add.cu", ADD + "// more\nint more;"), macros))
    with monkeypatch.context() as patch:
        header = device_header()
        patch.setattr(compiler, "device_header", lambda: header + "// changed")
        paths.append(compile_source(source, macros))
    with monkeypatch.context() as patch:
        compiler._runtime_library.cache_clear()
        patch.setattr(compiler, "_march", lambda: "x86-64")
        paths.append(compile_source(source, macros))
    compiler._runtime_library.cache_clear()
    assert len(set(paths)) == len(paths)


def test_every_host_header_is_in_the_key(tmp_path: Path) -> None:
    """In a copy of the package, changing any file that a kernel includes makes a new library."""
    package = tmp_path / "cugraphmodel"
    original = Path(compiler.__file__).parents[2]
    for path in [*original.rglob("*.py"), *original.rglob("*.h"), *original.rglob("*.c*")]:
        if "__pycache__" in path.parts:
            continue
        copy = package / path.relative_to(original)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    environment["CUGRAPHMODEL_CACHE_DIR"] = str(tmp_path / "cache")
    program = """
import cugraphmodel
from cugraphmodel.executors.host.compiler import compile_source
from cugraphmodel.kernels.source import Source, device_header
text = '#include "device.cuh"\\nextern "C" __global__ void f(int* y) { y[0] = 1; }'
print(cugraphmodel.__file__, compile_source(Source("f.cu", text)))
"""

    def compile_again() -> str:
        ran = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        where, library = ran.stdout.split()
        assert where.startswith(str(package))
        return library

    seen = [compile_again()]
    assert compile_again() == seen[0]
    host = package / "executors" / "host"
    for header in (
        package / "kernels" / "device.cuh",
        host / "cuda_host.h",
        host / "runtime.h",
        host / "runtime.cpp",
    ):
        header.write_text(header.read_text() + "// changed\n")
        seen.append(compile_again())
    assert len(set(seen)) == 5


@pytest.mark.parametrize(
    ("text", "flat"),
    [
        ("y[i] = x[i];", True),
        ("// __syncthreads() is not needed", True),
        ("/* no __shared__\n memory */", True),
        ("atomicAdd(y, 1);", True),
        ("__syncthreads();", False),
        ("y[i] = cg_warp_sum(x[i]);", False),
        ("y[i] = cg_block_max(x[i]);", False),
        ("__shfl_sync(0xffffffffu, x, 0);", False),
        ("__shared__ int tile[4];", False),
        ("CG_DYN_SHARED(int, tile);", False),
    ],
)
def test_what_runs_as_plain_loops(text: str, flat: bool) -> None:
    assert is_flat(text) == flat


def test_comments_and_lines_survive_translation() -> None:
    text = (
        "int a; // __shared__\n/* two\nlines */\n__shared__ __align__(16)\n  float\n  tile[2][3];\n"
        'extern "C" __global__ void __launch_bounds__(4 * (1 + 1))\nname(int* y) {}\n'
        'extern "C" __global__ void other() {}\nint last;'
    )
    translated = compiler.translate(Source("f.cu", text), is_clang=True)
    lines = translated.splitlines()
    assert lines[0] == '#line 1 "f.cu"'
    assert lines[1 + text.splitlines().index("int last;")] == "int last;"
    assert "CUHOST_SHARED(__align__(16) float, tile, [2][3]);" in translated
    assert "CUHOST_EXPORT(name, 4 * (1 + 1))" in translated
    assert "CUHOST_EXPORT(other)" in translated


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("#pragma unroll", "#pragma GCC unroll 128"),
        ("#pragma unroll 4", "#pragma GCC unroll 4"),
        ("  #pragma unroll kCount", "  #pragma GCC unroll kCount"),
    ],
)
def test_gcc_is_told_to_unroll(line: str, expected: str) -> None:
    source = Source("f.cu", f"{line}\nfor (;;) {{}}")
    assert expected in compiler.translate(source, is_clang=False).splitlines()
    assert line in compiler.translate(source, is_clang=True).splitlines()
