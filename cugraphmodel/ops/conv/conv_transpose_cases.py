"""Cases of ConvTranspose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

Array = npt.NDArray[Any]


def scattered(
    x: Array,
    weights: Array,
    output: Sequence[int],
    *,
    group: int = 1,
    strides: Sequence[int] = (),
    dilations: Sequence[int] = (),
    pads: Sequence[int] = (),
) -> Array:
    """A transposed convolution in float64, straight from its definition: every input scatters.

    ``output`` is the spatial shape of the result, ``pads`` those at the start of each axis.
    """
    rank = x.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    pads = pads or [0] * rank
    channels, filters = x.shape[1] // group, weights.shape[1]
    y = np.zeros((x.shape[0], filters * group, *output), np.float64)
    for at in np.ndindex(*x.shape[2:]):
        for tap in np.ndindex(*weights.shape[2:]):
            to = tuple(
                a * s - p + t * d
                for a, s, p, t, d in zip(at, strides, pads, tap, dilations, strict=True)
            )
            if not all(0 <= place < size for place, size in zip(to, output, strict=True)):
                continue
            for g in range(group):
                inputs = x[(slice(None), slice(g * channels, (g + 1) * channels), *at)]
                kernel = weights[(slice(g * channels, (g + 1) * channels), slice(None), *tap)]
                product = inputs.astype(np.float64) @ kernel.astype(np.float64)
                y[(slice(None), slice(g * filters, (g + 1) * filters), *to)] += product
    return y


def _expected(output: Sequence[int], **attributes: Any) -> Callable[..., Sequence[Array]]:
    def expected(x: Array, weights: Array, *bias: Array) -> Sequence[Array]:
        y = scattered(x, weights, output, **attributes)
        if bias:
            y = y + bias[0].astype(np.float64).reshape(-1, *[1] * len(output))
        return [y]

    return expected


def _case(
    name: str,
    x: tuple[int, ...],
    weights: tuple[int, ...],
    output: Sequence[int],
    *,
    bias: bool = False,
    dtype: str = "float32",
    begin: Sequence[int] = (),
    opset: int = 17,
    **attributes: Any,
) -> OpCase:
    """``begin`` are the pads at the start of each axis, however the node says so."""
    inputs = [OpCase.random(1, *x, dtype=dtype), OpCase.random(2, *weights, dtype=dtype)]
    if bias:
        inputs.append(OpCase.random(3, weights[1] * attributes.get("group", 1), dtype=dtype))
    known = ("group", "strides", "dilations")
    oracle = {key: attributes[key] for key in known if key in attributes}
    return OpCase(
        name,
        "ConvTranspose",
        inputs,
        attributes,
        opset,
        expected=_expected(output, pads=begin, **oracle),
    )


CASES = [
    _case("plain", (2, 3, 5, 6), (3, 4, 3, 2), (7, 7), bias=True),
    _case("opset_1", (1, 3, 5, 6), (3, 4, 3, 2), (7, 7), opset=1),
    _case("strides", (1, 3, 5, 6), (3, 4, 3, 3), (11, 18), strides=[2, 3]),
    _case("dilations", (1, 3, 5, 6), (3, 4, 3, 2), (9, 9), dilations=[2, 3]),
    _case(
        "pads",
        (1, 3, 5, 6),
        (3, 4, 3, 3),
        (9, 9),
        begin=[1, 2],
        pads=[1, 2, 1, 2],
        strides=[2, 2],
    ),
    _case("uneven_pads", (1, 3, 5, 6), (3, 4, 3, 3), (6, 6), begin=[0, 2], pads=[0, 2, 1, 0]),
    _case(
        "output_padding",
        (1, 3, 5, 6),
        (3, 4, 3, 3),
        (12, 13),
        strides=[2, 2],
        output_padding=[1, 0],
    ),
    _case(
        "output_shape",
        (1, 3, 5, 6),
        (3, 4, 3, 3),
        (9, 12),
        strides=[2, 2],
        output_shape=[9, 12],
        begin=[1, 1],
    ),
    _case(
        "same_upper",
        (1, 3, 5, 6),
        (3, 4, 3, 4),
        (10, 12),
        strides=[2, 2],
        auto_pad="SAME_UPPER",
        begin=[0, 1],
    ),
    _case(
        "same_lower",
        (1, 3, 5, 6),
        (3, 4, 3, 4),
        (10, 12),
        strides=[2, 2],
        auto_pad="SAME_LOWER",
        begin=[1, 1],
    ),
    _case("groups", (2, 6, 4, 4), (6, 2, 3, 3), (9, 9), bias=True, group=3, strides=[2, 2]),
    _case("two_blocks_a_plane", (1, 2, 9, 15), (2, 3, 2, 2), (18, 30), strides=[2, 2]),
    _case("one_axis", (2, 3, 7), (3, 5, 4), (16,), strides=[2]),
    _case("three_axes", (1, 2, 3, 4, 2), (2, 3, 2, 3, 2), (6, 9, 4), strides=[2, 2, 2]),
    _case("stride_past_kernel", (1, 2, 3, 3), (2, 3, 1, 1), (7, 7), bias=True, strides=[3, 3]),
    _case("kernel_shape_given", (1, 2, 3, 3), (2, 3, 2, 2), (4, 4), kernel_shape=[2, 2]),
    _case("float64", (1, 3, 5, 6), (3, 4, 3, 3), (7, 8), dtype="float64"),
    _case("float16", (1, 3, 5, 6), (3, 4, 3, 3), (7, 8), dtype="float16", bias=True),
    _case("bfloat16", (1, 3, 5, 6), (3, 4, 3, 3), (7, 8), dtype="bfloat16", bias=True),
]
