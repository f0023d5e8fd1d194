"""Cases of Gather, GatherElements and GatherND."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import DTYPES
from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _ints(values: Any, dtype: str = "int64") -> Array:
    return np.array(values, dtype)


def _counted(*shape: int, dtype: str = "float32") -> Array:
    return np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)


def _smaller_index(data: Array, _indices: Array) -> list[Array]:
    return [np.array([[data[0, 0, [1]], data[0, 1, [3]]], [data[1, 0, [5]], data[1, 1, [0]]]])]


CASES = [
    OpCase("rows", "Gather", [_counted(5, 4), _ints([[0, 4], [2, 2]])]),
    OpCase("rows", "Gather", [_counted(5, 4), _ints([0, 4])], opset=7),
    OpCase("negative_index", "Gather", [_counted(5, 3), _ints([-1, 0, -5])], opset=11),
    OpCase("axis_1", "Gather", [_counted(2, 5, 3), _ints([4, 1])], {"axis": 1}),
    OpCase("last_axis_int32", "Gather", [_counted(2, 5), _ints([4, 1, 0], "int32")], {"axis": -1}),
    OpCase("scalar_index", "Gather", [_counted(2, 5, 3), _ints(3)], {"axis": 1}),
    OpCase("scalar_from_vector", "Gather", [_counted(4, dtype="int64"), _ints(2)]),
    OpCase("embedding", "Gather", [_counted(30, 64), _ints([[3, 29, 0]])]),
    OpCase(
        "constant_indices", "Gather", [_counted(3, 2), _ints([2])], constant_inputs=frozenset({1})
    ),
    OpCase("no_indices", "Gather", [_counted(3, 2), _ints([]).reshape(0)]),
    *(
        OpCase(f"dtype_{t.numpy}", "Gather", [_counted(5, 3, dtype=t.numpy.name), _ints([1, -2])])
        for t in DTYPES
    ),
    OpCase("rows", "GatherElements", [_counted(3, 3), _ints([[1, 2, 0], [2, 0, 0]])], opset=11),
    OpCase("columns", "GatherElements", [_counted(2, 3), _ints([[0, 0], [-1, 0]])], {"axis": 1}),
    OpCase(
        "smaller_index",
        "GatherElements",
        [_counted(4, 5, 6), _ints([[[1], [3]], [[5], [-6]]], "int32")],
        {"axis": -1},
        expected=_smaller_index,
    ),
    OpCase("longer_axis", "GatherElements", [_counted(2), _ints([0, 1, 1, 0, -2])]),
    OpCase("float64", "GatherElements", [_counted(3, dtype="float64"), _ints([2, 0])]),
    OpCase("full_depth", "GatherND", [_counted(2, 3), _ints([[0, 0], [1, -1]])], opset=11),
    OpCase("rows", "GatherND", [_counted(2, 3, 4), _ints([[[1]], [[0]]])]),
    OpCase("one_tuple", "GatherND", [_counted(2, 3, 4), _ints([1, 2])]),
    OpCase("batch", "GatherND", [_counted(2, 3, 4), _ints([[1], [0]])], {"batch_dims": 1}),
    OpCase(
        "batch_2",
        "GatherND",
        [_counted(2, 2, 3, 4), _ints([[[[1], [2]]] * 2] * 2).reshape(2, 2, 2, 1)],
        {"batch_dims": 2},
    ),
    OpCase("bool", "GatherND", [_counted(2, 3) > 2, _ints([[1, 0], [0, 1]])]),
]
