"""The CPU's side of ``device.cuh`` against NumPy. ``tests/kernels`` compiles the GPU's side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cugraphmodel.executors.host import compiler
from cugraphmodel.executors.host.compiler import find_compiler
from cugraphmodel.executors.host.module import HostModule
from cugraphmodel.kernels import source
from cugraphmodel.kernels.source import Source
from tests.host.support import Array, kernel, random

HALVES = """
extern "C" __global__ void widen(const half* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = float(x[i]);
}
extern "C" __global__ void narrow(const float* x, half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = half(x[i]);
}
extern "C" __global__ void narrow_double(const double* x, half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = cg_cast<half>(x[i]);
}
"""


@pytest.fixture(params=["this processor", "x86-64"])
def halves(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostModule]:
    """Conversions by the processor's instructions, and by those that every x86-64 has."""
    if request.param == "x86-64":
        monkeypatch.setattr(compiler, "_march", lambda: "x86-64")
    compiler._runtime_library.cache_clear()
    yield HostModule(Source("halves.cu", f'#include "device.cuh"\n{HALVES}'))
    compiler._runtime_library.cache_clear()


def launch(module: HostModule, entry: str, x: Array, y: Array) -> Array:
    blocks = -(-x.size // 256)
    module.get_function(entry)((blocks, 1, 1), (256, 1, 1), [x, y, np.int32(x.size)])
    return y


def test_every_half_widens_exactly(halves: HostModule) -> None:
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    y = launch(halves, "widen", x, np.empty(x.size, np.float32))
    np.testing.assert_array_equal(y, x.astype(np.float32))
    np.testing.assert_array_equal(np.signbit(y), np.signbit(x))


@pytest.mark.parametrize("entry", ["narrow", "narrow_double"])
def test_narrowing_rounds_to_nearest_even(halves: HostModule, entry: str) -> None:
    """Every half, every midpoint of two neighbours, and what is just beside those."""
    dtype: Any = np.float32 if entry == "narrow" else np.float64
    exact = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(dtype)
    middle = (exact[1:] + exact[:-1]) / 2
    largest = np.array([65519.996, 65520, 65520.004, 65536, 1e9, 1e38, np.inf], dtype)
    points = np.concatenate([exact, middle, largest])
    around = [points, np.nextafter(points, dtype(3e38)), np.nextafter(points, dtype(0))]
    x = np.concatenate([*around, *(-part for part in around)])
    y = launch(halves, entry, x, np.empty(x.size, np.float16))
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    np.testing.assert_array_equal(y.view(np.uint16), expected.view(np.uint16))


@pytest.mark.parametrize("entry", ["narrow", "narrow_double"])
def test_narrowing_keeps_nan(halves: HostModule, entry: str) -> None:
    dtype = np.float32 if entry == "narrow" else np.float64
    if entry == "narrow":
        x = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FFFFFFF], np.uint32).view(dtype)
    else:
        x = np.array([0x7FF8 << 48, 0xFFF8 << 48, (0x7FF0 << 48) + 1], np.uint64).view(dtype)
    assert np.isnan(launch(halves, entry, x, np.zeros(x.size, np.float16))).all()


CAST = """
extern "C" __global__ void test(const FROM* x, TO* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = cg_cast<TO>(x[i]);
}
"""
C_TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float16": "half",
    "float32": "float",
    "float64": "double",
}


def cast_in_python(value: float | int | bool, to: np.dtype) -> object:
    """ONNX Cast of one number by Python's unbounded integers."""
    if to.kind == "b":
        return value != 0
    if to.kind == "f":
        with np.errstate(over="ignore"):
            return to.type(value)
    if isinstance(value, float):
        if np.isnan(value):
            return 0
        limits = np.iinfo(to)
        if np.isinf(value):
            return limits.max if value > 0 else limits.min
        return min(max(int(value), limits.min), limits.max)
    return int(np.array(int(value) % 2 ** (8 * to.itemsize), f"u{to.itemsize}").view(to))


