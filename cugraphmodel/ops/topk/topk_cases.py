"""Cases of TopK."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import DTYPES
from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _topk(name: str, data: Array, k: int, opset: int = 11, **attributes: int) -> OpCase:
    def expected(data: Array, *_k: Array) -> list[Array]:
        return _sorted(data, k, attributes.get("axis", -1), attributes.get("largest", 1))

    inputs = [data] if opset < 10 else [data, np.array([k])]
    given: dict[str, int] = {**attributes, "k": k} if opset < 10 else attributes
    return OpCase(name, "TopK", inputs, given, opset, num_outputs=2, expected=expected)


def _sorted(data: Array, k: int, axis: int, largest: int) -> list[Array]:
    """By NumPy's stable sort, in which NaN is greatest."""
    if largest:
        flipped = np.flip(data, axis)
        order = np.flip(data.shape[axis] - 1 - np.argsort(flipped, axis, kind="stable"), axis)
    else:
        order = np.argsort(data, axis, kind="stable")
    indices = np.take(order, range(k), axis)
    return [np.take_along_axis(data, indices, axis), indices]


_X = OpCase.random(1, 3, 7, 2)
_TIES = np.array([[1, 3, 3, 2, 3, 1], [0, -0.0, 0, 5, 5, -1]], np.float32)
_SPECIAL = np.array([1, np.nan, -np.inf, np.inf, -1e-45, -0.0, 0.0, np.nan], np.float32)

CASES = [
    _topk("attribute", _X, 2, 7, axis=1),
    _topk("opset_10", _X, 3, 10, axis=1),
    _topk("axis_0", _X, 2, axis=0),
    _topk("last", OpCase.random(2, 4, 33), 5),
    _topk("smallest", OpCase.random(2, 4, 33), 5, largest=0),
    _topk("unsorted", OpCase.random(2, 4, 33), 5, sorted=0),
    _topk("all", OpCase.random(3, 9), 9),
    _topk("none", _X, 0),
    _topk("one_element", OpCase.random(3, 4, 1), 1),
    _topk("ties_keep_order", _TIES, 6),
    _topk("ties_keep_order_smallest", _TIES, 6, largest=0),
    _topk("special", _SPECIAL, 8),
    _topk("special_smallest", _SPECIAL, 8, largest=0),
    _topk("one_chunk", OpCase.random(4, 2, 2048), 10),
    _topk("many_chunks", OpCase.random(5, 2, 9000), 9000),
    _topk("many_chunks_ties", OpCase.random(6, 5000, 2, dtype="int8"), 4000, axis=0, largest=0),
    *(
        _topk(f"dtype_{t.numpy}", OpCase.random(7, 20, dtype=t.numpy.name), 20)
        for t in DTYPES
        if t.kind != "b" and not t.is_storage
    ),
    _topk("uint64_wide", np.array([2**63, 1, 2**64 - 1], np.uint64), 3),
    _topk("int64_wide", np.array([-(2**63), 2**63 - 1, 0]), 3, largest=0),
]
