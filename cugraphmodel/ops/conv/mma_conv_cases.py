"""Cases of ChannelsLastConv on tensor cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.conv.conv_cases import convolve
from cugraphmodel.ops.matmul.tensor_core_cases import as_multiplied

__all__ = ["CASES"]

Array = npt.NDArray[Any]
DTYPES = {"tf32x3": "float32", "tf32": "float32", "f16": "float16", "bf16": "bfloat16"}


def _last(array: Array) -> Array:
    """Axis 1 behind all others."""
    return np.ascontiguousarray(np.moveaxis(array, 1, -1))


def _case(
    name: str,
    x: tuple[int, ...] | Array,
    weights: tuple[int, ...],
    arithmetic: str = "tf32x3",
    *,
    finished: bool = False,
    **attributes: Any,
) -> OpCase:
    """Shapes as of a Conv. ``finished`` adds a bias, a residual and a Relu."""
    dtype = DTYPES[arithmetic]
    planes = x if isinstance(x, np.ndarray) else OpCase.random(1, *x, dtype=dtype)
    filters = OpCase.random(2, *weights, dtype=dtype)
    operands = (as_multiplied(array, arithmetic) for array in (planes, filters))
    sums = _last(convolve(*operands, **attributes))
    inputs = [_last(planes), _last(filters)]
    if finished:
        inputs += [OpCase.random(3, weights[0], dtype=dtype)]
        inputs += [OpCase.random(4, *sums.shape, dtype=dtype)]

    def expected(_x: Array, _weights: Array, *terms: Array) -> Sequence[Array]:
        total = sum((term.astype(np.float64) for term in terms), sums)
        return [np.maximum(total, 0) if finished else total]

    attributes |= {"arithmetic": arithmetic}
    if finished:
        attributes["activation"] = "cg_act_relu"
    return OpCase(
        f"{arithmetic}_{name}",
        "ChannelsLastConv",
        inputs,
        attributes,
        opset=1,
        domain="cugraphmodel",
        expected=expected,
    )


def _with_infinity(array: Array) -> Array:
    changed = array.copy()
    changed[0, 1, 2, 3] = np.inf
    return changed


FORMS: tuple[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]], ...] = (
    ("padded", (1, 8, 9, 10), (24, 8, 3, 3), {"pads": [1, 1, 1, 1]}),
    ("small_tiles", (1, 8, 7, 9), (40, 8, 3, 3), {"pads": [1, 0, 2, 1]}),
    ("strided", (2, 16, 11, 9), (33, 16, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ("dilated", (1, 24, 12, 12), (16, 24, 3, 2), {"dilations": [2, 3]}),
    ("pointwise", (2, 40, 5, 6), (20, 40, 1, 1), {}),
    ("pointwise_strided", (2, 16, 9, 9), (20, 16, 1, 1), {"strides": [2, 2]}),
    ("one_axis", (2, 16, 40), (24, 16, 5), {"pads": [2, 2]}),
    ("three_axes", (1, 8, 5, 6, 7), (16, 8, 2, 3, 2), {"pads": [0, 1, 1, 1, 1, 0]}),
    ("slices", (1, 64, 7, 7), (32, 64, 3, 3), {"pads": [1, 1, 1, 1]}),
    ("few_positions", (1, 64, 3, 3), (40, 64, 3, 3), {"pads": [1, 1, 1, 1]}),
)


def _scaled_case(
    name: str,
    x: tuple[int, ...],
    filters: int,
    arithmetic: str = "tf32x3",
    *,
    finished: bool = False,
    factors: Mapping[int, float] | None = None,
) -> OpCase:
    """A 1x1 convolution of x [N, *spatial, C] times a scale.

    ``finished`` adds a bias, a residual and a Relu. ``factors`` has elements of the last image's
    scale by channel.
    """
    dtype, ones = DTYPES[arithmetic], (1,) * (len(x) - 2)
    scale = OpCase.random(7, x[0], *ones, x[-1], dtype=dtype)
    for channel, factor in (factors or {}).items():
        scale[-1, ..., channel] = factor
    inputs = [
        OpCase.random(1, *x, dtype=dtype),
        OpCase.random(2, filters, *ones, x[-1], dtype=dtype),
        OpCase.random(3, filters, dtype=dtype) if finished else None,
        OpCase.random(4, *x[:-1], filters, dtype=dtype) if finished else None,
        scale,
    ]

    def expected(
        x: Array, weights: Array, bias: Array | None, residual: Array | None, scale: Array
    ) -> Sequence[Array]:
        matrix = weights.reshape(filters, -1).astype(np.float64)
        sums = (x.astype(np.float64) * scale).astype(dtype).astype(np.float64) @ matrix.T
        if bias is None or residual is None:
            return [sums]
        return [np.maximum(sums + bias.astype(np.float64) + residual.astype(np.float64), 0)]

    return OpCase(
        f"{arithmetic}_scaled_{name}",
        "ChannelsLastConv",
        inputs,
        {
            "arithmetic": arithmetic,
            "activation": "cg_act_relu" if finished else "cg_act_none",
        },
        opset=1,
        domain="cugraphmodel",
        expected=expected,
    )


SCALED = [
    *(
        _scaled_case(
            f"{name}{'_finished' if finished else ''}", x, filters, arithmetic, finished=finished
        )
        for name, x, filters in (
            ("small_tiles", (1, 5, 7, 40), 24),
            ("sixteen_rows", (2, 3, 5, 72), 24),
            ("large_tiles", (2, 70, 67, 24), 64),
            ("slices", (1, 7, 7, 328), 40),
            ("slices_of_images", (3, 7, 7, 264), 24),
            ("one_axis", (2, 41, 16), 24),
        )
        for arithmetic in ("tf32x3", "f16", "bf16")
        for finished in (False, True)
        if arithmetic == "tf32x3" or not finished
    ),
    _scaled_case("infinity", (2, 7, 5, 40), 24, factors={39: np.inf}),
    _scaled_case("zero", (2, 7, 5, 40), 24, factors={0: 0.0, 17: np.nan}),
    _scaled_case("subnormal", (1, 7, 5, 8), 24, factors=dict.fromkeys(range(8), 1e-38)),
]

CASES = [
    *SCALED,
    *(
        _case(name, x, weights, arithmetic, **attributes)
        for name, x, weights, attributes in FORMS
        for arithmetic in ("tf32x3", "f16", "bf16")
    ),
    *(
        _case(f"{name}_finished", x, weights, finished=True, **attributes)
        for name, x, weights, attributes in FORMS
        if name in ("small_tiles", "pointwise", "slices", "few_positions")
    ),
    *(
        _case("large_tiles", (2, 8, 67, 66), (64, 8, 2, 2), arithmetic, finished=True)
        for arithmetic in DTYPES
    ),
    _case("infinity", _with_infinity(OpCase.random(1, 1, 8, 7, 9)), (40, 8, 3, 3), pads=[1] * 4),
    _case("subnormal", OpCase.random(1, 1, 8, 7, 9) * np.float32(1e-38), (40, 8, 3, 3)),
    _case("zeros", OpCase.random(1, 1, 8, 7, 9) * np.float32(0), (40, 8, 3, 3)),
]
