"""Cases of ReverseSequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES", "reverse_sequence"]

Array = npt.NDArray[Any]


def reverse_sequence(data: Array, lengths: Array, time_axis: int) -> Array:
    """Entry by entry, from the operator's definition."""
    result = data.copy()
    for entry, length in enumerate(lengths):
        of_entry = result[:, entry] if time_axis == 0 else result[entry]
        of_entry[:length] = of_entry[:length][::-1].copy()
    return result


def _case(
    name: str,
    shape: tuple[int, ...],
    lengths: Sequence[int],
    dtype: str = "float32",
    time_axis: int = 0,
    opset: int = 10,
    **attributes: Any,
) -> OpCase:
    return OpCase(
        name,
        "ReverseSequence",
        [OpCase.random(0, *shape, dtype=dtype), np.array(lengths, np.int64)],
        attributes if time_axis == 0 else {"time_axis": 1, **attributes},
        opset,
        expected=lambda data, lengths: [reverse_sequence(data, lengths, time_axis)],
    )


CASES = [
    _case("defaults", (4, 4), [4, 3, 0, 1]),
    _case("batch_first", (3, 5), [1, 5, 4], time_axis=1, batch_axis=0),
    _case("inner", (5, 3, 2, 3), [5, 2, 3], "float16"),
    _case("inner_words", (3, 5, 4), [2, 5, 0], "int64", 1, batch_axis=0, opset=28),
    _case("bool", (300, 3), [300, 299, 7], "bool", batch_axis=1),
    _case("empty", (0, 3), [0, 0, 0]),
]
