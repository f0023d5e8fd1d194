"""Cases of MaxUnpool."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _case(
    name: str,
    x: tuple[int, ...],
    inner: Sequence[int],
    *,
    output: Sequence[int] | None = None,
    opset: int = 17,
    dtype: str = "float32",
    **attributes: Any,
) -> OpCase:
    """Every element of ``x`` at a place of its own in ``inner``, the pooled tensor."""
    size = math.prod(x)
    places = np.random.default_rng(1).permutation(math.prod(inner))[:size]

    def expected(data: Array, indices: Array, *_shape: Array) -> list[Array]:
        flat = np.zeros(math.prod(inner), data.dtype)
        flat[indices.ravel()] = data.ravel()
        unpooled = flat.reshape(inner)
        missing = [(0, a - b) for a, b in zip(output or inner, inner, strict=True)]
        return [np.pad(unpooled, missing)]

    inputs = [OpCase.random(2, *x, dtype=dtype), places.reshape(x)]
    if output is not None:
        inputs.append(np.array(output))
    return OpCase(name, "MaxUnpool", inputs, attributes, opset, expected=expected)


CASES = [
    _case("plane", (2, 3, 3, 4), (2, 3, 6, 8), kernel_shape=[2, 2], strides=[2, 2]),
    _case(
        "padded", (1, 2, 4, 3), (1, 2, 6, 8), kernel_shape=[2, 4], strides=[2, 3], pads=[1, 1, 1, 1]
    ),
    _case("signal", (1, 2, 5), (1, 2, 7), kernel_shape=[3], opset=11, dtype="float64"),
    _case(
        "into_larger",
        (1, 1, 2, 2),
        (1, 1, 4, 4),
        output=(1, 1, 5, 6),
        kernel_shape=[2, 2],
        strides=[2, 2],
        dtype="float16",
    ),
    OpCase(
        "one_place",
        "MaxUnpool",
        [OpCase.random(3, 1, 1, 600), np.full((1, 1, 600), 7)],
        {"kernel_shape": [1]},
        expected=lambda x, _indices: [np.where(np.arange(600) == 7, x[0, 0, -1], 0)[None, None]],
    ),
]
