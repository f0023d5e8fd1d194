"""Cases of MatMulNBits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def packed(numbers: Array, bits: int) -> Array:
    """The last axis as bytes, the low bits first; padded with zeros to whole bytes."""
    ones = numbers[..., np.newaxis] >> np.arange(bits) & 1
    flat = ones.reshape(*numbers.shape[:-1], -1)
    return np.packbits(flat.astype(np.uint8), axis=-1, bitorder="little")


def unpacked(data: Array, bits: int, count: int) -> Array:
    """The first ``count`` numbers of each row of bytes."""
    ones = np.unpackbits(data, axis=-1, bitorder="little")[..., : count * bits]
    return np.asarray((ones.reshape(*data.shape[:-1], count, bits) << np.arange(bits)).sum(-1))


def _product(depth: int, block_size: int, bits: int) -> Callable[..., Sequence[Array]]:
    def expected(
        x: Array,
        weights: Array,
        scales: Array,
        zeros: Array | None = None,
        _order: None = None,
        bias: Array | None = None,
    ) -> Sequence[Array]:
        columns, blocks = weights.shape[:2]
        numbers = unpacked(weights.reshape(columns, -1), bits, blocks * block_size)
        zero = np.full((columns, blocks), 2.0 ** (bits - 1))
        if zeros is not None:
            is_packed = zeros.dtype == np.uint8
            zero = unpacked(zeros, bits, blocks) if is_packed else zeros.astype(np.float64)
        wide = numbers.reshape(columns, blocks, block_size) - zero[..., np.newaxis]
        wide = wide * scales.astype(np.float64).reshape(columns, blocks, 1)
        product = x.astype(np.float64) @ wide.reshape(columns, -1)[:, :depth].T
        return [product if bias is None else product + bias]

    return expected


def _case(
    name: str,
    rows: Sequence[int],
    depth: int,
    columns: int,
    bits: int = 4,
    block_size: int = 32,
    zeros: str = "",
    dtype: str = "float32",
    *,
    bias: bool = False,
) -> OpCase:
    """``zeros``: none, packed, or unpacked."""
    random = np.random.default_rng(1)
    blocks = -(-depth // block_size)
    weights = random.integers(0, 2**bits, (columns, blocks, block_size))
    inputs: list[Array | None] = [
        OpCase.random(2, *rows, depth, dtype=dtype),
        packed(weights, bits),
        random.uniform(0.02, 0.05, (columns, blocks)).astype(dtype),
    ]
    points = random.integers(0, 2**bits, (columns, blocks))
    if zeros == "packed":
        inputs.append(packed(points, bits))
    elif zeros:
        inputs.append(points.astype(dtype))
    if bias:
        inputs += [None] * (5 - len(inputs)) + [OpCase.random(3, columns, dtype=dtype)]
    return OpCase(
        name,
        "MatMulNBits",
        inputs,
        {"K": depth, "N": columns, "bits": bits, "block_size": block_size},
        1,
        domain="com.microsoft",
        expected=_product(depth, block_size, bits),
    )


CASES = [
    _case("one_row", (1,), 96, 10),
    _case("blocks_cut_short", (3,), 50, 9, zeros="packed"),
    _case("odd_depth", (2,), 37, 6, block_size=16, bias=True),
    _case("many_rows", (2, 5), 64, 13, zeros="packed", bias=True),
    _case("odd_number_of_blocks", (1,), 160, 5, zeros="packed"),
    _case("unpacked_zeros", (4,), 64, 8, zeros="unpacked"),
    _case("two_bits", (2,), 128, 7, 2, 64, "packed"),
    _case("eight_bits", (2,), 128, 7, 8, 16, "packed"),
    _case("deep", (1,), 2080, 4),
    _case("float16", (2,), 64, 8, zeros="packed", dtype="float16", bias=True),
    _case("bfloat16", (2,), 64, 8, zeros="unpacked", dtype="bfloat16"),
]
