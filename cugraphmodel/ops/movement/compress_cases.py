"""Cases of Compress."""

from __future__ import annotations

import functools

import numpy as np

from cugraphmodel.ops.case import Array, OpCase

__all__ = ["CASES"]


def _expected(axis: int | None, data: Array, condition: Array) -> list[Array]:
    return [np.compress(condition, data, axis)]


def _case(name: str, data: Array, condition: Array, axis: int | None, opset: int = 11) -> OpCase:
    attributes = {} if axis is None else {"axis": axis}
    expected = functools.partial(_expected, axis)
    return OpCase(name, "Compress", [data, condition], attributes, opset, expected=expected)


_X = OpCase.random(1, 3, 5, 4)

CASES = [
    _case("axis_1", _X, np.array([False, True, True, False, True]), 1),
    _case("negative_axis", _X, np.array([True, False, False, True]), -1),
    _case("shorter_condition", _X, np.array([True, False]), 0, 9),
    _case("flat", _X, OpCase.random(2, 60, dtype="bool"), None, 28),
    _case("none", _X, np.array([False] * 5), 1),
    _case("long", OpCase.random(3, 2, 5000, dtype="int8"), OpCase.random(4, 5000, dtype="bool"), 1),
    _case("wide_words", OpCase.random(5, 9, 8), OpCase.random(6, 9, dtype="bool"), 0),
    _case("float64", OpCase.random(7, 7, dtype="float64"), OpCase.random(8, 7, dtype="bool"), 0),
]
