"""The two sides of ``device.cuh`` agree: one kernel, one input, on a GPU and on the CPU device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cugraphmodel.executors.cuda.compiler import compile_cubin, nvrtc_options
from cugraphmodel.executors.host.module import HostModule
from cugraphmodel.kernels.source import Source
from tests.host import test_device_header as header
from tests.host import test_language as language
from tests.host.support import Array, random

pytestmark = pytest.mark.gpu

Dim3 = tuple[int, int, int]
Macros = tuple[tuple[str, str], ...]


def both(
    folder: Path,
    text: str,
    entry: str,
    launch: tuple[Dim3, Dim3],
    args: Sequence[Array | np.generic],
    macros: Macros = (),
) -> tuple[Array, Array]:
    """What a kernel leaves in its last array on the GPU and on the CPU; the arrays stay."""
    import cupy

    source = Source("test.cu", f'#include "device.cuh"\n{text}')
    grid, block = launch
    capability = cupy.cuda.Device().compute_capability
    path = folder / "test.cubin"
    path.write_bytes(compile_cubin(source, nvrtc_options(f"sm_{capability}", macros)))
    on_gpu = [cupy.asarray(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    cupy.RawModule(path=str(path)).get_function(entry)(grid, block, tuple(on_gpu))
    on_cpu = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    HostModule(source, macros).get_function(entry)(grid, block, on_cpu)
    last = max(i for i, arg in enumerate(args) if isinstance(arg, np.ndarray))
    gpu: Any = cupy.asnumpy(on_gpu[last])
    cpu: Any = on_cpu[last]
    return gpu, cpu


def elementwise(
    folder: Path, text: str, entry: str, x: Array, y: Array, macros: Macros = ()
) -> tuple[Array, Array]:
    launch: tuple[Dim3, Dim3] = ((-(-x.size // 256), 1, 1), (256, 1, 1))
    return both(folder, text, entry, launch, [x, y, np.int32(x.size)], macros)


def assert_same_bits(got: Array, expected: Array) -> None:
    """Equal bit for bit, but for the payload of NaN."""
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
        got, expected = (np.where(np.isnan(part), 0, part) for part in (got, expected))
    assert got.tobytes() == expected.tobytes()


@pytest.mark.twins("cg_half_bits_to_float")
def test_every_half_widens_alike(tmp_path: Path) -> None:
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    assert_same_bits(*elementwise(tmp_path, header.HALVES, "widen", x, np.zeros(65536, np.float32)))


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param("narrow", marks=pytest.mark.twins("cg_float_to_half_bits")),
        pytest.param("narrow_double", marks=pytest.mark.twins("cg_double_to_half_bits")),
    ],
)
def test_narrowing_rounds_alike(entry: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    if entry == "narrow":
        x: Array = rng.integers(0, 2**32, 200_000, np.uint32).view(np.float32)
    else:
        near = rng.integers(0, 2**16, 200_000).astype(np.uint16).view(np.float16)
        with np.errstate(invalid="ignore"):  # some of the halves are signalling NaN
            x = near.astype(np.float64) * (1 + rng.integers(-3, 4, near.size) * 2.0**-12)
        x = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)])
    y = np.zeros(x.size, np.float16)
    assert_same_bits(*elementwise(tmp_path, header.HALVES, entry, x, y))


@pytest.mark.parametrize("to", header.C_TYPES)
@pytest.mark.parametrize("from_", ["float16", "float32", "float64", "int64", "uint64", "int8"])
def test_casts_agree(from_: str, to: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 256, 8 * 4096, np.uint8)
    special = np.array([0.0, -0.0, 0.5, -0.9, 127.9, -128.9, 255.9, 2.0**31, 2.0**63, -(2.0**63)])
    x = bits.view(from_)
    if x.dtype.kind == "f":
        with np.errstate(over="ignore"):
            x = np.concatenate([x, special.astype(from_), np.array([np.nan, np.inf], from_)])
    macros = (("FROM", header.C_TYPES[from_]), ("TO", header.C_TYPES[to]))
    assert_same_bits(*elementwise(tmp_path, header.CAST, "test", x, np.zeros(x.size, to), macros))


def math(function: str, ulps: int, arguments: str = "x[i]") -> object:
    """A function with how far the two sides may lie apart: what CUDA and the C library promise."""
    call = f"{function}({arguments})"
    return pytest.param(call, ulps, id=call, marks=pytest.mark.twins(function))


@pytest.mark.parametrize("scalar", ["float", "double"])
@pytest.mark.parametrize(
    ("function", "ulps"),
    [
        *(math(f"cg_{name}", 0) for name in ("sqrt", "rsqrt", "floor", "ceil", "trunc", "round")),
        math("cg_abs", 0),
        math("cg_min", 0, "x[i], z[i]"),
        math("cg_max", 0, "x[i], z[i]"),
        math("cg_fmod", 0, "x[i], z[i]"),
        math("cg_fma", 0, "x[i], x[i], z[i]"),
        ("x[i] / z[i]", 0),
        *(math(f"cg_{name}", 3) for name in ("exp", "expm1", "log", "log1p")),
        *(math(f"cg_{name}", 4) for name in ("tanh", "erf", "sin", "cos", "asin", "acos", "atan")),
        *(math(f"cg_{name}", 6) for name in ("tan", "sinh", "cosh", "asinh", "acosh", "atanh")),
        math("cg_pow", 6, "x[i], z[i]"),
    ],
)
def test_math_agrees(function: str, ulps: int, scalar: str, tmp_path: Path) -> None:
    dtype = np.float32 if scalar == "float" else np.float64
    data = np.concatenate([np.array(header.SPECIAL), random(0, 5000) * 3]).astype(dtype)
    other = np.roll(data, 1)
    launch: tuple[Dim3, Dim3] = ((-(-data.size // 256), 1, 1), (256, 1, 1))
    args: list[Array | np.generic] = [data, other, np.zeros_like(data), np.int32(data.size)]
    macros = (("SCALAR", scalar), ("FUNCTION", function))
    gpu, cpu = both(tmp_path, header.SCALARS, "test", launch, args, macros)
    if ulps == 0:
        assert_same_bits(gpu, cpu)
        return
    np.testing.assert_array_equal(np.isnan(gpu), np.isnan(cpu))
    finite = np.isfinite(cpu)
    np.testing.assert_array_equal(np.isinf(gpu), np.isinf(cpu))
    np.testing.assert_array_max_ulp(gpu[finite], cpu[finite], ulps)


@pytest.mark.twins("cg_warp_reduce", "cg_block_reduce")
@pytest.mark.parametrize("scalar", language.NUMPY_NAMES)
@pytest.mark.parametrize("block", [(32, 1, 1), (64, 3, 1), (1024, 1, 1)], ids=str)
def test_reductions_agree(scalar: str, block: Dim3, tmp_path: Path) -> None:
    dtype = {"float": "f4", "double": "f8", "int": "i4", "unsigned": "u4", "long long": "i8"}[
        scalar
    ]
    threads = block[0] * block[1]
    x = (np.abs(random(2, 5, threads)) * 1000).astype(dtype)
    if dtype == "f4":
        x[3, threads // 2] = np.nan
    y = np.zeros((5, threads, 6), dtype)
    macros = (("SCALAR", scalar),)
    launch = ((5, 1, 1), block)
    assert_same_bits(*both(tmp_path, language.REDUCTIONS, "test", launch, [x, y], macros))


def test_shuffles_agree(tmp_path: Path) -> None:
    x = np.arange(96, dtype=np.int32) * 10
    y = np.zeros((96, 8), np.int32)
    launch: tuple[Dim3, Dim3] = ((1, 1, 1), (96, 1, 1))
    assert_same_bits(*both(tmp_path, language.SHUFFLES, "test", launch, [x, y]))
