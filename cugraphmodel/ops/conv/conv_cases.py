"""Cases of Conv and its fused form."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

Array = npt.NDArray[Any]


def convolve(
    x: Array,
    weights: Array,
    *,
    group: int = 1,
    strides: Sequence[int] = (),
    dilations: Sequence[int] = (),
    pads: Sequence[int] = (),
) -> Array:
    """A convolution in float64, straight from its definition."""
    rank = x.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    pads = pads or [0] * (2 * rank)
    before_after = [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)]
    padded = np.pad(x.astype(np.float64), before_after)
    extent = [d * (k - 1) + 1 for d, k in zip(dilations, weights.shape[2:], strict=True)]
    axes = tuple(range(2, 2 + rank))
    windows = np.lib.stride_tricks.sliding_window_view(padded, extent, axis=axes)
    steps = [slice(None, None, step) for step in (1, 1, *strides, *dilations)]
    stepped = windows[tuple(steps)]
    per_group = weights.shape[0] // group, weights.shape[1]
    results = []
    for g in range(group):
        inputs = stepped[:, g * per_group[1] : (g + 1) * per_group[1]]
        filters = weights[g * per_group[0] : (g + 1) * per_group[0]].astype(np.float64)
        taps = range(2 + rank, 2 + 2 * rank)
        product = np.tensordot(inputs, filters, ([1, *taps], [1, *axes]))
        results.append(np.moveaxis(product, -1, 1))
    return np.concatenate(results, axis=1)


def expected_conv(
    activation: Callable[[Array], Array] = lambda y: y, **attributes: Any
) -> Callable[..., Sequence[Array]]:
    """The oracle of one case."""

    def expected(
        x: Array, weights: Array, bias: Array | None = None, residual: Array | None = None
    ) -> Sequence[Array]:
        y = convolve(x, weights, **attributes)
        if bias is not None:
            y = y + bias.astype(np.float64).reshape(-1, *[1] * (x.ndim - 2))
        return [activation(y if residual is None else y + residual)]

    return expected


def _case(
    name: str,
    x: tuple[int, ...],
    weights: tuple[int, ...],
    bias: bool = False,
    dtype: str = "float32",
    opset: int = 17,
    exact: dict[str, Any] | None = None,
    **attributes: Any,
) -> OpCase:
    """``exact`` are the attributes for the oracle, where it cannot take the node's own."""
    inputs = [OpCase.random(1, *x, dtype=dtype), OpCase.random(2, *weights, dtype=dtype)]
    if bias:
        inputs.append(OpCase.random(3, weights[0], dtype=dtype))
    oracle = attributes if exact is None else exact
    return OpCase(
        name,
        "Conv",
        inputs,
        attributes,
        opset,
        expected=expected_conv(**oracle),
    )


