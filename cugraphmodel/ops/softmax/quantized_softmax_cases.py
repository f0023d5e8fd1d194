"""Cases of QLinearSoftmax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.quantize.linear_cases import quantized
from cugraphmodel.ops.quantize.pointwise_cases import MICROSOFT, number, random_bytes

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _softmax(axes: tuple[int, ...]) -> Callable[..., Sequence[Array]]:
    def expected(
        x: Array, x_scale: Array, _x_zero: Array | None, scale: Array, zero_point: Array
    ) -> Sequence[Array]:
        wide = x.astype(np.float64) * x_scale
        powers = np.exp(wide - wide.max(axes, keepdims=True))
        return [quantized(powers / powers.sum(axes, keepdims=True) / scale, zero_point, x.dtype)]

    return expected


def _case(
    name: str,
    shape: Sequence[int],
    axes: tuple[int, ...],
    dtype: str = "uint8",
    opset: int = 13,
    scale: float = 0.031,
) -> OpCase:
    inputs = [
        *(random_bytes(1, shape, dtype), number(scale), number(7, dtype)),
        *(number(1 / 700), number(3, dtype)),
    ]
    attributes = {"axis": axes[0], "opset": opset}
    return OpCase(
        name, "QLinearSoftmax", inputs, attributes, 1, domain=MICROSOFT, expected=_softmax(axes)
    )


CASES = [
    _case("last_axis", (7, 40), (-1,)),
    _case("one_class", (3, 1), (-1,), "int8"),
    _case("signed", (5, 33), (1,), "int8"),
    _case("steep", (5, 40), (1,), scale=0.7),
    _case("inner_axis", (2, 9, 5), (1,)),
    _case("flattened", (2, 3, 11), (1, 2), opset=12),
]
