"""Cases of SqueezeExcite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "cg_act_none": lambda x: x,
    "cg_act_relu": lambda x: np.maximum(x, 0),
    "cg_act_swish": lambda x: x * _sigmoid(0.25 * x),
    "cg_act_sigmoid": _sigmoid,
    "cg_act_hard_sigmoid": lambda x: np.clip(0.25 * x + 0.75, 0, 1),
}
"""With the parameters 0.25 and 0.75."""
LARGE = (2, 31, 26, 40)
"""Images that one block alone would read too slowly."""


def _case(
    name: str,
    x: Array | tuple[int, ...],
    squeezed: int,
    scales: int | None = None,
    squeeze: str = "cg_act_relu",
    excite: str = "cg_act_sigmoid",
    biases: tuple[bool, bool] = (True, True),
    dtype: str = "float32",
    keepdims: int = 1,
) -> OpCase:
    """``x``: data or its shape, [N, *spatial, C]; as many scales as channels if they are None."""
    data = OpCase.random(1, *x, dtype=dtype) if isinstance(x, tuple) else x
    ones = (1,) * (data.ndim - 2)
    channels = data.shape[-1]
    rows = channels if scales is None else scales
    # Means of few positions are large, those of many small; so that the activations see both signs.
    spread = np.sqrt(np.prod(data.shape[1:-1]) / channels)
    first = (spread * OpCase.random(2, squeezed, *ones, channels)).astype(dtype)
    second = (OpCase.random(3, rows, *ones, squeezed) / np.sqrt(squeezed)).astype(dtype)
    first_bias = OpCase.random(4, squeezed, dtype=dtype) if biases[0] else None
    second_bias = OpCase.random(5, rows, dtype=dtype) if biases[1] else None

    def expected(
        x: Array, w1: Array, b1: Array | None, w2: Array, b2: Array | None
    ) -> Sequence[Array]:
        wide = np.float64 if dtype != "float64" else np.longdouble
        mean = x.astype(wide).mean(axis=tuple(range(1, x.ndim - 1)))
        hidden = mean @ w1.reshape(squeezed, channels).T.astype(wide)
        hidden = ACTIVATIONS[squeeze](hidden + (0 if b1 is None else b1.astype(wide)))
        scale = hidden @ w2.reshape(rows, squeezed).T.astype(wide)
        scale = ACTIVATIONS[excite](scale + (0 if b2 is None else b2.astype(wide)))
        return [scale.reshape(len(x), *ones, rows) if keepdims else scale]

    return OpCase(
        name,
        "SqueezeExcite",
        [data, first, first_bias, second, second_bias],
        {
            "squeeze_activation": squeeze,
            "squeeze_activation_alpha": 0.25,
            "squeeze_activation_beta": 0.75,
            "excite_activation": excite,
            "excite_activation_alpha": 0.25,
            "excite_activation_beta": 0.75,
            "keepdims": keepdims,
        },
        opset=1,
        domain="cugraphmodel",
        expected=expected,
    )


def _with(shape: tuple[int, ...], **places: float) -> Array:
    """Random data, with a number in the last place of the tensor or of the first position."""
    data = OpCase.random(6, *shape)
    if "last" in places:
        data[-1, -1, -1, -1] = places["last"]
    if "first" in places:
        data[0, 0, 0, -1] = places["first"]
    return data


SMALL = [
    _case("one_group", (1, 7, 7, 32), 8),
    _case("swish", (1, 9, 8, 96), 4, squeeze="cg_act_swish"),
    _case("hard_sigmoid", (2, 7, 5, 40), 12, excite="cg_act_hard_sigmoid"),
    _case("plain", (2, 7, 5, 40), 12, squeeze="cg_act_none", excite="cg_act_none"),
    _case("many_images", (37, 3, 3, 68), 6),
    _case("few_rows", (2, 3, 5, 516), 9, scales=20),
    _case("one_row", (2, 1, 5, 2048), 3, scales=5),
    _case("single_elements", (2, 5, 3, 511), 9, scales=20),
    _case("odd_sizes", (2, 5, 7, 33), 7),
    _case("one_channel", (3, 6, 6, 1), 1),
    _case("one_position", (2, 1, 1, 24), 6),
    _case("wide", (1, 3, 5, 20), 256, scales=20, squeeze="cg_act_swish"),
    _case("other_scales", (2, 5, 5, 20), 9, scales=45),
    _case("no_bias", (2, 4, 5, 16), 4, biases=(False, False)),
    _case("first_bias", (2, 4, 5, 16), 4, biases=(True, False)),
    _case("second_bias", (2, 4, 5, 16), 4, biases=(False, True)),
    _case("dropped_axes", (2, 4, 5, 16), 4, keepdims=0),
    _case("one_axis", (2, 41, 16), 4),
    _case("three_axes", (2, 3, 4, 5, 16), 4),
    *(
        _case(f"{dtype}_{name}", shape, 12, dtype=dtype)
        for dtype in ("float16", "bfloat16")
        for name, shape in (("vectors", (2, 9, 9, 40)), ("scalars", (2, 9, 9, 39)))
    ),
    _case("not_a_number", _with((2, 5, 5, 40), last=np.nan), 8),
    _case("infinite", _with((2, 5, 5, 40), last=np.inf, first=-np.inf), 8),
    _case("no_images", (0, 5, 5, 40), 8),
]
"""Each image is made by one block."""

SHARED = [
    _case("many_positions", (1, 61, 67, 36), 5),
    _case("many_groups", (1, 7, 7, 1152), 48),
    _case("large_images", (67, 29, 14, 36), 6),
    _case("large_plain", LARGE, 12, squeeze="cg_act_none", excite="cg_act_none"),
    _case("large_swish", LARGE, 4, squeeze="cg_act_swish", excite="cg_act_hard_sigmoid"),
    _case("large_odd_sizes", (2, 37, 19, 33), 7),
    _case("large_one_channel", (2, 113, 117, 1), 1),
    _case("large_one_position", (2, 1, 1, 700), 28),
    _case("widest", (1, 3, 5, 64), 256, scales=20, squeeze="cg_act_swish"),
    _case("large_other_scales", LARGE, 9, scales=45),
    _case("large_no_bias", LARGE, 4, biases=(False, False)),
    _case("large_first_bias", LARGE, 4, biases=(True, False)),
    _case("large_second_bias", LARGE, 4, biases=(False, True)),
    _case("large_dropped_axes", LARGE, 4, keepdims=0),
    *(
        _case(f"{dtype}_large_{name}", shape, 12, dtype=dtype)
        for dtype in ("float16", "bfloat16", "float64")
        for name, shape in (("vectors", (2, 33, 31, 40)), ("scalars", (2, 33, 31, 39)))
    ),
    _case("far_from_zero", OpCase.random(7, 1, 40, 50, 8) + np.float32(1000), 8),
    _case("large_not_a_number", _with(LARGE, last=np.nan), 8),
    _case("large_infinite", _with(LARGE, last=np.inf, first=-np.inf), 8),
]
"""Blocks share the images."""

CASES = [*SMALL, *SHARED]
