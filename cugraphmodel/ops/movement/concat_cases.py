"""Cases of Concat and Split."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _ints(*values: int) -> Array:
    return np.array(values, np.int64)


def _counted(*shape: int, dtype: str = "float32") -> Array:
    """Distinct elements, so that a wrong place is a wrong value."""
    return np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)


def _split_into_three(data: Array) -> list[Array]:
    return np.split(data, [3, 6], axis=1)


CASES = [
    OpCase("one", "Concat", [_counted(3, 2)], {"axis": 0}),
    OpCase("channels", "Concat", [_counted(2, c, 4, 4) for c in (3, 1, 6)], {"axis": 1}),
    OpCase("last_axis", "Concat", [_counted(5, n) for n in (1, 2, 3, 4)], {"axis": -1}, 7),
    OpCase("with_empty", "Concat", [_counted(2, n) for n in (3, 0, 1)], {"axis": 1}),
    OpCase("many", "Concat", [_counted(1, 3, dtype="int64") + n for n in range(40)], {"axis": 0}),
    OpCase("same_array", "Concat", [_counted(2, 2)] * 2, {"axis": 1}, opset=11),
    OpCase("bool", "Concat", [_counted(3) > 1, _counted(2) > 0], {"axis": 0}),
    OpCase("equal", "Split", [_counted(2, 6)], {"axis": 1}, 7, num_outputs=3),
    OpCase("attribute", "Split", [_counted(7, 2)], {"split": [1, 4, 2]}, 11, num_outputs=3),
    OpCase("input", "Split", [_counted(3, 6), _ints(1, 0, 5)], {"axis": -1}, num_outputs=3),
    OpCase(
        "num_outputs_uneven",
        "Split",
        [_counted(2, 8)],
        {"axis": 1, "num_outputs": 3},
        18,
        num_outputs=3,
        expected=_split_into_three,
    ),
    OpCase("many", "Split", [_counted(3, 20)], {"axis": 1}, num_outputs=20),
    OpCase("wide_words", "Split", [_counted(3, 5000)], {"axis": 1}, num_outputs=2),
    OpCase("int8", "Split", [_counted(4, 9, dtype="int8")], {"axis": 0}, num_outputs=4),
]