PLAIN = [
    _case("one_element", (1, 1, 1, 1), (1, 1, 1, 1)),
    _case("pointwise", (2, 20, 7, 9), (40, 20, 1, 1), True),
    _case("three_by_three", (2, 3, 12, 11), (18, 3, 3, 3), True, pads=[1, 1, 1, 1]),
    _case("no_padding", (1, 5, 8, 9), (17, 5, 3, 3)),
    _case("uneven_padding", (1, 3, 8, 9), (4, 3, 3, 2), pads=[0, 2, 1, 0]),
    _case("wide_padding", (1, 2, 3, 3), (3, 2, 3, 3), pads=[4, 5, 3, 6]),
    _case("strides", (2, 3, 15, 14), (20, 3, 3, 3), strides=[2, 3], pads=[1, 1, 1, 1]),
    _case("stride_past_kernel", (1, 3, 15, 14), (5, 3, 1, 1), strides=[2, 2]),
    _case("stride_into_end_padding", (1, 3, 2), (4, 3, 1), strides=[2], pads=[0, 1]),
    _case("one_row_of_padding", (1, 3, 1, 5), (4, 3, 1, 3), strides=[2, 1], pads=[1, 0, 0, 0]),
    _case("dilations", (1, 4, 15, 16), (6, 4, 3, 3), dilations=[2, 3], pads=[2, 2, 1, 3]),
    _case("large_kernel", (1, 3, 30, 31), (16, 3, 7, 7), True, strides=[2, 2], pads=[3, 3, 3, 3]),
    _case("kernel_is_input", (2, 6, 5, 4), (10, 6, 5, 4), True),
    _case("deep", (1, 70, 6, 6), (33, 70, 3, 3), pads=[1, 1, 1, 1]),
    _case("many_tiles", (2, 4, 60, 60), (130, 4, 1, 1), True),
    _case("image_ends_inside_tile", (5, 3, 5, 5), (33, 3, 2, 2), True),
    _case("one_axis", (2, 6, 40), (9, 6, 5), True, strides=[2], pads=[2, 1]),
    _case("one_axis_dilated", (2, 6, 40), (20, 6, 3), dilations=[4]),
    _case("three_axes", (2, 3, 6, 7, 8), (5, 3, 3, 2, 3), True, pads=[1, 0, 1, 1, 1, 0]),
    _case("three_axes_strided", (1, 4, 9, 7, 8), (20, 4, 3, 3, 3), strides=[2, 1, 3]),
    _case("three_axes_dilated", (1, 2, 9, 8, 7), (20, 2, 3, 2, 2), dilations=[3, 2, 4]),
    _case("float64", (1, 3, 9, 8), (20, 3, 3, 3), True, "float64", pads=[1, 1, 1, 1]),
    _case("float16", (1, 3, 9, 8), (20, 3, 3, 3), True, "float16", pads=[1, 1, 1, 1]),
    _case("bfloat16", (1, 3, 9, 8), (20, 3, 3, 3), True, "bfloat16", pads=[1, 1, 1, 1]),
    _case("no_images", (0, 3, 9, 8), (4, 3, 3, 3)),
    _case("no_channels", (1, 0, 5, 5), (3, 0, 3, 3), True),
    _case("kernel_shape_given", (1, 3, 9, 8), (4, 3, 3, 2), exact={}, kernel_shape=[3, 2]),
    _case("opset_1", (1, 3, 9, 8), (4, 3, 3, 2), True, opset=1),
]

GROUPED = [
    _case("depthwise", (2, 24, 9, 10), (24, 1, 3, 3), True, group=24, pads=[1, 1, 1, 1]),
    _case("depthwise_strided", (1, 8, 9, 10), (8, 1, 5, 5), group=8, strides=[2, 2]),
    _case("depthwise_doubled", (1, 5, 9, 10), (10, 1, 3, 3), group=5, dilations=[2, 1]),
    _case("depthwise_one_axis", (2, 5, 30), (5, 1, 4), group=5),
    _case("depthwise_three_axes", (1, 4, 5, 6, 7), (4, 1, 3, 3, 3), group=4, pads=[1] * 6),
    _case("depthwise_large", (1, 3, 40, 41), (3, 1, 3, 3), group=3),
    _case("depthwise_float16", (1, 3, 9, 9), (3, 1, 3, 3), True, "float16", group=3),
    _case("depthwise_bfloat16", (1, 3, 9, 9), (3, 1, 3, 3), True, "bfloat16", group=3),
    _case("two_groups", (2, 10, 9, 10), (40, 5, 3, 3), True, group=2, pads=[1, 1, 1, 1]),
    _case("small_groups", (1, 12, 7, 7), (12, 3, 3, 3), True, group=4),
    _case("groups_of_five", (1, 6, 7, 7), (15, 2, 1, 1), True, group=3),
]

SAME = [
    _case(
        "same_upper_even_kernel",
        (1, 2, 7, 8),
        (3, 2, 2, 4),
        exact={"pads": [0, 1, 1, 2]},
        auto_pad="SAME_UPPER",
    ),
    _case(
        "same_lower_even_kernel",
        (1, 2, 7, 8),
        (3, 2, 2, 4),
        exact={"pads": [1, 2, 0, 1]},
        auto_pad="SAME_LOWER",
    ),
    _case(
        "same_upper_strided",
        (1, 2, 7, 8),
        (3, 2, 3, 3),
        exact={"pads": [1, 0, 1, 1], "strides": [2, 2]},
        auto_pad="SAME_UPPER",
        strides=[2, 2],
    ),
    _case(
        "same_lower_dilated",
        (1, 2, 7, 8),
        (3, 2, 3, 2),
        exact={"pads": [2, 2, 2, 1], "dilations": [2, 3]},
        auto_pad="SAME_LOWER",
        dilations=[2, 3],
    ),
    _case(
        "same_stride_past_kernel",
        (1, 2, 7, 8),
        (3, 2, 1, 1),
        exact={"strides": [3, 3]},
        auto_pad="SAME_UPPER",
        strides=[3, 3],
    ),
    _case("valid", (1, 2, 7, 8), (3, 2, 3, 3), exact={}, auto_pad="VALID"),
    _case("notset", (1, 2, 7, 8), (3, 2, 3, 3), exact={}, auto_pad="NOTSET"),
]


