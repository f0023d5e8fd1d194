"""Cases of Trilu and OneHot."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import DTYPES
from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]

_X = OpCase.random(1, 2, 4, 5)


def _hot(
    name: str, indices: Array, depth: int, values: Array, opset: int = 11, **axis: int
) -> OpCase:
    def expected(indices: Array, depth: Array, values: Array) -> list[Array]:
        size = int(depth.item())
        whole = indices.astype(np.int64)
        place = np.where(whole < 0, whole + size, whole)[..., None] == np.arange(size)
        at = axis.get("axis", -1)
        return [np.moveaxis(np.where(place, values[1], values[0]), -1, at)]

    depths = np.array(depth, np.int64)
    return OpCase(name, "OneHot", [indices, depths, values], axis, opset, expected=expected)


_OFF_ON = np.array([0, 1], np.float32)

CASES = [
    OpCase("upper", "Trilu", [_X], opset=14),
    OpCase("lower", "Trilu", [_X], {"upper": 0}),
    OpCase("two_blocks", "Trilu", [OpCase.random(1, 2, 12, 15)], {"upper": 0}),
    OpCase("above", "Trilu", [_X, np.array(2)], {"upper": 1}),
    OpCase("below", "Trilu", [_X, np.array(-1)], {"upper": 0}),
    OpCase("far", "Trilu", [_X, np.array(-(2**62))]),
    OpCase("tall_bool", "Trilu", [_X[0].T > 0]),
    OpCase("float64", "Trilu", [_X.astype(np.float64)]),
    OpCase("float16", "Trilu", [_X.astype(np.float16)], {"upper": 0}),
    _hot("last", np.array([1, 0, 3]), 4, _OFF_ON),
    _hot("axis_0", np.array([[1, 0], [-1, -4]]), 4, _OFF_ON, axis=0),
    _hot("axis_1", np.array([[1, 0, 2], [3, 1, 1]]), 4, np.array([2, 7]), axis=1),
    _hot("out_of_range", np.array([4, -5, 100]), 4, _OFF_ON, 9),
    _hot("float_indices", np.array([0, 2], np.float32), 3, np.array([False, True])),
    _hot("scalar", np.array(2, np.int32), 3, _OFF_ON),
    *(_hot(f"values_{t.numpy}", np.array([1, 0]), 2, np.array([0, 1], t.numpy)) for t in DTYPES),
]
