"""Cases of TensorScatter."""

from __future__ import annotations

import functools

import numpy as np

from cugraphmodel.ops.case import Array, OpCase

__all__ = ["CASES"]


def _expected(
    axis: int, circular: bool, past: Array, update: Array, starts: Array | None = None
) -> list[Array]:
    """The operator's pseudocode."""
    present = past.copy()
    for prefix in np.ndindex(past.shape[:axis]):
        start = 0 if starts is None else int(starts[prefix[0]])
        for place in range(update.shape[axis]):
            target = start + place
            target = target % past.shape[axis] if circular else target
            present[(*prefix, target)] = update[(*prefix, place)]
    return [present]


def _case(
    name: str, past: Array, update: Array, starts: list[int] | None, axis: int = -2, mode: str = ""
) -> OpCase:
    inputs = [past, update] if starts is None else [past, update, np.array(starts, np.int64)]
    attributes = {"axis": axis} | ({"mode": mode} if mode else {})
    expected = functools.partial(_expected, axis % past.ndim, mode == "circular")
    return OpCase(name, "TensorScatter", inputs, attributes, 24, expected=expected)


_CACHE = OpCase.random(1, 2, 3, 7, 4)
_NEW = OpCase.random(2, 2, 3, 2, 4)

CASES = [
    _case("decode", _CACHE, _NEW, [0, 5]),
    _case("prefill", _CACHE, OpCase.random(3, 2, 3, 7, 4), None),
    _case("linear", _CACHE, _NEW, [3, 1], mode="linear"),
    _case("circular", _CACHE, _NEW, [6, 20], mode="circular"),
    _case("circular_negative", _CACHE, _NEW, [-1, -7], mode="circular"),
    _case("rank_3_float16", OpCase.random(4, 3, 5, 3, dtype="float16"),
          OpCase.random(5, 3, 1, 3, dtype="float16"), [4, 0, 2], axis=1),
    _case("last_axis_int8", OpCase.random(6, 2, 9, dtype="int8"),
          OpCase.random(7, 2, 4, dtype="int8"), [5, 2], axis=-1),
    _case("many", OpCase.random(8, 2, 2, 33, 17), OpCase.random(9, 2, 2, 16, 17), [17, 4]),
    _case("no_entries", _CACHE, np.zeros((2, 3, 0, 4), np.float32), [7, 0]),
]  # fmt: skip
