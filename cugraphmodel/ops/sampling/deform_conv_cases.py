"""Cases of DeformConv, with its definition in NumPy."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _interpolated(x: Array, place: Array) -> Any:
    """Of channels ``x`` [C, *size]; 0 outside."""
    below = np.floor(place).astype(int)
    total = np.zeros(len(x))
    for step in itertools.product((0, 1), repeat=len(place)):
        at = below + step
        weight = math.prod(np.where(step, place - below, 1 - (place - below)))
        if weight and (at >= 0).all() and (at < x.shape[1:]).all():
            total += weight * x[(slice(None), *at)]
    return total


def _deform_conv(
    x: Array,
    weight: Array,
    offset: Array,
    bias: Array | None = None,
    mask: Array | None = None,
    *,
    pads: list[int],
    strides: list[int],
    dilations: list[int],
    group: int = 1,
    offset_group: int = 1,
) -> list[Array]:
    x, weight, offset = (array.astype(np.float64) for array in (x, weight, offset))
    kernel, output, rank = weight.shape[2:], offset.shape[2:], x.ndim - 2
    images, channels = x.shape[:2]
    filters = len(weight)
    taps = math.prod(kernel)
    offset = offset.reshape(images, offset_group, taps, rank, *output)
    shares = np.ones((images, offset_group, taps, *output)) if mask is None else mask
    shares = shares.reshape(images, offset_group, taps, *output)
    result = np.zeros((images, filters, *output))
    for n, *at in np.ndindex(images, *output):
        columns = np.zeros((channels, taps))
        for g, (k, tap) in itertools.product(range(offset_group), enumerate(np.ndindex(*kernel))):
            place = np.array(at) * strides - pads[:rank] + np.array(tap) * dilations
            place = place + offset[(n, g, k, slice(None), *at)]
            part = slice(g * channels // offset_group, (g + 1) * channels // offset_group)
            columns[part, k] = shares[(n, g, k, *at)] * _interpolated(x[n, part], place)
        for g in range(group):
            part = slice(g * channels // group, (g + 1) * channels // group)
            rows = slice(g * filters // group, (g + 1) * filters // group)
            matrix = weight[rows].reshape(filters // group, -1)
            result[(n, rows, *at)] = matrix @ columns[part].ravel()
    if bias is not None:
        result += bias.reshape(-1, *[1] * rank)
    return [result]


def _case(
    name: str,
    x: tuple[int, ...],
    weight: tuple[int, ...],
    output: tuple[int, ...],
    *,
    bias: bool = False,
    mask: bool = False,
    dtype: str = "float32",
    opset: int = 19,
    **attributes: Any,
) -> OpCase:
    rank = len(output)
    taps = math.prod(weight[2:]) * attributes.get("offset_group", 1)
    attributes = {
        "pads": [0] * (2 * rank),
        "strides": [1] * rank,
        "dilations": [1] * rank,
        **attributes,
    }
    inputs = [
        OpCase.random(1, *x, dtype=dtype),
        OpCase.random(2, *weight, dtype=dtype),
        OpCase.random(3, x[0], taps * rank, *output, dtype=dtype),
        OpCase.random(4, weight[0], dtype=dtype) if bias else None,
        OpCase.random(5, x[0], taps, *output, dtype=dtype) if mask else None,
    ]
    return OpCase(
        name,
        "DeformConv",
        inputs,
        attributes,
        opset,
        expected=lambda *arrays: _deform_conv(*arrays, **attributes),
        rtol=2e-2 if dtype == "float16" else None,
        atol=2e-3 if dtype == "float16" else None,
    )


CASES = [
    _case("plain", (1, 3, 6, 7), (4, 3, 3, 2), (4, 6)),
    _case(
        "all",
        (2, 4, 7, 6),
        (6, 2, 3, 2),
        (4, 6),
        bias=True,
        mask=True,
        pads=[1, 0, 2, 2],
        strides=[2, 1],
        dilations=[1, 2],
        group=2,
        offset_group=2,
    ),
    _case("bias", (2, 2, 5, 5), (3, 2, 2, 2), (4, 4), bias=True),
    _case("one_output", (1, 2, 3, 3), (8, 2, 3, 3), (1, 1), mask=True),
    _case("signal", (1, 2, 9), (2, 2, 3), (9,), pads=[1, 1]),
    _case("volume", (1, 2, 3, 4, 3), (2, 2, 2, 2, 2), (2, 3, 2), mask=True, bias=True),
    _case("float64", (1, 2, 5, 5), (3, 2, 2, 2), (4, 4), dtype="float64", bias=True),
    _case("float16", (1, 2, 5, 5), (3, 2, 2, 2), (4, 4), dtype="float16", bias=True),
]
