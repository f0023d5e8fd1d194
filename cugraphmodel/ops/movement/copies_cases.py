"""Cases of the operators that are strided copies."""

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
    """Distinct elements, so that a wrong place is a wrong value."""
    return np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)


def _slice(name: str, data: Array, *bounds: Array | None, opset: int = 13, **kwargs: Any) -> OpCase:
    return OpCase(name, "Slice", [data, *bounds], opset=opset, **kwargs)


def _clamped_start(*_inputs: Array) -> list[Array]:
    return [_counted(5)[:1]]


_SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 1], np.float32).reshape(2, 3)

CASES = [
    OpCase("default", "Transpose", [_counted(2, 3, 4)]),
    OpCase("identity", "Transpose", [_counted(2, 3)], {"perm": [0, 1]}),
    OpCase("rank_0", "Transpose", [np.array(5, np.float32)]),
    OpCase("rank_1", "Transpose", [_counted(7)]),
    OpCase("special_values", "Transpose", [_SPECIAL]),
    OpCase("matrix", "Transpose", [_counted(70, 65)], opset=7),
    OpCase("matrix_below_tile", "Transpose", [_counted(8, 31)]),
    OpCase("channels_last", "Transpose", [_counted(2, 19, 5, 9)], {"perm": [0, 2, 3, 1]}),
    OpCase("channels_first", "Transpose", [_counted(2, 5, 9, 33)], {"perm": [0, 3, 1, 2]}),
    OpCase("heads", "Transpose", [_counted(2, 5, 3, 8)], {"perm": [0, 2, 1, 3]}),
    OpCase("keys", "Transpose", [_counted(2, 9, 3, 16)], {"perm": [0, 2, 3, 1]}),
    OpCase("small_inner", "Transpose", [_counted(40, 3)]),
    OpCase("batch_reversed", "Transpose", [_counted(3, 2, 9, 2, 10)], {"perm": [3, 4, 1, 2, 0]}),
    OpCase(
        "rank_8",
        "Transpose",
        [_counted(2, 3, 2, 1, 2, 3, 2, 2)],
        {"perm": [7, 2, 5, 0, 3, 6, 1, 4]},
    ),
    *(
        OpCase(f"dtype_{dtype.numpy}", "Transpose", [_counted(9, 10, dtype=dtype.numpy.name)])
        for dtype in DTYPES
    ),
    *(
        OpCase(
            f"small_dtype_{dtype.numpy}",
            "Transpose",
            [_counted(3, 2, 4, dtype=dtype.numpy.name)],
            {"perm": [1, 0, 2]},
        )
        for dtype in DTYPES
    ),
    OpCase("attributes", "Slice", [_counted(5, 6)], {"starts": [1, -4], "ends": [3, 100]}, 9),
    OpCase(
        "attribute_axes", "Slice", [_counted(5, 6)], {"starts": [2], "ends": [-1], "axes": [1]}, 7
    ),
    _slice("inputs", _counted(5, 6), _ints(1, 2), _ints(4, 6), opset=10),
    _slice("negative_axes", _counted(2, 5, 6), _ints(1, 0), _ints(9, 2), _ints(-1, 1)),
    _slice("int32_bounds", _counted(9), *(np.array([v], np.int32) for v in (1, 8, 0, 3))),
    _slice("negative_step", _counted(4, 9), _ints(8), _ints(0), _ints(1), _ints(-3)),
    _slice("reversed", _counted(3, 4), _ints(-1, -1), _ints(-99, -99), _ints(0, 1), _ints(-1, -1)),
    _slice("reversed_int_min", _counted(6), _ints(2**31 - 1), _ints(-(2**63)), _ints(0), _ints(-1)),
    _slice("without_axes", _counted(4, 9), _ints(0, 1), _ints(4, 9), None, _ints(2, 4)),
    _slice("empty", _counted(4, 9), _ints(3), _ints(1)),
    _slice(
        "start_clamped_backwards",
        _counted(5),
        _ints(-9),
        _ints(-9),
        _ints(0),
        _ints(-1),
        expected=_clamped_start,
    ),
    _slice("aligned_for_wide_words", _counted(3, 16), _ints(4), _ints(12), _ints(1)),
    OpCase("rows", "Expand", [_counted(3, 1), _ints(2, 1, 4)]),
    OpCase("input_wins", "Expand", [_counted(2, 3), _ints(1, 1)], opset=8),
    OpCase("rank_0", "Expand", [np.array(7, np.int64), _ints(3, 2)]),
    OpCase("to_empty", "Expand", [_counted(1, 3), _ints(0, 3)]),
    OpCase("inner", "Expand", [_counted(2, 1, 4) > 3, _ints(2, 5, 4)]),
    OpCase("matrix", "Tile", [_counted(2, 3), _ints(2, 3)]),
    OpCase("ones", "Tile", [_counted(2, 3), _ints(1, 1)], opset=7),
    OpCase("rank_4", "Tile", [_counted(1, 2, 3, 2, dtype="uint8"), _ints(2, 1, 2, 3)]),
    OpCase("to_empty", "Tile", [_counted(2, 3), _ints(0, 3)]),
    OpCase("dcr", "DepthToSpace", [_counted(2, 8, 2, 3)], {"blocksize": 2}),
    OpCase("dcr", "DepthToSpace", [_counted(2, 8, 2, 3)], {"blocksize": 2}, 7),
    OpCase("crd_block_3", "DepthToSpace", [_counted(1, 18, 2, 2)], {"blocksize": 3, "mode": "CRD"}),
    OpCase("block_2", "SpaceToDepth", [_counted(2, 3, 4, 6)], {"blocksize": 2}),
    OpCase("crd", "SpaceToDepth", [_counted(2, 3, 4, 6)], {"blocksize": 2, "mode": "CRD"}, 28),
    OpCase("block_3", "SpaceToDepth", [_counted(1, 2, 3, 9)], {"blocksize": 3}, 7),
]
