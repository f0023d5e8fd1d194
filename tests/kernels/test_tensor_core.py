"""Tensor core instructions and their types against NumPy, on the CPU device and on a GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.host.support import random
from tests.kernels.launching import Array, launch

FILE = Path(__file__).with_name("tensor_core.cu")
BLOCKS = 40
SPECIAL = np.array(
    [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-45, 3.4e38, -3.4028235e38, 65504, 1e-38],
    np.float32,
)


def any_floats(seed: int) -> Array:
    """Special values, all exponents, and ties of the rounding to 7 and to 10 bits of fraction."""
    bits = np.random.default_rng(seed).integers(0, 2**32, 50_000, np.uint32)
    ties = np.concatenate([(bits & 0xFFFF0000) | 0x8000, (bits & 0xFFFFE000) | 0x1000])
    around = np.concatenate([ties, ties - 1, ties + 1])
    nans = np.array([0x7F800001, 0xFF801000, 0x7F80FFFF, 0x7FFFFFFF], np.uint32)
    return np.concatenate([SPECIAL, *(part.view(np.float32) for part in (nans, bits, around))])


def convert(device: str, file: Path, entry: str, x: Array, y: Array) -> Array:
    grid, block = (-(-x.size // 256), 1, 1), (256, 1, 1)
    launch(device, file, entry, grid, block, [x, y, np.int32(x.size)])
    return y


def rounded(x: Array, dropped: int, *, ties_to_even: bool) -> Array:
    """Floats without their last bits, by integer arithmetic on their bits; NaN stays NaN."""
    unit = np.uint64(1 << dropped)
    bits = x.view(np.uint32).astype(np.uint64)
    below, rest = bits - bits % unit, bits % unit
    up = rest > unit // 2
    up |= (rest == unit // 2) & ((below // unit % 2 == 1) | (not ties_to_even))
    result = np.where(np.isfinite(x), below + up * unit, bits).astype(np.uint32)
    return np.where(np.isnan(x), np.float32(np.nan), result.view(np.float32))


def assert_same_floats(got: Array, expected: Array) -> None:
    """Equal bit for bit, but for the bits of NaN."""
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    got, expected = (np.where(np.isnan(part), 0, part) for part in (got, expected))
    assert got.tobytes() == expected.tobytes()


@pytest.mark.twins("cg_to_tf32")
def test_tf32_is_the_nearest_with_ties_away_from_zero(device: str) -> None:
    x = any_floats(0)
    bits = convert(device, FILE, "to_tf32", x, np.zeros(x.size, np.uint32))
    assert not (bits & 0x1FFF).any()
    assert_same_floats(bits.view(np.float32), rounded(x, 13, ties_to_even=False))


def multiplied(device: str, name: str, a: Array, b: Array, d: Array) -> Array:
    """Adds to d [blocks, 16, 8] the product of a [blocks, 16, depth] and b [blocks, depth, 8]."""
    columns = np.ascontiguousarray(np.swapaxes(b, 1, 2))
    words = [np.ascontiguousarray(part).view(np.uint32) for part in (a, columns)]
    assert words[0].shape[1:] == (16, 8)
    result = d.copy()
    c_type = "int" if d.dtype.kind == "i" else "float"
    macros = (("MULTIPLY", f"cg_mma_{name}"), ("RESULT", c_type))
    launch(device, FILE, "multiply", (len(a), 1, 1), (32, 1, 1), [*words, result], macros)
    return result


def operand(seed: int, name: str, *shape: int, integers: bool = False) -> tuple[Array, Array]:
    """Data of an instruction's element type: as it lies in memory, and as float64."""
    x = random(seed, *shape)
    x = np.round(x * 3) if integers else x * np.float32(2.0) ** np.round(random(seed + 50, *shape))
    if name.endswith("_f16"):
        half = x.astype(np.float16)
        return half, half.astype(np.float64)
    x = rounded(x, 16 if name.endswith("_bf16") else 13, ties_to_even=True)
    if name.endswith("_tf32"):
        return x, x.astype(np.float64)
    return (x.view(np.uint32) >> 16).astype(np.uint16), x.astype(np.float64)


