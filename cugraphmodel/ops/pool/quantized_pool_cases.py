"""Cases of ONNX Runtime's average pools on quantised tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.pool.pool_cases import Window, pooled
from cugraphmodel.ops.quantize.linear_cases import quantized
from cugraphmodel.ops.quantize.pointwise_cases import MICROSOFT, number, random_bytes

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _average(
    count_padding: int, attributes: dict[str, Any], output: Sequence[int]
) -> Callable[..., Sequence[Array]]:
    def mean(_plane: Array, window: Window, elements: Array) -> Any:
        return elements.sum() / (len(window) if count_padding else len(elements))

    def expected(
        x: Array, x_scale: Array, x_zero: Array | None, scale: Array, zero_point: Array
    ) -> Sequence[Array]:
        centred = x.astype(np.float64) - (0.0 if x_zero is None else x_zero.astype(np.float64))
        means = pooled(centred, mean, output=output, **attributes)
        return [quantized(means * x_scale / scale, zero_point, x.dtype)]

    return expected


def _global(
    x: Array, x_scale: Array, x_zero: Array, scale: Array, zero_point: Array
) -> Sequence[Array]:
    centred = x.astype(np.float64) - x_zero.astype(np.float64)
    means = centred.mean(tuple(range(2, x.ndim)), keepdims=True)
    return [quantized(means * x_scale / scale, zero_point, x.dtype)]


def _inputs(shape: Sequence[int], dtype: str) -> list[Array]:
    x = random_bytes(1, shape, dtype)
    return [x, number(0.0713), number(31, dtype), number(0.0291), number(60, dtype)]


def _average_case(
    name: str,
    shape: Sequence[int],
    output: Sequence[int],
    dtype: str,
    count_padding: int = 0,
    **attributes: Any,
) -> OpCase:
    return OpCase(
        name,
        "QLinearAveragePool",
        _inputs(shape, dtype),
        {**attributes, "count_include_pad": count_padding},
        1,
        domain=MICROSOFT,
        expected=_average(count_padding, attributes, output),
    )


def _global_case(name: str, shape: Sequence[int], dtype: str) -> OpCase:
    return OpCase(
        name,
        "QLinearGlobalAveragePool",
        _inputs(shape, dtype),
        opset=1,
        domain=MICROSOFT,
        expected=_global,
    )


CASES = [
    _average_case("two_axes", (2, 3, 7, 6), (3, 2), "uint8", kernel_shape=[3, 3], strides=[2, 2]),
    _average_case("padded", (1, 2, 5, 6), (5, 6), "int8", kernel_shape=[3, 3], pads=[1] * 4),
    _average_case(
        "padding_counts", (1, 2, 5, 6), (5, 6), "uint8", 1, kernel_shape=[3, 3], pads=[1] * 4
    ),
    _average_case("one_axis", (2, 2, 11), (5,), "int8", kernel_shape=[3], strides=[2]),
    _average_case("three_axes", (1, 2, 4, 3, 5), (3, 2, 4), "uint8", kernel_shape=[2, 2, 2]),
    _global_case("two_axes", (2, 3, 7, 5), "uint8"),
    _global_case("one_position", (2, 5, 1), "int8"),
    _global_case("long_plane", (2, 2, 41, 40), "int8"),
]
