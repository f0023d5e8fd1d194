"""Cases of Pad."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import DTYPES
from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _ints(*values: int) -> Array:
    return np.array(values, np.int64)


def _counted(*shape: int, dtype: str = "float32") -> Array:
    return (np.arange(np.prod(shape, dtype=int)) + 1).astype(dtype).reshape(shape)


def _cropped(data: Array, *_rest: Array) -> list[Array]:
    return [np.pad(data[1:, :-2], [(0, 2), (1, 0)], constant_values=0)]


def _cropped_then_reflected(data: Array, *_rest: Array) -> list[Array]:
    return [np.pad(data[1:], [(0, 2)], mode="reflect")]


_X = _counted(3, 4)


def _centered(name: str, data: Array, shape: list[int], **axes: list[int]) -> OpCase:
    return OpCase(name, "CenterCropPad", [data, np.array(shape)], axes, 18)


CASES = [
    _centered("crop_and_pad", _counted(5, 4, 3), [2, 9, 3]),
    _centered("odd_crop", _counted(8, 7), [5, 2]),
    _centered("odd_pad", _counted(2, 3), [5, 8]),
    _centered("axes", _counted(2, 10, 7), [6, 8], axes=[-2, 2]),
    _centered("int16", _counted(3, 3, dtype="int16"), [4, 1]),
    _centered("to_nothing", _counted(3, 3), [0, 4]),
    OpCase("attribute", "Pad", [_X], {"pads": [1, 0, 0, 2], "value": 1.5}, 7),
    OpCase("attribute_reflect", "Pad", [_X], {"pads": [2, 1, 1, 3], "mode": "reflect"}, 7),
    OpCase("attribute_edge", "Pad", [_X], {"pads": [2, 1, 1, 3], "mode": "edge"}, 10),
    OpCase("zeros", "Pad", [_X, _ints(0, 1, 2, 0)], opset=11),
    OpCase("value", "Pad", [_X, _ints(0, 1, 2, 0), np.array(-7, np.float32)]),
    OpCase("nan", "Pad", [_X, _ints(1, 0, 0, 0), np.array(np.nan, np.float32)]),
    OpCase("reflect", "Pad", [_X, _ints(2, 3, 0, 1)], {"mode": "reflect"}),
    OpCase("reflect_many_times", "Pad", [_X, _ints(0, 8, 0, 9)], {"mode": "reflect"}),
    OpCase("edge", "Pad", [_X, _ints(5, 1, 0, 6)], {"mode": "edge"}, 18),
    OpCase("wrap", "Pad", [_X, _ints(5, 1, 4, 6)], {"mode": "wrap"}, 19),
    OpCase("axes", "Pad", [_X, _ints(1, 2), None, _ints(-1)], opset=18),
    OpCase(
        "axes_and_value",
        "Pad",
        [_counted(2, 3, 2), _ints(1, 0, 2, 1), np.array(9, np.float32), _ints(2, 0)],
        opset=18,
    ),
    OpCase("image", "Pad", [_counted(2, 3, 4, 5), _ints(0, 0, 1, 1, 0, 0, 1, 1)]),
    OpCase("negative", "Pad", [_X, _ints(-1, 1, 2, -2)], expected=_cropped),
    OpCase(
        "negative_reflect",
        "Pad",
        [_counted(4), _ints(-1, 2)],
        {"mode": "reflect"},
        expected=_cropped_then_reflected,
    ),
    OpCase("from_empty", "Pad", [np.zeros((0, 2), np.float32), _ints(1, 0, 1, 0)]),
    OpCase("nothing", "Pad", [_X, _ints(0, 0, 0, 0)]),
    *(
        OpCase(
            f"dtype_{t.numpy}",
            "Pad",
            [_counted(5, dtype=t.numpy.name), _ints(1, 2), np.array(1, t.numpy)],
        )
        for t in DTYPES
        if not t.is_storage
    ),
]
