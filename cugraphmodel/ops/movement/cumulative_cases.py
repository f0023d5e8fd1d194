"""Cases of CumSum and CumProd."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]

_X = OpCase.random(2, 3, 7, 2)


def _sum(name: str, data: Array, axis: int, opset: int = 14, **attributes: int) -> OpCase:
    return OpCase(name, "CumSum", [data, np.array(axis, np.int32)], attributes, opset)


def _product(name: str, data: Array, axis: int, **attributes: int) -> OpCase:
    def expected(data: Array, axis: Array) -> list[Array]:
        lines = np.moveaxis(
            data.astype(np.float64 if data.dtype.kind == "f" else data.dtype), axis, 0
        )
        if attributes.get("reverse"):
            lines = lines[::-1]
        products = np.cumprod(lines, axis=0, dtype=lines.dtype)
        if attributes.get("exclusive"):
            products = np.concatenate([np.ones_like(lines[:1]), products[:-1]])
        if attributes.get("reverse"):
            products = products[::-1]
        return [np.moveaxis(products, 0, axis)]

    axes = np.array(axis, np.int64)
    return OpCase(name, "CumProd", [data, axes], attributes, 26, expected=expected)


CASES = [
    _sum("axis_0", _X, 0, 11),
    _sum("axis_1", _X, 1),
    _sum("negative_axis", _X, -1),
    _sum("two_blocks", OpCase.random(1, 300, 4), 1),
    _sum("exclusive", _X, 1, exclusive=1),
    _sum("reverse", _X, 1, reverse=1),
    _sum("exclusive_reverse", _X, 1, exclusive=1, reverse=1),
    _sum("long", OpCase.random(3, 5000), 0),
    _sum("long_exclusive", OpCase.random(3, 2, 2500, 2), 1, exclusive=1),
    _sum("long_reverse", OpCase.random(3, 2, 300), 1, reverse=1),
    _sum("long_int32", OpCase.random(3, 4100, dtype="int32"), 0, exclusive=1, reverse=1),
    _sum("float16", OpCase.random(4, 20, dtype="float16"), 0),
    _sum("float64", OpCase.random(4, 20, dtype="float64"), 0),
    _sum("int64", OpCase.random(5, 4, 3, dtype="int64"), 0),
    _sum("int32_wraps", np.array([2**31 - 1, 1, 1], np.int32), 0),
    _product("axis_0", _X, 0),
    _product("negative_axis", _X, -2, exclusive=1),
    _product("reverse", _X, 1, reverse=1),
    _product("exclusive_reverse", _X, 2, exclusive=1, reverse=1),
    _product("long", 1 + OpCase.random(3, 4500) / 100, 0),
    _product(
        "long_exclusive_reverse", 1 + OpCase.random(3, 300, 2) / 100, 0, exclusive=1, reverse=1
    ),
    _product("zeros_and_signs", np.array([-2, 3, -0.0, 5, np.inf, -1], np.float32), 0),
    _product("float16", OpCase.random(4, 20, dtype="float16"), 0),
    _product("float64", OpCase.random(4, 20, dtype="float64"), 0),
    _product("int64", OpCase.random(5, 4, 3, dtype="int64"), 0),
    _product("int32_wraps", np.array([2**30 + 1, 3, -5, 7], np.int32), 0),
    _product("uint32_long", OpCase.random(6, 200, dtype="int32").view(np.uint32) | 1, 0),
]
