"""Cases of ConvInteger and QLinearConv."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.conv.conv_cases import convolve
from cugraphmodel.ops.quantize.linear_cases import quantized

__all__ = ["CASES", "conv_integer", "qlinear_conv"]

Array = npt.NDArray[Any]


def _bytes(seed: int, shape: Sequence[int], dtype: str) -> Array:
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)


def _scales(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).uniform(0.01, 0.05, shape).astype(np.float32)


def _sum(
    x: Array, weights: Array, x_zero: Array | None, weights_zero: Array | None, **attributes: Any
) -> Array:
    """The exact convolution of the numbers less their zero points, as float64."""
    x_wide, weights_wide = x.astype(np.int64), weights.astype(np.int64)
    if x_zero is not None:
        x_wide = x_wide - x_zero.reshape(())
    if weights_zero is not None:
        weights_wide = weights_wide - weights_zero.reshape(-1, *[1] * (weights.ndim - 1))
    return convolve(x_wide, weights_wide, **attributes)


def conv_integer(**attributes: Any) -> Callable[..., Sequence[Array]]:
    """ConvInteger with these attributes."""

    def expected(
        x: Array, weights: Array, x_zero: Array | None = None, weights_zero: Array | None = None
    ) -> Sequence[Array]:
        return [_sum(x, weights, x_zero, weights_zero, **attributes)]

    return expected


def qlinear_conv(**attributes: Any) -> Callable[..., Sequence[Array]]:
    """QLinearConv with these attributes, in float32 from the sum on as ONNX Runtime does it."""

    def expected(
        x: Array,
        x_scale: Array,
        x_zero: Array,
        weights: Array,
        weights_scale: Array,
        weights_zero: Array,
        scale: Array,
        zero_point: Array,
        bias: Array | None = None,
    ) -> Sequence[Array]:
        total = _sum(x, weights, x_zero, weights_zero, **attributes)
        ones = [1] * (x.ndim - 2)
        if bias is not None:
            total = total + bias.reshape(-1, *ones)
        factor = x_scale * weights_scale.reshape(-1, *ones) / scale
        return [quantized(total.astype(np.float32) * factor, zero_point, zero_point.dtype)]

    return expected


def _integer_case(
    name: str,
    x: Sequence[int],
    weights: Sequence[int],
    dtypes: tuple[str, str] = ("uint8", "int8"),
    zeros: tuple[Sequence[int] | None, Sequence[int] | None] = ((), ()),
    **attributes: Any,
) -> OpCase:
    inputs: list[Array | None] = [_bytes(1, x, dtypes[0]), _bytes(2, weights, dtypes[1])]
    for seed, (shape, dtype) in enumerate(zip(zeros, dtypes, strict=True)):
        inputs.append(None if shape is None else _bytes(seed + 3, shape, dtype))
    expected = conv_integer(**attributes)
    return OpCase(name, "ConvInteger", inputs, attributes, 10, expected=expected)


INTEGER = [
    _integer_case("no_zero_points", (1, 3, 6, 5), (4, 3, 3, 3), zeros=(None, None)),
    _integer_case("signed", (1, 3, 6, 5), (4, 3, 3, 3), ("int8", "int8"), (None, None)),
    _integer_case("padded", (2, 3, 9, 8), (20, 3, 3, 3), pads=[1, 1, 1, 1]),
    _integer_case(
        "padded_unevenly", (2, 2, 9, 7), (5, 2, 3, 2), ("uint8", "uint8"), pads=[2, 0, 1, 1]
    ),
    _integer_case(
        "strided_per_filter", (1, 4, 11, 9), (33, 4, 3, 3), zeros=((1,), (33,)), strides=[2, 3]
    ),
    _integer_case(
        "dilated",
        (1, 2, 12, 12),
        (6, 2, 3, 3),
        ("int8", "uint8"),
        dilations=[2, 3],
        pads=[2, 2, 2, 2],
    ),
    _integer_case("grouped", (2, 8, 6, 6), (16, 4, 3, 3), zeros=((), (16,)), group=2, pads=[1] * 4),
    _integer_case("depthwise", (2, 6, 7, 7), (6, 1, 3, 3), zeros=((), (6,)), group=6, pads=[1] * 4),
    _integer_case("pointwise", (2, 20, 5, 4), (18, 20, 1, 1), zeros=((), (18,))),
    _integer_case("pointwise_one_image", (1, 7, 5, 3), (40, 7, 1, 1)),
    _integer_case("one_axis", (2, 5, 30), (7, 5, 4), strides=[2], pads=[1, 2]),
    _integer_case("three_axes", (1, 3, 5, 4, 6), (4, 3, 2, 3, 2), pads=[1, 0, 1, 0, 1, 1]),
    _integer_case("depthwise_three_axes", (1, 3, 5, 4, 6), (3, 1, 2, 3, 2), group=3),
    _integer_case("many_positions", (1, 3, 64, 66), (70, 3, 3, 3), pads=[1] * 4),
    _integer_case("deep", (1, 70, 5, 5), (9, 70, 3, 3), zeros=((), (9,)), pads=[1] * 4),
]


def _qlinear_case(
    name: str,
    x: Sequence[int],
    weights: Sequence[int],
    dtypes: tuple[str, str, str] = ("uint8", "int8", "uint8"),
    *,
    per_filter: bool = True,
    bias: bool = True,
    **attributes: Any,
) -> OpCase:
    filters = weights[:1] if per_filter else ()
    depth = int(np.prod(weights[1:]))
    inputs = [
        _bytes(1, x, dtypes[0]),
        _scales(2),
        _bytes(3, (), dtypes[0]),
        _bytes(4, weights, dtypes[1]),
        _scales(5, *filters),
        _bytes(6, filters, dtypes[1]),
        np.array(depth**0.5 * 0.09, np.float32),
        _bytes(7, (), dtypes[2]),
    ]
    if bias:
        inputs.append(_bytes(8, weights[:1], "int16").astype(np.int32))
    expected = qlinear_conv(**attributes)
    return OpCase(name, "QLinearConv", inputs, attributes, 10, expected=expected)


QLINEAR = [
    _qlinear_case("tiled", (2, 3, 9, 8), (20, 3, 3, 3), pads=[1] * 4),
    _qlinear_case("tiled_odd_plane", (2, 3, 7, 7), (9, 3, 3, 3), bias=False, strides=[2, 2]),
    _qlinear_case("signed", (1, 4, 8, 8), (8, 4, 3, 3), ("int8", "int8", "int8"), per_filter=False),
    _qlinear_case("unsigned", (1, 4, 8, 8), (8, 4, 3, 3), ("uint8",) * 3, per_filter=False),
    _qlinear_case("depthwise", (1, 6, 7, 7), (6, 1, 3, 3), group=6, pads=[1] * 4),
    _qlinear_case("depthwise_one_scale", (1, 6, 7, 7), (6, 1, 3, 3), per_filter=False, group=6),
    _qlinear_case("grouped", (1, 8, 6, 6), (16, 4, 3, 3), group=2, dilations=[2, 2]),
    _qlinear_case("pointwise", (2, 20, 4, 4), (18, 20, 1, 1)),
    _qlinear_case("one_axis", (2, 5, 30), (7, 5, 4), pads=[1, 2]),
    _qlinear_case("three_axes", (1, 3, 5, 4, 6), (4, 3, 2, 3, 2), pads=[1, 0, 1, 0, 1, 1]),
    OpCase(
        "same_upper",
        "QLinearConv",
        [
            _bytes(1, (1, 2, 5, 6), "uint8"),
            _scales(2),
            _bytes(3, (), "uint8"),
            _bytes(4, (3, 2, 2, 3), "int8"),
            _scales(5),
            _bytes(6, (), "int8"),
            np.array(0.3, np.float32),
            _bytes(7, (), "uint8"),
        ],
        {"auto_pad": "SAME_UPPER"},
        10,
        expected=qlinear_conv(pads=[0, 1, 1, 1]),
    ),
]


def _fused_conv(**attributes: Any) -> Callable[..., Sequence[Array]]:
    """The sums of ConvInteger, scaled, and a bias added, in float64."""

    def expected(
        x: Array,
        weights: Array,
        x_scale: Array | None,
        weights_scale: Array,
        x_zero: Array,
        weights_zero: Array,
        bias: Array | None = None,
    ) -> Sequence[Array]:
        total = _sum(x, weights, x_zero, weights_zero, **attributes)
        total = total * weights_scale * (1 if x_scale is None else x_scale)
        return [total if bias is None else total + bias.reshape(-1, *[1] * (x.ndim - 2))]

    return expected


def _fused_case(
    name: str, x: Sequence[int], weights: Sequence[int], *, bias: bool, **attributes: Any
) -> OpCase:
    inputs: list[Array | None] = [
        *(_bytes(1, x, "uint8"), _bytes(2, weights, "int8"), _scales(3) if bias else None),
        *(_scales(4, 1), _bytes(5, (), "uint8"), _bytes(6, (), "int8")),
    ]
    if bias:
        inputs.append(OpCase.random(7, 1, weights[0], *[1] * (len(x) - 2)))
    oracle = _fused_conv(**attributes)
    return OpCase(
        name, "FusedConvInteger", inputs, attributes, 1, domain="cugraphmodel", expected=oracle
    )


FUSED = [
    _fused_case("tiled", (2, 3, 6, 5), (9, 3, 3, 3), bias=True, pads=[1] * 4),
    _fused_case("tiled_one_scale", (1, 3, 7), (9, 3, 3), bias=False),
    _fused_case("pointwise", (1, 8, 4, 5), (6, 8, 1, 1), bias=True),
    _fused_case("depthwise", (1, 4, 6, 5), (4, 1, 3, 3), bias=True, group=4),
]

CASES = [*INTEGER, *QLINEAR, *FUSED]