FLOATS = [
    pytest.param(name, depth, marks=pytest.mark.twins(f"cg_mma_{name}"))
    for name, depth in (("m16n8k8_tf32", 8), ("m16n8k16_f16", 16), ("m16n8k16_bf16", 16))
]


@pytest.mark.parametrize(("name", "depth"), FLOATS)
def test_products_of_small_integers_are_exact(name: str, depth: int, device: str) -> None:
    """So a wrong place in a fragment shows as a wrong number."""
    a, exact_a = operand(1, name, BLOCKS, 16, depth, integers=True)
    b, exact_b = operand(2, name, BLOCKS, depth, 8, integers=True)
    d = np.round(random(3, BLOCKS, 16, 8) * 5)
    np.testing.assert_array_equal(multiplied(device, name, a, b, d), exact_a @ exact_b + d)


@pytest.mark.parametrize(("name", "depth"), FLOATS)
def test_products_are_accurate(name: str, depth: int, device: str) -> None:
    """To a few units of the largest term: hardware aligns all terms to it and truncates them."""
    a, exact_a = operand(4, name, BLOCKS, 16, depth)
    b, exact_b = operand(5, name, BLOCKS, depth, 8)
    d = random(6, BLOCKS, 16, 8)
    got = multiplied(device, name, a, b, d)
    terms = np.abs(exact_a)[:, :, :, None] * np.abs(exact_b)[:, None]
    largest = np.maximum(terms.max(2), np.abs(d))
    error = np.abs(got - (exact_a @ exact_b + d))
    assert (error <= (depth + 1) * 2.0**-23 * largest).all()


@pytest.mark.parametrize(("name", "depth"), FLOATS)
def test_infinities_and_nan_go_through(name: str, depth: int, device: str) -> None:
    a, exact_a = operand(7, name, 4, 16, depth, integers=True)
    b, exact_b = operand(8, name, 4, depth, 8, integers=True)
    bits = {"f16": (0x7C00, 0xFC00, 0x7E00), "bf16": (0x7F80, 0xFF80, 0x7FC0)}
    special = bits.get(name.rpartition("_")[2], (0x7F800000, 0xFF800000, 0x7FC00000))
    words = a.view(np.uint32 if depth == 8 else np.uint16)
    for row, value, number in zip((0, 3, 12), special, (np.inf, -np.inf, np.nan), strict=True):
        words[1, row, row % depth] = value
        exact_a[1, row, row % depth] = number
    d = np.zeros((4, 16, 8), np.float32)
    d[2, 5] = np.inf
    with np.errstate(invalid="ignore"):
        expected = exact_a @ exact_b + d
    np.testing.assert_array_equal(multiplied(device, name, a, b, d), expected)


@pytest.mark.twins("cg_mma_m16n8k8_tf32")
def test_the_bits_that_tf32_lacks_are_ignored(device: str) -> None:
    a, exact_a = operand(11, "m16n8k8_tf32", BLOCKS, 16, 8, integers=True)
    b, exact_b = operand(12, "m16n8k8_tf32", BLOCKS, 8, 8, integers=True)
    more = [(part.view(np.uint32) | np.uint32(0x1FFF)).view(np.float32) for part in (a, b)]
    d = np.zeros((BLOCKS, 16, 8), np.float32)
    got = multiplied(device, "m16n8k8_tf32", more[0], more[1], d)
    np.testing.assert_array_equal(got, exact_a @ exact_b)


