"""Casts from and to the element types that C++ lacks, on the CPU device and on a GPU.

The right answer is the nearest number of a table of all numbers of the type, in more precision than
any source has; how the codes of the table read is checked against ``ml_dtypes``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cugraphmodel.dtypes import DTYPES, DType
from cugraphmodel.executors.cuda.compiler import compile_cubin, nvrtc_options
from cugraphmodel.kernels.source import load_source
from tests.kernels.gate import ARCHITECTURES
from tests.kernels.launching import Array, launch

# Some codes are signalling NaN, of which NumPy warns.
pytestmark = pytest.mark.filterwarnings("ignore:(invalid value|overflow) encountered")

FILE = Path(__file__).with_name("casts.cu")
TYPES = {entry.numpy.name: entry for entry in DTYPES if entry.onnx_code in (10, *range(16, 29))}
SCALES = "float8_e8m0fnu"
FLOATS = [name for name, entry in TYPES.items() if entry.kind == "f" and name != SCALES]
INTEGERS = [name for name, entry in TYPES.items() if entry.kind != "f"]
SATURATING = [name for name in FLOATS if TYPES[name].is_storage]
WITHOUT_NAN = tuple(
    map(np.dtype, (ml_dtypes.float4_e2m1fn, ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn))
)
BEYOND = {
    "float16": 0x7C00, "bfloat16": 0x7F80, "float8_e4m3fn": 0x7F, "float8_e4m3fnuz": 0x80,
    "float8_e5m2": 0x7C, "float8_e5m2fnuz": 0x80, "float4_e2m1fn": 0x7,
    "float6_e2m3fn": 0x1F, "float6_e3m2fn": 0x1F,
}  # fmt: skip
"""Code of what is too large, where the cast does not saturate (ONNX Cast, the second table)."""


ENTRIES = (
    *("to_float32", "to_float16", "to_int32", "to_bool"),
    *("from_float16", "from_float32", "from_float64", "from_int32", "from_int64", "from_uint64"),
    *("from_bool", "unsaturated"),
)
"""In the order of their numbers in the kernel."""


def run(
    device: str, entry: str, x: Array, to: np.dtype, type_: DType, unsaturated: str = "NARROW(x)"
) -> Array:
    """The cast of ``x``, which reaches the kernel as bytes: CuPy does not know all these types."""
    y = np.zeros(x.size, to)
    grid, block = (-(-x.size // 256), 1, 1), (256, 1, 1)
    macros = (("NARROW", type_.c_type), ("UNSATURATED", unsaturated))
    bytes_of_x, bytes_of_y = (np.ascontiguousarray(part).view(np.uint8) for part in (x, y))
    numbers = np.int32(ENTRIES.index(entry)), np.int32(x.size)
    launch(device, FILE, "cast", grid, block, [bytes_of_x, bytes_of_y, *numbers], macros)
    return bytes_of_y.view(to)


def codes(type_: DType) -> Array:
    """Every code of a type, as an array of it."""
    widths = {2: (25, 26), 4: (21, 22, 23), 6: (27, 28), 16: (10, 16)}
    bits = next((width for width, found in widths.items() if type_.onnx_code in found), 8)
    return np.arange(1 << bits).astype(f"u{type_.numpy.itemsize}").view(type_.numpy)


def wide(x: Array) -> Any:
    """As ``longdouble``, which holds a double and a 64-bit integer exactly."""
    return (x.astype(np.float64) if x.dtype.kind == "V" else x).astype(np.longdouble)


def magnitudes(type_: DType) -> Any:
    """The finite numbers that are not negative, in the order of their codes."""
    every = codes(type_)
    values = wide(every)
    half = values[: values.size // 2]
    return half[np.isfinite(half)]


def nearest(x: Array, type_: DType, *, saturate: bool) -> Array:
    """Of two numbers that are equally near, the one with the even code."""
    values = magnitudes(type_)
    largest = values.size - 1
    table = np.append(values, 2 * values[-1] - values[-2])  # rounding does not see the end
    magnitude = np.abs(wide(x))
    with np.errstate(invalid="ignore"):
        high = np.clip(np.searchsorted(table, magnitude), 1, largest + 1)
        below, above = magnitude - table[high - 1], table[high] - magnitude
        code = np.where((above < below) | ((above == below) & (high % 2 == 0)), high, high - 1)
    beyond = largest if saturate else BEYOND[type_.numpy.name]
    code = np.where((code > largest) | np.isinf(magnitude), beyond, code)
    sign_bit = codes(type_).size // 2
    signed = np.where(np.signbit(wide(x)) & (code != 0), code | sign_bit, code)
    if "fnuz" not in type_.numpy.name:
        signed = np.where(np.signbit(wide(x)), code | sign_bit, code)
    return signed.astype(f"u{type_.numpy.itemsize}").view(type_.numpy)


def assert_same(got: Array, expected: Array, where_nan: Array) -> None:
    """Equal bit for bit, and NaN where NaN came in, if the type has one."""
    if got.dtype not in WITHOUT_NAN:
        assert np.isnan(got[where_nan].astype(np.float32)).all()
    bits = f"u{got.dtype.itemsize}"
    np.testing.assert_array_equal(got.view(bits)[~where_nan], expected.view(bits)[~where_nan])


def sources(source: str, type_: DType) -> Array:
    """Numbers of the source type on, and next to, everything where rounding changes."""
    rng = np.random.default_rng(0)
    if source == "float16":
        return np.arange(65536, dtype=np.uint16).view(np.float16)
    values = magnitudes(type_)
    steps = values[1:] - values[:-1]
    middles = values[:-1] + steps / 2
    edges = np.concatenate([values, middles, values[-1] + steps[-1] / 4 * np.arange(6)])
    if source in ("int64", "uint64"):
        edges = np.concatenate([edges, rng.integers(0, 2**62, 1000), 2.0 ** np.arange(63)])
        edges = np.rint(edges[edges < 2.0**62])
        near = np.concatenate([edges.astype(np.int64) + step for step in (-1, 0, 1)])
        return np.abs(near).astype(np.uint64) if source == "uint64" else np.append(near, -near)
    edges = np.concatenate([edges, [1e300, 1e-300, 1e38, 1e-38, 1e-45, np.inf]])
    with np.errstate(over="ignore"):
        exact: Any = edges.astype(source)
    random = rng.integers(0, 256, 400_000, np.uint8).view(source)
    around = [exact, *(np.nextafter(exact, np.array(end, source)) for end in (np.inf, 0))]
    return np.concatenate([*around, *(-part for part in around), random, [np.nan]]).astype(source)


@pytest.mark.parametrize("name", TYPES)
def test_every_code_is_read_right(device: str, name: str) -> None:
    every = codes(TYPES[name])
    number = every.astype(np.float32)
    got = run(device, "to_float32", every, np.dtype("float32"), TYPES[name])
    np.testing.assert_array_equal(got, number)
    known = ~np.isnan(number)
    np.testing.assert_array_equal(np.signbit(got)[known], np.signbit(number)[known])
    got = run(device, "to_bool", every, np.dtype("bool"), TYPES[name])
    np.testing.assert_array_equal(got, number != 0)
    small = np.abs(number) < 2.0**31
    got = run(device, "to_int32", every, np.dtype("int32"), TYPES[name])
    np.testing.assert_array_equal(got[small], number[small].astype(np.int32))
    got = run(device, "to_float16", every, np.dtype("float16"), TYPES[name])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, number.astype(np.float16))


@pytest.mark.parametrize("source", ["float16", "float32", "float64", "int64", "uint64"])
@pytest.mark.parametrize("name", FLOATS)
def test_a_cast_gives_the_nearest_number(device: str, name: str, source: str) -> None:
    type_, x = TYPES[name], sources(source, TYPES[name])
    got = run(device, f"from_{source}", x, type_.numpy, type_)
    where_nan = np.isnan(x.astype(np.float64))
    assert_same(got, nearest(x, type_, saturate=type_.is_storage), where_nan)


@pytest.mark.parametrize("name", [name for name in SATURATING if name.startswith("float8")])
def test_a_cast_that_does_not_saturate(device: str, name: str) -> None:
    type_, x = TYPES[name], sources("float32", TYPES[name])
    got = run(device, "unsaturated", x, type_.numpy, type_, "NARROW::unsaturated(x)")
    assert_same(got, nearest(x, type_, saturate=False), np.isnan(x))


@pytest.mark.parametrize("dtype", WITHOUT_NAN, ids=str)
def test_nan_is_zero_where_there_is_none(device: str, dtype: np.dtype) -> None:
    x = np.array([np.nan, -np.nan], np.float32)
    got = run(device, "from_float32", x, dtype, TYPES[dtype.name])
    np.testing.assert_array_equal(got.astype(np.float32), [0, 0])


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_wrap_and_floats_out_of_range_are_zero(device: str, name: str) -> None:
    type_ = TYPES[name]
    low, high = (int(wide(codes(type_)).min()), int(wide(codes(type_)).max()))
    count = high - low + 1
    for source in ("int32", "int64"):
        x: Array = np.arange(-300, 300, dtype=source)
        x = np.append(x, np.iinfo(source).max - np.arange(5, dtype=source))
        expected = (x - low) % count + low
        got = run(device, f"from_{source}", x, type_.numpy, type_)
        np.testing.assert_array_equal(got.astype(np.int64), expected)
    for source in ("float16", "float32", "float64"):
        x = np.concatenate([np.arange(-40, 41) / 2, [np.nan, np.inf, -np.inf, 6e4]]).astype(source)
        with np.errstate(invalid="ignore"):
            whole = np.trunc(x)
        expected = np.where((whole >= low) & (whole <= high), whole, 0)
        got = run(device, f"from_{source}", x, type_.numpy, type_)
        np.testing.assert_array_equal(got.astype(np.float64), expected)
        assert got.view(np.uint8).max() < count  # as ml_dtypes keeps them


@pytest.mark.parametrize("saturate", [True, False])
@pytest.mark.parametrize("mode", ["Up", "Down", "Nearest"])
def test_a_scale_is_a_power_of_two(device: str, mode: str, *, saturate: bool) -> None:
    """By ``frexp`` in float64; ONNX Cast, the table of FLOAT8E8M0."""
    type_ = TYPES[SCALES]
    powers = 2.0 ** np.arange(-149, 128)
    points = np.concatenate([powers, powers * 1.5, powers * 1.25, [0.0, np.inf]])
    with np.errstate(over="ignore"):
        exact = points.astype(np.float32)
    near = [exact, *(np.nextafter(exact, np.float32(end)) for end in (0, np.inf))]
    random = np.random.default_rng(0).integers(0, 2**31, 50_000, np.uint32).view(np.float32)
    x = np.concatenate([*near, random, [np.nan]]).astype(np.float32)
    fraction, exponent = np.frexp(x.astype(np.float64))
    up = {"Up": fraction > 0.5, "Down": fraction > 1, "Nearest": fraction >= 0.75}[mode]
    rounded = exponent - 1 + up + 127
    ends = (0, 254) if saturate else (255, 255)
    code = np.where(x < 2.0**-127, ends[0], np.where(x > 2.0**127, ends[1], rounded))
    code = np.where(np.isnan(x), 255, code)
    how = f"NARROW::rounded(x, NARROW::k{mode}, {str(saturate).lower()})"
    got = run(device, "unsaturated", x, type_.numpy, type_, how)
    np.testing.assert_array_equal(got.view(np.uint8), code)
    if saturate and mode == "Up":
        got = run(device, "from_float32", x, type_.numpy, type_)
        np.testing.assert_array_equal(got.view(np.uint8), code)


@pytest.mark.parametrize("name", TYPES)
def test_a_truth_value_is_one_or_zero(device: str, name: str) -> None:
    got = run(device, "from_bool", np.array([True, False]), TYPES[name].numpy, TYPES[name])
    least = 2.0**-127 if name == SCALES else 0
    np.testing.assert_array_equal(got.astype(np.float32), [1, least])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", ["float8_e4m3fn", SCALES, "int4"])
def test_casts_compile_for_every_gpu(name: str, architecture: str) -> None:
    pytest.importorskip("cupy", reason="NVRTC is called through CuPy")
    macros = (("NARROW", TYPES[name].c_type), ("UNSATURATED", "NARROW(x)"))
    cubin = compile_cubin(load_source(str(FILE)), nvrtc_options(architecture, macros))
    assert cubin.startswith(b"\x7fELF")
