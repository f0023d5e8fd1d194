"""Cases of the channels-last convolutions: those of Conv with the axes moved, and their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.conv.conv_cases import GROUPED, PLAIN, SAME, SPECIAL, convolve

__all__ = ["CASES"]

Array = npt.NDArray[Any]
Form = tuple[str, Callable[[Array], Array], Callable[[Array], Array]]


def _last(array: Array) -> Array:
    """Axis 1 behind all others."""
    return np.ascontiguousarray(np.moveaxis(array, 1, -1))


def _taps_first(weights: Array) -> Array:
    """[M, C / group, *kernel] as [*kernel, C / group, M]."""
    return np.ascontiguousarray(np.moveaxis(weights, (0, 1), (-1, -2)))


TILED: Form = ("ChannelsLastConv", _last, _last)
DIRECT: Form = ("ChannelsLastDirectConv", _last, _taps_first)
STEM: Form = ("StemConv", lambda x: x, lambda weights: weights)
"""Operator, and how it wants input and weights of a Conv."""


def _form_of(case: OpCase, form: Form) -> OpCase:
    """A case of Conv as one of another operator, whose output is channels-last."""
    op_type, moved_input, moved_weights = form
    x, weights, *bias = case.inputs
    assert x is not None
    assert weights is not None

    def expected(*_inputs: Array) -> Sequence[Array]:
        assert case.expected is not None
        return [_last(y) for y in case.expected(*case.inputs)]

    attributes = {name: value for name, value in case.attributes.items() if name != "kernel_shape"}
    return OpCase(
        case.name,
        op_type,
        [moved_input(x), moved_weights(weights), *bias],
        attributes,
        opset=1,
        domain="cugraphmodel",
        expected=expected,
    )


def _finished_case(
    name: str,
    form: Form,
    x: tuple[int, ...],
    weights: tuple[int, ...],
    activation: str = "cg_act_none",
    exact: Callable[[Array], Array] = lambda y: y,
    bias: bool = True,
    residual: bool = True,
    dtype: str = "float32",
    **attributes: Any,
) -> OpCase:
    """Shapes as of a Conv; ``exact`` is the activation."""
    planes = OpCase.random(1, *x, dtype=dtype)
    filters = OpCase.random(2, *weights, dtype=dtype)
    total = _last(convolve(planes, filters, **attributes))
    terms = [
        OpCase.random(3, weights[0], dtype=dtype) if bias else None,
        OpCase.random(4, *total.shape, dtype=dtype) if residual else None,
    ]

    def expected(*_inputs: Array) -> Sequence[Array]:
        return [exact(total + sum(term.astype(np.float64) for term in terms if term is not None))]

    op_type, moved_input, moved_weights = form
    return OpCase(
        name,
        op_type,
        [moved_input(planes), moved_weights(filters), *terms],
        {
            **attributes,
            "activation": activation,
            "activation_alpha": 0.25,
            "activation_beta": 0.75,
        },
        opset=1,
        domain="cugraphmodel",
        expected=expected,
    )


def _clip(y: Array) -> Array:
    return np.clip(y, 0.25, 0.75)


def _relu(y: Array) -> Array:
    return np.maximum(y, 0)


FINISHED = [
    _finished_case("relu", TILED, (2, 8, 5, 6), (12, 8, 3, 3), "cg_act_relu", _relu, pads=[1] * 4),
    _finished_case("clip_pointwise", TILED, (2, 8, 5, 6), (12, 8, 1, 1), "cg_act_clip", _clip),
    _finished_case("pointwise_few_positions", TILED, (3, 8, 1, 1), (12, 8, 1, 1), residual=False),
    _finished_case("no_bias", TILED, (1, 20, 9, 7), (70, 20, 3, 2), bias=False),
    _finished_case("few_filters", TILED, (1, 12, 9, 9), (3, 12, 3, 3), residual=False),
    _finished_case("two_axes_of_groups", TILED, (2, 16, 6, 5), (24, 4, 3, 3), group=4),
    _finished_case("many_positions", TILED, (1, 4, 96, 90), (65, 4, 2, 2), strides=[1, 1]),
    _finished_case("float16_residual", TILED, (1, 8, 5, 6), (12, 8, 3, 3), dtype="float16"),
    _finished_case("float64_residual", TILED, (1, 8, 5, 6), (12, 8, 3, 3), dtype="float64"),
    _finished_case(
        "relu", DIRECT, (2, 8, 5, 6), (8, 1, 3, 3), "cg_act_relu", _relu, group=8, pads=[1] * 4
    ),
    _finished_case("odd_channels", DIRECT, (2, 7, 5, 6), (7, 1, 3, 3), group=7, bias=False),
    _finished_case("four_filters", DIRECT, (2, 12, 5, 6), (16, 3, 3, 3), group=4, dilations=[1, 2]),
    _finished_case("two_filters", DIRECT, (1, 6, 5, 6), (4, 3, 2, 2), group=2, residual=False),
    _finished_case(
        "float16_residual", DIRECT, (1, 8, 5, 6), (8, 1, 3, 3), group=8, dtype="float16"
    ),
    _finished_case(
        "float64_residual", DIRECT, (1, 8, 5, 6), (8, 1, 3, 3), group=8, dtype="float64"
    ),
    _finished_case("relu", STEM, (2, 3, 9, 8), (20, 3, 3, 3), "cg_act_relu", _relu, residual=False),
]

CASES = [
    *(_form_of(case, TILED) for case in (*PLAIN, *GROUPED, *SAME, *SPECIAL)),
    *(_form_of(case, DIRECT) for case in (*GROUPED, SPECIAL[1])),
    *(_form_of(case, STEM) for case in PLAIN if case.name != "no_images"),
    *FINISHED,
]
