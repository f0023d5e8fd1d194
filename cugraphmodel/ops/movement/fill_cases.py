"""Cases of the operators whose output follows from shapes and numbers known at capture."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import DTYPES
from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _range(
    name: str, dtype: str, start: float, limit: float, delta: float, opset: int = 11
) -> OpCase:
    bounds = [np.array(bound, dtype) for bound in (start, limit, delta)]
    return OpCase(f"{name}_{dtype}", "Range", bounds, opset=opset, expected=_exact_range)


def _exact_range(start: Array, limit: Array, delta: Array) -> list[Array]:
    return [np.arange(start.item(), limit.item(), delta.item())]


CASES = [
    OpCase("default", "ConstantOfShape", [np.array([2, 3])]),
    OpCase("rank_0", "ConstantOfShape", [np.zeros(0, np.int64)], opset=9),
    OpCase("empty", "ConstantOfShape", [np.array([2, 0])]),
    *(
        OpCase(
            f"value_{t.numpy}", "ConstantOfShape", [np.array([5])], {"value": np.ones(1, t.numpy)}
        )
        for t in DTYPES
        if not t.is_storage
    ),
    OpCase("two_blocks", "ConstantOfShape", [np.array([300])]),
    OpCase("negative", "ConstantOfShape", [np.array([3])], {"value": np.array([-2])}),
    _range("up", "int64", 1, 10, 3),
    _range("down", "int64", 10, -3, -4),
    _range("empty", "int32", 5, 1, 1),
    _range("up", "int32", 0, 1000, 1),
    _range("up", "int16", -3, 9, 2),
    _range("uneven", "float32", 0.5, 4.1, 0.7),
    _range("two_blocks", "float32", 0.5, 300, 1),
    _range("down", "float64", 1, 0, -0.125),
    _range("uneven", "bfloat16", 0.5, 9.0, 0.7, 27),
    OpCase("all", "Shape", [OpCase.random(1, 2, 3, 4)], opset=13),
    OpCase("slice", "Shape", [OpCase.random(1, 2, 3, 4)], {"start": -2, "end": 9}, 15),
    OpCase("rank_0", "Shape", [np.array(1.5, np.float32)]),
    OpCase("all", "Size", [OpCase.random(1, 2, 3, 4)]),
    OpCase("empty", "Size", [np.zeros((2, 0), np.float32)], opset=7),
    OpCase("square", "EyeLike", [OpCase.random(1, 3, 3)]),
    OpCase("above", "EyeLike", [OpCase.random(1, 3, 5)], {"k": 1, "dtype": 7}, 9),
    OpCase("below", "EyeLike", [OpCase.random(1, 3, 5)], {"k": -2, "dtype": 9}),
    OpCase("half", "EyeLike", [OpCase.random(1, 20, 20, dtype="float16")]),
    OpCase("bfloat16", "EyeLike", [OpCase.random(1, 3, 3, dtype="bfloat16")], opset=22),
]
