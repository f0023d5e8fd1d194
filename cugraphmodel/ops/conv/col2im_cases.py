"""Cases of Col2Im."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _case(
    name: str,
    image: tuple[int, ...],
    kernel: tuple[int, ...],
    *,
    planes: tuple[int, int] = (2, 3),
    dtype: str = "float32",
    **attributes: Any,
) -> OpCase:
    rank = len(image)
    strides = attributes.get("strides", [1] * rank)
    dilations = attributes.get("dilations", [1] * rank)
    pads = attributes.get("pads", [0] * (2 * rank))
    count = tuple(
        (image[d] + pads[d] + pads[d + rank] - dilations[d] * (kernel[d] - 1) - 1) // strides[d] + 1
        for d in range(rank)
    )

    def expected(columns: Array, *_shapes: Array) -> list[Array]:
        wide = columns if columns.dtype.kind in "iu" else columns.astype(np.float64)
        blocks = wide.reshape(*planes, *kernel, *count)
        padded = [size + sum(pads[d::rank]) for d, size in enumerate(image)]
        whole = np.zeros((*planes, *padded), wide.dtype)
        for block in np.ndindex(*count):
            for tap in np.ndindex(*kernel):
                at = (
                    b * s + t * d for b, s, t, d in zip(block, strides, tap, dilations, strict=True)
                )
                whole[(..., *at)] += blocks[(slice(None), slice(None), *tap, *block)]
        inside: tuple[Any, ...] = tuple(
            slice(pads[d], pads[d] + size) for d, size in enumerate(image)
        )
        return [whole[(slice(None), slice(None), *inside)]]

    shape = (planes[0], planes[1] * math.prod(kernel), math.prod(count))
    inputs = [OpCase.random(1, *shape, dtype=dtype), np.array(image), np.array(kernel)]
    return OpCase(name, "Col2Im", inputs, attributes, 18, expected=expected)


CASES = [
    _case("plain", (5, 6), (2, 3)),
    _case("strided", (7, 9), (3, 2), strides=[2, 3]),
    _case("padded", (5, 5), (3, 3), pads=[1, 0, 2, 1], planes=(1, 20)),
    _case("dilated", (8, 7), (3, 2), dilations=[2, 3], strides=[1, 2]),
    _case("signal", (300,), (4,), strides=[3], pads=[2, 1], dtype="float64"),
    _case("volume", (3, 4, 5), (2, 2, 2), dtype="float16", planes=(1, 1)),
    _case("wrapping", (6, 6), (3, 3), dtype="int8"),
]