def _infinite_weight(name: str, group: int) -> OpCase:
    """Padding is zeros, so an infinite weight over it gives NaN."""
    weights = OpCase.random(2, 6, 6 // group, 3, 3)
    weights[1, 0, 0, 1] = np.inf
    x = OpCase.random(1, 1, 6, 5, 5)
    x[0, 3, 4, 4] = np.nan
    exact = expected_conv(group=group, pads=[1] * 4)
    attributes = {"group": group, "pads": [1] * 4}
    return OpCase(name, "Conv", [x, weights], attributes, expected=exact)


SPECIAL = [_infinite_weight("special_values", 1), _infinite_weight("special_values_depthwise", 6)]


def _fused_case(name: str, activation: str, exact: Callable[[Array], Array], group: int) -> OpCase:
    inputs = [
        OpCase.random(1, 1, 4, 9, 8),
        OpCase.random(2, 8, 4 // group, 3, 3),
        OpCase.random(3, 8),
    ]
    return OpCase(
        f"{name}_{group}",
        "FusedConv",
        inputs,
        {
            "group": group,
            "activation": activation,
            "activation_alpha": 0.25,
            "activation_beta": 0.75,
        },
        opset=1,
        domain="cugraphmodel",
        expected=expected_conv(exact, group=group),
    )


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda y: np.maximum(y, 0),
    "leaky_relu": lambda y: np.where(y < 0, 0.25 * y, y),
    "clip": lambda y: np.clip(y, 0.25, 0.75),
    "sigmoid": lambda y: 1 / (1 + np.exp(-y)),
    "tanh": np.tanh,
    "hard_sigmoid": lambda y: np.clip(0.25 * y + 0.75, 0, 1),
    "hard_swish": lambda y: y * np.clip(y / 6 + 0.5, 0, 1),
}
FUSED = [
    _fused_case(name, f"cg_act_{name}", exact, group)
    for (name, exact), group in itertools.product(ACTIVATIONS.items(), (1, 4))
]


def _residual_case(
    name: str,
    x: tuple[int, ...],
    weights: tuple[int, ...],
    dtype: str = "float32",
    *,
    has_bias: bool = True,
    group: int = 1,
) -> OpCase:
    exact = expected_conv(lambda y: np.maximum(y, 0), group=group)
    shape = np.shape(convolve(np.zeros(x), np.zeros(weights), group=group))
    inputs = [
        OpCase.random(1, *x, dtype=dtype),
        OpCase.random(2, *weights, dtype=dtype),
        OpCase.random(3, weights[0], dtype=dtype) if has_bias else None,
        OpCase.random(4, *shape, dtype=dtype),
    ]
    attributes = {"group": group, "activation": "cg_act_relu"}
    return OpCase(
        name, "FusedConv", inputs, attributes, opset=1, domain="cugraphmodel", expected=exact
    )


RESIDUAL = [
    _residual_case("residual", (2, 4, 9, 8), (6, 4, 3, 3)),
    _residual_case("residual_no_bias", (2, 4, 9, 8), (6, 4, 3, 3), has_bias=False),
    _residual_case("residual_large", (3, 3, 40, 37), (70, 3, 2, 2)),
    _residual_case("residual_groups", (2, 10, 9, 8), (20, 5, 3, 3), group=2),
    _residual_case("residual_depthwise", (2, 4, 9, 8), (8, 1, 3, 3), group=4),
    _residual_case("residual_pointwise", (2, 8, 5, 7), (9, 8, 1, 1)),
    _residual_case("residual_pointwise_few_filters", (2, 8, 5, 7), (3, 8, 1, 1)),
    _residual_case("residual_pointwise_one_position", (2, 8, 1, 1), (9, 8, 1, 1)),
    _residual_case("residual_float16", (2, 4, 9, 8), (6, 4, 3, 3), "float16"),
    _residual_case("residual_depthwise_float16", (2, 4, 9, 8), (8, 1, 3, 3), "float16", group=4),
    _residual_case("residual_float64", (2, 4, 9, 8), (6, 4, 3, 3), "float64"),
]

CASES = [*PLAIN, *GROUPED, *SAME, *SPECIAL, *FUSED, *RESIDUAL]
