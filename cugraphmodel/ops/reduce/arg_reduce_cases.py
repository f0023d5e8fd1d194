"""Cases of ArgMax and ArgMin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cugraphmodel.ops.case import Array, OpCase

__all__ = ["CASES"]


def _case(name: str, op_type: str, x: Array, opset: int = 13, **attributes: Any) -> OpCase:
    axis = attributes.get("axis", 0)
    find = np.argmax if op_type == "ArgMax" else np.argmin

    def expected(x: Array) -> list[Array]:
        if attributes.get("select_last_index", 0):
            found = x.shape[axis] - 1 - find(np.flip(x, axis), axis, keepdims=True)
        else:
            found = find(x, axis, keepdims=True)
        return [found if attributes.get("keepdims", 1) else found.squeeze(axis)]

    return OpCase(name, op_type, [x], attributes, opset, expected=expected)


FLOATS = ("float16", "bfloat16", "float32", "float64")


def _cases(op_type: str) -> Iterator[OpCase]:
    x = OpCase.random(1, 3, 4, 5, 6)
    for opset in (11, 13):
        yield _case("default_axis", op_type, x, opset)
    for axis in (-4, -1, 0, 1, 2, 3):
        yield _case(f"axis_{axis}", op_type, x, axis=axis)
        yield _case(f"axis_{axis}_dropped", op_type, x, axis=axis, keepdims=0)
    for size in (1, 31, 32, 33, 600, 3000, 20000):
        yield _case(f"row_{size}", op_type, OpCase.random(2, 2, size), axis=1)
        yield _case(f"column_{size}", op_type, OpCase.random(3, size, 3), axis=0)
    ties = np.random.default_rng(4).integers(0, 3, (5, 700))
    for dtype in ("int8", "int32", "int64", "uint8", "uint64", *FLOATS):
        for last in (0, 1):
            for axis in (0, 1):
                yield _case(
                    f"ties_{dtype}_last_{last}_axis_{axis}", op_type, ties.astype(dtype),
                    axis=axis, select_last_index=last,
                )  # fmt: skip
    special = np.array(
        [[0, np.nan, 1, np.nan], [np.inf, 1, np.inf, 2], [-np.inf] * 4, [0.0, -0.0, 0.0, -0.0]],
        np.float32,
    )
    for last in (0, 1):
        for axis in (0, 1):
            yield _case(
                f"special_last_{last}_axis_{axis}", op_type, special,
                axis=axis, select_last_index=last,
            )  # fmt: skip


CASES = [*_cases("ArgMax"), *_cases("ArgMin")]