def test_a_sum_is_rounded_toward_zero_on_the_cpu() -> None:
    """As tensor cores do it, so that what this costs shows without one."""
    a, b = np.zeros((1, 16, 8), np.float32), np.zeros((1, 8, 8), np.float32)
    a[0, :4, 0], b[0, 0] = [1, -1, 1, 0], 1
    a[0, :4, 1], b[0, 1] = [2.0**-12, -(2.0**-12), -(2.0**-12), -(2.0**-80)], 1.5 * 2.0**-12
    b[0, 1, 4:] = 2.0**-80
    got = multiplied("cpu", "m16n8k8_tf32", a, b, np.zeros((1, 16, 8), np.float32))[0]
    np.testing.assert_array_equal(got[:3, 0], [1, -1, 1 - 2.0**-23])
    np.testing.assert_array_equal(got[3, 4:], 0)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param("m16n8k32_s8", np.int8, marks=pytest.mark.twins("cg_mma_m16n8k32_s8")),
        pytest.param("m16n8k32_u8", np.uint8, marks=pytest.mark.twins("cg_mma_m16n8k32_u8")),
    ],
)
def test_products_of_bytes_are_exact_and_wrap(name: str, dtype: type, device: str) -> None:
    rng = np.random.default_rng(9)
    limits = np.iinfo(dtype)
    a = rng.integers(limits.min, limits.max, (BLOCKS, 16, 32), dtype, endpoint=True)
    b = rng.integers(limits.min, limits.max, (BLOCKS, 32, 8), dtype, endpoint=True)
    a[0], b[0] = limits.min, limits.min
    a[1], b[1] = limits.max, limits.max
    d = rng.integers(-(2**31), 2**31, (BLOCKS, 16, 8)).astype(np.int32)
    d[:2, :8] = 2**31 - 1
    exact = a.astype(np.int64) @ b.astype(np.int64) + d
    np.testing.assert_array_equal(multiplied(device, name, a, b, d), exact.astype(np.int32))


@pytest.mark.parametrize("num_matrices", [1, 2, 4])
@pytest.mark.parametrize(
    "entry",
    [
        pytest.param("cg_ldmatrix", marks=pytest.mark.twins("cg_ldmatrix")),
        pytest.param("cg_ldmatrix_transposed", marks=pytest.mark.twins("cg_ldmatrix_transposed")),
    ],
)
def test_matrices_are_loaded_by_rows_or_columns(entry: str, num_matrices: int, device: str) -> None:
    rng = np.random.default_rng(10)
    x = rng.integers(0, 65536, (32, 8)).astype(np.uint16)
    row_of = rng.permutation(32).astype(np.int32)
    y = np.zeros((32, num_matrices), np.uint32)
    macros = (("LOAD", entry), ("NUM_MATRICES", str(num_matrices)))
    launch(device, FILE, "load", (1, 1, 1), (32, 1, 1), [x, row_of, y], macros)
    matrices = x[row_of][: 8 * num_matrices].reshape(num_matrices, 8, 8)
    if entry.endswith("transposed"):
        matrices = matrices.transpose(0, 2, 1)
    pairs = np.ascontiguousarray(matrices).view(np.uint32)  # [matrix, row, pair of columns]
    np.testing.assert_array_equal(y, pairs.reshape(num_matrices, 32).T)


@pytest.mark.twins("cg_cp_async", "cg_ldmatrix", "cg_ldmatrix_transposed", "cg_mma_m16n8k16_f16")
@pytest.mark.parametrize("shape", [(64, 64, 16), (70, 72, 40), (5, 136, 200)], ids=str)
def test_a_matrix_product_of_all_of_them(shape: tuple[int, int, int], device: str) -> None:
    m, n, k = shape
    a, b = (random(i, *size).astype(np.float16) for i, size in enumerate(((m, k), (k, n))))
    y = np.full((m, n), np.nan, np.float32)
    args: list[Array | np.generic] = [a, b, y, *map(np.int32, shape)]
    launch(device, FILE, "gemm", (-(-n // 64), -(-m // 64), 1), (128, 1, 1), args)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    bound = k * 2.0**-23 * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    assert (np.abs(y - exact) <= bound).all()
