"""Cases of Softmax, LogSoftmax and Hardmax."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cugraphmodel.ops.case import Array, OpCase

__all__ = ["CASES"]


def _f32(data: Any) -> Array:
    return np.array(data, np.float32)


def _expected(op_type: str, axis: int, flattens: bool) -> Callable[[Array], list[Array]]:
    """By definition, in float64. Before opset 13 the axis and all after it are one dimension."""

    def expected(x: Array) -> list[Array]:
        axes = tuple(range(axis % x.ndim, x.ndim)) if flattens else (axis,)
        wide = x.astype(np.float64)
        if op_type == "Hardmax":
            flat = x.reshape(*x.shape[: axes[0]], -1) if flattens else x
            first = np.expand_dims(flat.argmax(axes[0]), axes[0])
            hot = np.zeros_like(flat)
            np.put_along_axis(hot, first, 1, axes[0])
            return [hot.reshape(x.shape)]
        shifted = wide - wide.max(axes, keepdims=True)
        total = np.exp(shifted).sum(axes, keepdims=True)
        return [np.exp(shifted) / total if op_type == "Softmax" else shifted - np.log(total)]

    return expected


def _case(name: str, op_type: str, x: Array, axis: int | None = None, opset: int = 13) -> OpCase:
    used = axis if axis is not None else -1 if opset >= 13 else 1
    return OpCase(
        name, op_type, [x], {} if axis is None else {"axis": axis}, opset,
        expected=_expected(op_type, used, opset < 13),
    )  # fmt: skip


def _cases(op_type: str) -> Iterator[OpCase]:
    for size in (1, 2, 31, 32, 33, 100, 512, 513, 1000, 4100, 8200, 16400):
        yield _case(f"size_{size}", op_type, 3 * OpCase.random(1, 5, size), -1)
    x = OpCase.random(2, 2, 3, 4, 5)
    for opset in (1, 11, 13):
        yield _case("default_axis", op_type, x, opset=opset)
        for axis in range(-4 if opset > 1 else 0, 4):
            yield _case(f"axis_{axis}", op_type, x, axis, opset)
    yield _case("short_columns", op_type, OpCase.random(3, 3, 2, 150), 1)
    yield _case("columns", op_type, OpCase.random(4, 3, 60, 21), 1)
    yield _case("long_columns", op_type, OpCase.random(5, 1000, 3), 0)
    yield _case("rank_1", op_type, OpCase.random(6, 9), 0)
    for dtype in ("float16", "bfloat16", "float64"):
        yield _case(f"rows_{dtype}", op_type, OpCase.random(7, 4, 50, dtype=dtype))
        yield _case(f"columns_{dtype}", op_type, OpCase.random(8, 20, 30, dtype=dtype), 0)
    large = _f32([[1e30, 1e30, 0], [88, 89, 90], [-1e30, -1e30, -1e30], [-200, 0, 1]])
    yield _case("large", op_type, large)
    masked = _f32([[0, -np.inf, 1], [-np.inf, -np.inf, -np.inf], [0, np.nan, 1], [1, np.inf, 0]])
    yield _case("infinite", op_type, masked)
    yield _case("infinite_columns", op_type, masked.T.copy(), 0)


def _hardmax() -> Iterator[OpCase]:
    x = np.round(2 * OpCase.random(9, 2, 3, 4, 50))
    for axis in range(4):
        yield _case(f"axis_{axis}", "Hardmax", x, axis, 11)
        yield _case(f"axis_{axis}", "Hardmax", x, axis - 4, 13)
    for dtype in ("float16", "bfloat16", "float64"):
        yield _case(dtype, "Hardmax", x.astype(dtype))


CASES = [*_cases("Softmax"), *_cases("LogSoftmax"), *_hardmax()]