@pytest.mark.parametrize("to", C_TYPES)
@pytest.mark.parametrize("from_", C_TYPES)
def test_cast_between_all_types(from_: str, to: str) -> None:
    dtype = np.dtype(from_)
    rng = np.random.default_rng(0)
    if dtype.kind == "f":
        edges = [2.0**k + d for k in (7, 8, 15, 16, 31, 32, 63, 64) for d in (-1.5, -1, 0, 0.5)]
        special = [0.0, -0.0, 0.5, -0.5, -0.9, 127.9, -128.9, 255.9, np.nan, np.inf, -np.inf, 1e-7]
        with np.errstate(over="ignore"):
            x = np.array([*edges, *(-e for e in edges), *special], np.float64).astype(dtype)
    elif dtype.kind == "b":
        x = np.array([False, True])
    else:
        limits = np.iinfo(dtype)
        edges_int = [limits.min, limits.max, limits.max // 2, 0, 1, 100]
        drawn = rng.integers(limits.min, limits.max, 50, dtype, endpoint=True)
        x = np.concatenate([np.array(edges_int, dtype), drawn])
    y = np.zeros(x.size, to)
    run = kernel(CAST, macros=(("FROM", C_TYPES[from_]), ("TO", C_TYPES[to])))
    run((1, 1, 1), (128, 1, 1), [x, y, np.int32(x.size)])
    values = [cast_in_python(value, np.dtype(to)) for value in x.tolist()]
    expected = np.array(values, object).astype(to)
    np.testing.assert_array_equal(y, expected)


SCALARS = """
extern "C" __global__ void test(const SCALAR* x, const SCALAR* z, SCALAR* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (SCALAR)(FUNCTION);
}
"""


def elementwise(function: str, *operands: Array) -> Array:
    x = operands[0]
    y = np.empty_like(x)
    run = kernel(SCALARS, macros=(("SCALAR", C_TYPES[x.dtype.name]), ("FUNCTION", function)))
    run((-(-x.size // 256), 1, 1), (256, 1, 1), [x, operands[-1], y, np.int32(x.size)])
    return y


LANES_HEADER = (Path(source.__file__).parent / "lanes.cuh").read_text(encoding="utf-8")
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-40, -1e-40, 3e38, 0.5, 1.5, 2.5, -2.5]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("function", "reference", "ulps"),
    [
        ("cg_exp(x[i])", np.exp, 1),
        ("cg_expm1(x[i])", np.expm1, 2),
        ("cg_log(x[i])", np.log, 1),
        ("cg_log1p(x[i])", np.log1p, 2),
        ("cg_sqrt(x[i])", np.sqrt, 0),
        ("cg_rsqrt(x[i])", lambda x: 1 / np.sqrt(x), 1),
        ("cg_sin(x[i])", np.sin, 1),
        ("cg_cos(x[i])", np.cos, 1),
        ("cg_tanh(x[i])", np.tanh, 3),
        ("cg_abs(x[i])", np.abs, 0),
        ("cg_floor(x[i])", np.floor, 0),
        ("cg_ceil(x[i])", np.ceil, 0),
        ("cg_trunc(x[i])", np.trunc, 0),
        ("cg_round(x[i])", np.rint, 0),
        ("cg_isnan(x[i])", np.isnan, 0),
        ("cg_isinf(x[i])", np.isinf, 0),
    ],
)
def test_math(dtype: str, function: str, reference: Callable[[Array], Array], ulps: int) -> None:
    x = np.concatenate([np.array(SPECIAL), random(0, 5000) * 3]).astype(dtype)
    got = elementwise(function, x)
    with np.errstate(all="ignore"):
        expected = reference(x if ulps == 0 else x.astype(np.longdouble)).astype(dtype)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(got[~finite & ~np.isnan(got)], expected[~finite & ~np.isnan(got)])
    if ulps == 0:
        np.testing.assert_array_equal(got[finite], expected[finite])
        np.testing.assert_array_equal(np.signbit(got[finite]), np.signbit(expected[finite]))
    else:
        np.testing.assert_array_max_ulp(got[finite], expected[finite], ulps)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int32", "uint64"])
@pytest.mark.parametrize(("function", "reference"), [("min", np.minimum), ("max", np.maximum)])
def test_min_and_max_are_those_of_numpy(
    dtype: str, function: str, reference: Callable[[Array, Array], Array]
) -> None:
    data = np.array(SPECIAL) if np.dtype(dtype).kind == "f" else np.array([0, 1, 100, 7, 50])
    x, z = (part.ravel().astype(dtype) for part in np.meshgrid(data, data))
    np.testing.assert_array_equal(elementwise(f"cg_{function}(x[i], z[i])", x, z), reference(x, z))


def test_fma_rounds_once() -> None:
    if "fma" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no fused multiply-add")
    x = random(3, 1000)
    got = elementwise("cg_fma(x[i], x[i], -x[i] * x[i])", x)
    exact = x.astype(np.float64) ** 2
    np.testing.assert_array_equal(got, (exact - (x * x)).astype(np.float32))
    assert got.any()


def test_nothing_is_contracted_that_is_not_written_so() -> None:
    x = random(3, 1000)
    np.testing.assert_array_equal(elementwise("x[i] * x[i] - z[i] * z[i]", x, x.copy()), 0)


def test_integers_wrap() -> None:
    x = np.array([2**31 - 1, -(2**31), 5], np.int32)
    np.testing.assert_array_equal(elementwise("x[i] + x[i]", x), x + x)
    np.testing.assert_array_equal(elementwise("cg_abs(x[i])", x), np.abs(x))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize("num_bytes", [16, 32])
def test_lanes_round_as_scalars_do(num_bytes: int, dtype: str) -> None:
    lanes = num_bytes // np.dtype(dtype).itemsize
    run = kernel(
        LANES_HEADER
        + """
        extern "C" __global__ void test(const SCALAR* x, SCALAR* y) {
          const Lanes<SCALAR, LANES> a = spread_lanes<LANES>(x[0]);
          const Lanes<SCALAR, LANES> b = load_lanes<LANES>(x + LANES);
          const Lanes<SCALAR, LANES> sum = fma_lanes(a, b, load_lanes<LANES>(x + 2 * LANES));
          for (int i = 0; i < LANES; ++i) {
            y[2 * i] = sum.v[i];
            y[2 * i + 1] = cg_fma(x[0], x[LANES + i], x[2 * LANES + i]);
          }
        }
        """,
        macros=(("SCALAR", C_TYPES[np.dtype(dtype).name]), ("LANES", str(lanes))),
    )
    x = (random(4, 3 * lanes) * 100).astype(dtype)
    y = np.zeros((lanes, 2), dtype)
    run((1, 1, 1), (1, 1, 1), [x, y])
    np.testing.assert_array_equal(y[:, 0], y[:, 1])
    wide: Any = np.longdouble if y.dtype.kind == "f" else np.int64
    a, b, c = (part.astype(wide) for part in (x[:1], x[lanes : 2 * lanes], x[2 * lanes :]))
    np.testing.assert_allclose(y[:, 0], (a * b + c).astype(dtype), rtol=1e-6)


@pytest.mark.parametrize("name", ["bool", "uint8", "float16", "int32", "float32", "float64"])
def test_four_elements_at_once(name: str) -> None:
    run = kernel(
        """
        extern "C" __global__ void test(const SCALAR* x, SCALAR* y) {
          Pack4<SCALAR> pack = cg_load4(x + 4 * threadIdx.x);
          const SCALAR first = pack.v[0];
          pack.v[0] = pack.v[3];
          pack.v[3] = first;
          cg_store4(y + 4 * threadIdx.x, pack);
        }
        """,
        macros=(("SCALAR", C_TYPES[name]),),
    )
    x = (random(5, 8, 4) * 10).astype(name)
    y = np.empty_like(x)
    run((1, 1, 1), (8, 1, 1), [x, y])
    np.testing.assert_array_equal(y, x[:, [3, 1, 2, 0]])


def test_the_least_error_code_is_kept() -> None:
    run = kernel(
        """
        extern "C" __global__ void test(unsigned* word) {
          if (threadIdx.x > 20) cg_report_index_error(word, threadIdx.x);
        }
        """
    )
    word = np.full(1, 0xFFFFFFFF, np.uint32)
    run((4, 1, 1), (64, 1, 1), [word], num_workers=2)
    assert word[0] == 21


def test_this_compiler_is_described() -> None:
    found = find_compiler()
    assert found.title
    assert found.title in found.identity
