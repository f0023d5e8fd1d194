"""Cases of the reductions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cugraphmodel.dtypes import kind_of
from cugraphmodel.ops.case import Array, OpCase

__all__ = ["CASES"]


def _f32(data: Any) -> Array:
    return np.array(data, np.float32)


def _i32(data: Any) -> Array:
    return np.array(data, np.int32)


def _i64(data: Any) -> Array:
    return np.array(data, np.int64)


def _log_sum_exp(x: Array, axes: tuple[int, ...]) -> Array:
    highest = x.astype(np.float64).max(axes, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(highest), highest, 0)
    total = np.log(np.exp(x - shift).sum(axes, keepdims=True)) + shift
    return np.asarray(total)


# In float64, or in the integers of NumPy's widest type, with all dimensions kept.
DEFINITIONS: dict[str, Callable[[Array, tuple[int, ...]], Array]] = {
    "ReduceL1": lambda x, axes: np.abs(x).sum(axes, keepdims=True),
    "ReduceL2": lambda x, axes: np.sqrt((x * x).sum(axes, keepdims=True)),
    "ReduceLogSum": lambda x, axes: np.log(x.sum(axes, keepdims=True)),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": lambda x, axes: x.max(axes, keepdims=True),
    "ReduceMean": lambda x, axes: x.mean(axes, keepdims=True),
    "ReduceMin": lambda x, axes: x.min(axes, keepdims=True),
    "ReduceProd": lambda x, axes: x.prod(axes, keepdims=True),
    "ReduceSum": lambda x, axes: x.sum(axes, keepdims=True),
    "ReduceSumSquare": lambda x, axes: (x * x).sum(axes, keepdims=True),
}


def _case(
    name: str,
    op_type: str,
    x: Array,
    axes: tuple[int, ...] | None,
    *,
    keepdims: int = 1,
    as_input: bool = False,
    noop: bool = False,
) -> OpCase:
    reduced = axes or (() if noop else tuple(range(x.ndim)))

    def expected(x: Array, _axes: Array | None = None) -> list[Array]:
        wide = x.astype(np.float64) if kind_of(x.dtype) == "f" else x
        result = DEFINITIONS[op_type](wide, reduced)
        return [result if keepdims else result.squeeze(reduced)]

    attributes: dict[str, Any] = {"keepdims": keepdims}
    inputs: list[Array] = [x]
    opset = 18 if as_input else 12
    if as_input and axes is not None:
        inputs.append(np.array(axes, np.int64))
    elif axes is not None:
        attributes["axes"] = list(axes)
    if noop:
        attributes["noop_with_empty_axes"] = 1
    return OpCase(name, op_type, inputs, attributes, opset, expected=expected)


def _shapes(op_type: str) -> Iterator[OpCase]:
    positive = np.abs(OpCase.random(1, 2, 3, 4, 5)) + np.float32(0.25)
    x = positive if op_type in ("ReduceLogSum", "ReduceProd") else OpCase.random(1, 2, 3, 4, 5)
    for axes in ((0,), (1,), (3,), (-1,), (0, 2), (1, 3), (2, 3), (0, 2, 3), (0, 1, 2, 3)):
        name = "axes_" + "_".join(map(str, axes)).replace("-", "minus_")
        yield _case(name, op_type, x, axes)
    yield _case("axes_input", op_type, x, (1, -1), as_input=True)
    yield _case("axes_dropped", op_type, x, (1, 2), keepdims=0)
    yield _case("axes_input_dropped", op_type, x, (0, 3), keepdims=0, as_input=True)
    yield _case("no_axes", op_type, x, None)
    yield _case("no_axes_dropped", op_type, x, None, keepdims=0, as_input=True)
    yield _case("empty_axes", op_type, x, (), as_input=True)
    yield _case("empty_axes_noop", op_type, x, (), as_input=True, noop=True)
    yield _case("no_axes_noop", op_type, x, None, as_input=True, noop=True)
    yield _case("rank_0", op_type, x[0, 0, 0, 0].copy(), None)
    yield _case("ones", op_type, x[:, :1, :, :1].copy(), (1, 3))


def _sizes(op_type: str) -> Iterator[OpCase]:
    scale = np.float32(1 if op_type != "ReduceProd" else 0.01)
    offset = np.float32(1.0 if op_type in ("ReduceProd", "ReduceLogSum") else 0)
    for rows, columns in ((3, 33), (7, 500), (2, 700), (2, 3000), (2, 9000), (1, 70000)):
        x = OpCase.random(2, rows, columns) * scale + offset
        yield _case(f"rows_{columns}", op_type, x.astype(np.float32), (1,))
    for rows, columns in ((20, 33), (300, 50), (9000, 3)):
        x = OpCase.random(3, rows, columns) * scale + offset
        yield _case(f"columns_{rows}", op_type, x.astype(np.float32), (0,))
    x = OpCase.random(4, 60, 3, 80) * scale + offset
    yield _case("around", op_type, x.astype(np.float32), (0, 2))


def _dtypes(op_type: str) -> Iterator[OpCase]:
    x = np.abs(OpCase.random(5, 4, 30)) + 0.5
    for dtype in ("float16", "bfloat16", "float64"):
        scaled = x if op_type != "ReduceProd" else x / x.mean()
        yield _case(dtype, op_type, scaled.astype(dtype), (1,))
    small = np.arange(1, 13).reshape(3, 4)
    for dtype in ("int32", "int64", "uint32", "uint64"):
        yield _case(dtype, op_type, (small % 5 + 1).astype(dtype), (1,))


def _special() -> Iterator[OpCase]:
    special = _f32([[1, np.nan, 2], [np.inf, 1, 2], [-np.inf, 1, 2], [np.inf, -np.inf, 0]])
    for op_type in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd", "ReduceL2"):
        yield _case("special", op_type, special, (1,))
    exponents = [
        [np.inf, 0],
        [-np.inf, 0],
        [-np.inf, -np.inf],
        [np.nan, 1],
        [800, 800],
        [-900, -900],
    ]
    yield _case_of(
        "special", "ReduceLogSumExp", _f32(exponents),
        _f32([[np.inf], [0], [-np.inf], [np.nan], [800 + np.log(2)], [-900 + np.log(2)]]),
    )  # fmt: skip
    yield _case_of("wraps", "ReduceSum", _i32([[2**31 - 1, 1, 1]]), _i32([[-(2**31) + 1]]))
    yield _case_of("toward_zero", "ReduceMean", _i32([[-7, 0], [7, 0]]), _i32([[-3], [3]]))
    # A running float32 sum of these loses the small terms.
    hard = np.full((1, 4000), 1e-3, np.float32)
    hard[0, 0] = 1e5
    yield _case("small_terms", "ReduceSum", hard, (1,))
    yield _case("cancelling", "ReduceSum", _f32([[1e8, 1, -1e8, 1]]), (1,))
    for op_type in ("ReduceMax", "ReduceMin"):
        for dtype in ("uint8", "int8"):
            data = np.array([[3, 0, 100], [np.iinfo(dtype).min, 5, np.iinfo(dtype).max]], dtype)
            yield _case(dtype, op_type, data, (1,))
        coins = np.array([[True, False], [False, False], [True, True]])
        expected = np.any if op_type == "ReduceMax" else np.all
        yield OpCase("bool", op_type, [coins, _i64([1])], opset=20,
                     expected=lambda x, _axes, f=expected: [f(x, 1, keepdims=True)])  # fmt: skip


def _case_of(name: str, op_type: str, x: Array, expected: Array) -> OpCase:
    inputs = [x, _i64([1])]
    return OpCase(name, op_type, inputs, opset=18, expected=lambda _x, _axes: [expected])


def _empty() -> Iterator[OpCase]:
    """The identity of the operation; what is then divided by zero or logarithm of zero as NumPy."""
    identities = {
        "ReduceL1": 0, "ReduceL2": 0, "ReduceLogSum": -np.inf, "ReduceLogSumExp": -np.inf,
        "ReduceMax": -np.inf, "ReduceMean": np.nan, "ReduceMin": np.inf, "ReduceProd": 1,
        "ReduceSum": 0, "ReduceSumSquare": 0,
    }  # fmt: skip
    for op_type, identity in identities.items():
        full = np.full((2, 1, 3), identity, np.float32)
        yield _case_of("empty", op_type, np.zeros((2, 0, 3), np.float32), full)
    lowest = np.full((2, 1), np.iinfo(np.int8).min, np.int8)
    yield _case_of("empty_int8", "ReduceMax", np.zeros((2, 0), np.int8), lowest)


CASES = [
    case
    for op_type in DEFINITIONS
    for group in (_shapes, _sizes, _dtypes)
    for case in group(op_type)
] + [*_special(), *_empty()]
