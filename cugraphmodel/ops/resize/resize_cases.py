"""Cases of Resize and Upsample."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]

_IMAGE = OpCase.random(1, 1, 2, 4, 5)
_SPECIAL = np.array([[1, np.inf, 2, np.nan, 3]], np.float32)


def _floats(*values: float) -> Array:
    return np.array(values, np.float32)


def _by_scales(
    name: str, data: Array, scales: tuple[float, ...], opset: int = 19, **attributes: Any
) -> OpCase:
    return OpCase(name, "Resize", [data, None, _floats(*scales)], attributes, opset)


def _by_sizes(
    name: str, data: Array, sizes: tuple[int, ...], opset: int = 19, **attributes: Any
) -> OpCase:
    return OpCase(name, "Resize", [data, None, None, np.array(sizes)], attributes, opset)


def _repeated(data: Array, _scales: Array) -> list[Array]:
    return [data.repeat(2, 2).repeat(3, 3)]


def _floored(data: Array, _scales: Array) -> list[Array]:
    """Asymmetric and floor: what Resize 10 and Upsample mean by nearest."""
    return [data[:, :, [0, 1, 2]][..., [0, 1, 3]]]


def _asymmetric_linear(data: Array, _scales: Array) -> list[Array]:
    """Twice as many columns, the second of each pair half way to the next, the last at the edge."""
    following = np.concatenate([data[..., 1:], data[..., -1:]], -1)
    return [np.stack([data, (data + following) / 2], -1).reshape(*data.shape[:-1], -1)]


def _special_doubled(_data: Array, _scales: Array) -> list[Array]:
    """At a sample the next one weighs nothing, not 0 * Inf."""
    return [np.array([[1, np.inf, np.inf, np.inf, 2, np.nan, np.nan, np.nan, 3, 3]])]


def _rows_thrice(data: Array, *_rest: Array | None) -> list[Array]:
    return [data.repeat(3, 2)]


def _ends(data: Array, *_rest: Array | None) -> list[Array]:
    return [data[..., [0, -1]]]


def _first(data: Array, *_rest: Array | None) -> list[Array]:
    return [data[..., :1]]


_NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_COORDINATES = ("half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric")

CASES = [
    OpCase(
        "attribute",
        "Upsample",
        [_IMAGE],
        {"scales": [1.0, 1.0, 2.0, 3.0]},
        7,
        expected=lambda data: _repeated(data, data),
    ),
    OpCase("input", "Upsample", [_IMAGE, _floats(1, 1, 2, 3)], {}, 9, expected=_repeated),
    OpCase(
        "linear",
        "Upsample",
        [_IMAGE, _floats(1, 1, 1, 2)],
        {"mode": "linear"},
        9,
        expected=_asymmetric_linear,
    ),
    OpCase("nearest", "Resize", [_IMAGE, _floats(1, 1, 0.75, 0.6)], {}, 10, expected=_floored),
    OpCase(
        "linear",
        "Resize",
        [_IMAGE, _floats(1, 1, 1, 2)],
        {"mode": "linear"},
        10,
        expected=_asymmetric_linear,
    ),
    _by_scales("nearest_up", _IMAGE, (1, 1, 2, 3), 11),
    _by_scales("nearest_down", _IMAGE, (1, 1, 0.6, 0.8), 13),
    *(
        _by_sizes(f"nearest_{rounding}", _IMAGE, (1, 2, 7, 3), nearest_mode=rounding)
        for rounding in _NEAREST
    ),
    *(
        _by_sizes(
            f"nearest_{mode}_{rounding}",
            _IMAGE,
            (1, 2, 8, 9),
            coordinate_transformation_mode=mode,
            nearest_mode=rounding,
        )
        for mode in _COORDINATES
        for rounding in _NEAREST
    ),
    *(
        _by_sizes(
            f"{mode}_{coordinates}_{direction}",
            _IMAGE,
            sizes,
            mode=mode,
            coordinate_transformation_mode=coordinates,
        )
        for mode in ("linear", "cubic")
        for coordinates in (*_COORDINATES, "pytorch_half_pixel")
        for direction, sizes in (("up", (1, 2, 7, 12)), ("down", (1, 2, 3, 2)))
    ),
    *(
        _by_sizes(
            f"{mode}_antialias_{excluded}",
            OpCase.random(2, 1, 1, 9, 14),
            (1, 1, 4, 3),
            mode=mode,
            antialias=1,
            exclude_outside=excluded,
        )
        for mode in ("linear", "cubic")
        for excluded in (0, 1)
    ),
    _by_scales("fractional_linear", _IMAGE, (1, 1, 1.6, 2.3), 13, mode="linear"),
    _by_scales("channels_too", _IMAGE, (1, 2, 2, 0.5), mode="linear"),
    _by_scales(
        "cubic_a", _IMAGE, (1, 1, 2, 2), mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1
    ),
    OpCase(
        "align_corners_by_fractional_scale",
        "Resize",
        [_IMAGE, None, _floats(1, 1, 1, 0.5)],
        {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
        expected=_ends,
    ),
    _by_scales("rank_1", OpCase.random(3, 10), (2.5,), mode="linear"),
    _by_scales("identity", _IMAGE, (1, 1, 1, 1), mode="linear"),
    _by_scales("to_empty", _IMAGE, (1, 1, 0.1, 1)),
    OpCase(
        "crop_linear",
        "Resize",
        [_IMAGE, _floats(0, 0, 0.4, -0.2, 1, 1, 0.6, 1.1), None, np.array([1, 2, 3, 4])],
        {
            "mode": "linear",
            "coordinate_transformation_mode": "tf_crop_and_resize",
            "extrapolation_value": 10.0,
        },
        13,
    ),
    OpCase(
        "crop_nearest",
        "Resize",
        [_IMAGE, _floats(0, 0, 0.4, -0.2, 1, 1, 0.6, 1.1), None, np.array([1, 2, 3, 4])],
        {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 10.0},
        13,
    ),
    OpCase(
        "pytorch_half_pixel_to_one",
        "Resize",
        [_IMAGE, None, None, np.array([1, 2, 4, 1])],
        {"coordinate_transformation_mode": "pytorch_half_pixel", "mode": "linear"},
        expected=_first,
    ),
    *(
        _by_sizes(
            f"keep_aspect_{policy}", _IMAGE, (7, 9), axes=[2, 3], keep_aspect_ratio_policy=policy
        )
        for policy in ("not_larger", "not_smaller", "stretch")
    ),
    _by_sizes("axes", _IMAGE, (9, 3), 18, axes=[0, 2], mode="linear"),
    OpCase(
        "zero_weight_on_inf",
        "Upsample",
        [_SPECIAL, _floats(1, 2)],
        {"mode": "linear"},
        9,
        expected=_special_doubled,
    ),
    _by_scales("uint8_nearest", (_IMAGE * 50 + 100).astype(np.uint8), (1, 1, 2, 0.8)),
    _by_scales("uint8_linear", (_IMAGE * 50 + 100).astype(np.uint8), (1, 1, 2, 2), mode="linear"),
    _by_scales("int32_cubic", (_IMAGE * 1000).astype(np.int32), (1, 1, 2, 2), mode="cubic"),
    _by_scales("float16_linear", _IMAGE.astype(np.float16), (1, 1, 2, 2), mode="linear"),
    _by_scales("bfloat16_linear", _IMAGE.astype("bfloat16"), (1, 1, 2, 2), mode="linear"),
    _by_scales("float64_cubic", _IMAGE.astype(np.float64), (1, 1, 2, 2), mode="cubic"),
    OpCase(
        "bool_nearest", "Resize", [_IMAGE > 0, None, _floats(1, 1, 3, 1)], expected=_rows_thrice
    ),
]
