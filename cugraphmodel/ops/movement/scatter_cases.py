"""Cases of ScatterElements and ScatterND."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import DTYPES, kind_of
from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]
REDUCTIONS = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def _ints(values: Any, dtype: str = "int64") -> Array:
    return np.array(values, dtype)


def _zeros(*shape: int, dtype: str = "float32") -> Array:
    return np.zeros(shape, dtype)


def _counted(*shape: int, dtype: str = "float32") -> Array:
    return (np.arange(np.prod(shape, dtype=int)) + 1).astype(dtype).reshape(shape)


def _scattered_nd(reduction: str) -> Any:
    """ScatterND as the operator's text defines it, update after update."""

    def expected(data: Array, indices: Array, updates: Array) -> list[Array]:
        output = data.astype(np.float64) if kind_of(data.dtype) == "f" else data.copy()
        for place in np.ndindex(indices.shape[:-1]):
            target = tuple(indices[place])
            if reduction == "none":
                output[target] = updates[place]
            else:
                output[target] = REDUCTIONS[reduction](output[target], updates[place])
        return [output]

    return expected


def _scattered_elements(reduction: str, axis: int) -> Any:
    """ScatterElements as the operator's text defines it, update after update."""

    def expected(data: Array, indices: Array, updates: Array) -> list[Array]:
        output = data.astype(np.float64) if kind_of(data.dtype) == "f" else data.copy()
        for place in np.ndindex(indices.shape):
            target = list(place)
            target[axis] = int(indices[place])
            at = tuple(target)
            if reduction == "none":
                output[at] = updates[place]
            else:
                output[at] = REDUCTIONS[reduction](output[at], updates[place])
        return [output]

    return expected


def _elements(
    name: str,
    data: Array,
    indices: Array,
    updates: Array,
    axis: int = 0,
    reduction: str = "none",
    opset: int = 18,
) -> OpCase:
    attributes: dict[str, Any] = {"axis": axis}
    if reduction != "none":
        attributes["reduction"] = reduction
    return OpCase(
        name,
        "ScatterElements",
        [data, indices, updates],
        attributes,
        opset,
        expected=_scattered_elements(reduction, axis),
    )


def _nd(
    name: str,
    data: Array,
    indices: Array,
    updates: Array,
    reduction: str = "none",
    opset: int = 18,
) -> OpCase:
    attributes = {} if reduction == "none" else {"reduction": reduction}
    return OpCase(
        name,
        "ScatterND",
        [data, indices, updates],
        attributes,
        opset,
        expected=_scattered_nd(reduction),
    )


_MANY = np.random.default_rng(5).integers(-20, 20, 500)

CASES = [
    OpCase(
        "rows",
        "Scatter",
        [_zeros(3, 3), _ints([[1, 0, 2], [0, 2, 1]]), _counted(2, 3)],
        opset=9,
        expected=_scattered_elements("none", 0),
    ),
    _elements("rows", _zeros(3, 3), _ints([[1, 0, 2], [0, 2, 1]]), _counted(2, 3), opset=11),
    _elements("columns", _counted(1, 5), _ints([[1, -2]]), -_counted(1, 2), axis=1, opset=13),
    _elements("duplicates_last_wins", _zeros(20), _MANY, _counted(500)),
    _elements("int32_indices", _zeros(2, 4, 3), _ints([[[3, 0]]], "int32"), _counted(1, 1, 2), 1),
    _elements("no_updates", _counted(3), _ints([]), _zeros(0)),
    *(
        _elements(
            f"duplicates_{reduction}",
            _counted(2, 20, 2),
            np.stack([_MANY[:30], _MANY[30:60]], -1)[None],
            OpCase.random(7, 1, 30, 2),
            -2,
            reduction,
        )
        for reduction in REDUCTIONS
    ),
    *(
        _elements(
            f"add_{t.numpy}",
            _counted(4, dtype=t.numpy.name),
            _ints([1, 1, -1]),
            _counted(3, dtype=t.numpy.name),
            0,
            "add",
        )
        for t in DTYPES
        if t.numpy != np.bool_ and not t.is_storage
    ),
    _elements(
        "int8_wraps",
        np.array([100, 1], np.int8),
        _ints([0, 0]),
        np.array([100, 1], np.int8),
        0,
        "add",
        16,
    ),
    _elements(
        "nan_wins",
        _counted(2),
        _ints([0, 0]),
        np.array([np.nan, 5], np.float32),
        0,
        "max",
    ),
    _nd("elements", _counted(8), _ints([[4], [3], [1], [7]]), -_counted(4), opset=11),
    _nd("slices", _zeros(4, 4, 4), _ints([[0], [2]]), _counted(2, 4, 4), opset=13),
    _nd("one_slice", _zeros(3, 5), _ints([[1]]), _counted(1, 5)),
    _nd("deep_negative", _zeros(2, 3, 4), _ints([[[1, -1], [0, 2]]]), _counted(1, 2, 4)),
    _nd("duplicates_last_wins", _zeros(20, 2), _MANY[:, None], _counted(500, 2)),
    _nd("bool", np.zeros(4, bool), _ints([[1], [3]]), np.ones(2, bool)),
    *(
        _nd(
            f"duplicates_{reduction}",
            _counted(20, 3),
            _MANY[:50, None],
            OpCase.random(8, 50, 3),
            reduction,
        )
        for reduction in REDUCTIONS
    ),
    _nd(
        "add_float16",
        _counted(3, dtype="float16"),
        _ints([[0], [0]]),
        _counted(2, dtype="float16"),
        "add",
        16,
    ),
]
