"""Cases of GridSample, with its definition in NumPy."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import BFLOAT16
from cugraphmodel.ops.case import OpCase

__all__ = ["CASES", "grid_sampled"]

Array = npt.NDArray[Any]


def _cubic(t: float) -> float:
    a, t = -0.75, abs(t)
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0.0


def _reflected(index: int, size: int, align_corners: bool) -> int:
    """An index reflected at the centres of the first and last element, or at their outer edges."""
    back = range(size - 2, 0, -1) if align_corners else range(size - 1, -1, -1)
    period = [*range(size), *back]
    return int(period[index % len(period)])


def _taps(
    location: Any, size: int, mode: str, padding: str, align_corners: bool
) -> list[tuple[int, float]]:
    """Elements along one axis, and their weights."""
    if mode != "nearest":
        location = float(location)
    last = size - 1
    x = (location + 1) / 2 * last if align_corners else ((location + 1) * size - 1) / 2
    if mode == "nearest":
        x = np.rint(x)
    if padding == "border":
        x = min(max(x, -8), last + 8)  # all taps lie beyond the border
    if np.isinf(x):
        return []
    first = math.floor(x)
    if mode == "nearest":
        taps = [(first, 1.0)]
    elif mode == "linear":
        taps = [(first, 1 - (x - first)), (first + 1, x - first)]
    else:
        taps = [(first + t, _cubic(x - first - t)) for t in (-1, 0, 1, 2)]
    if padding == "zeros":
        return [(index, weight) for index, weight in taps if 0 <= index < size]
    if padding == "border":
        return [(min(max(index, 0), last), weight) for index, weight in taps]
    return [(_reflected(index, size, align_corners), weight) for index, weight in taps]


def grid_sampled(
    x: Array, grid: Array, mode: str = "linear", padding: str = "zeros", align_corners: int = 0
) -> Array:
    """``x`` [N, C, *size] at the locations of ``grid`` [N, *output, rank], in float64."""
    output = grid.shape[1:-1]
    x = np.asarray(x, x.dtype if mode == "nearest" else np.float64)
    result = np.zeros((*x.shape[:2], *output), x.dtype)
    for n, *at in np.ndindex(x.shape[0], *output):
        location = grid[(n, *at)][::-1]
        if np.isnan(location).any():
            result[(n, slice(None), *at)] = np.nan
            continue
        axes = [
            _taps(place, size, mode, padding, bool(align_corners))
            for place, size in zip(location, x.shape[2:], strict=True)
        ]
        total = np.zeros(x.shape[1], result.dtype)
        for taps in itertools.product(*axes):
            weight = math.prod(w for _, w in taps)
            if weight:
                element = x[(n, slice(None), *(index for index, _ in taps))]
                total += element if mode == "nearest" else weight * element
        result[(n, slice(None), *at)] = total
    return result


def _grid(seed: int, *shape: int, dtype: str = "float32") -> Array:
    """Locations of which a third lie outside, some of them far."""
    generator = np.random.default_rng(seed)
    return np.asarray(generator.uniform(-1, 1, shape) * generator.choice([1, 1.2, 4], shape), dtype)


def _case(
    name: str,
    x: Array,
    grid: Array,
    mode: str = "linear",
    padding: str = "zeros",
    align: int = 0,
    opset: int = 20,
) -> OpCase:
    spelled = mode if opset >= 20 else {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    return OpCase(
        name,
        "GridSample",
        [x, grid],
        {"mode": spelled, "padding_mode": padding, "align_corners": align},
        opset,
        expected=lambda x, grid: [grid_sampled(x, grid, mode, padding, align)],
    )


_IMAGE = OpCase.random(1, 2, 3, 5, 7)
_GRID = _grid(2, 2, 4, 6, 2)
_SPECIAL = np.array([[[[1, np.inf, 2, np.nan, 3]]]], np.float32)
_PLACES = np.array([[[[-1, 0], [0, 0], [-0.5, 0], [np.nan, 0], [np.inf, 0]]]], np.float32)
_LARGE = np.array([[[[2**62 + 1, -5], [7, 2**53 + 1]]]], np.int64)
_CORNERS = np.array([[[[-0.9, -0.9], [0.9, -0.9]], [[-0.9, 0.9], [3, 3]]]], np.float32)

CASES = [
    *(
        _case(f"{mode}_{padding}_{align}", _IMAGE, _GRID, mode, padding, align)
        for mode in ("nearest", "linear", "cubic")
        for padding in ("zeros", "border", "reflection")
        for align in (0, 1)
    ),
    _case("bicubic", _IMAGE, _GRID, "cubic", "border", opset=16),
    _case("bilinear", _IMAGE, _GRID, opset=16),
    *(
        _case(f"volume_{mode}", OpCase.random(3, 1, 2, 3, 4, 2), _grid(4, 1, 2, 2, 3, 3), *how)
        for mode, how in {
            "nearest": ("nearest", "border", 0),
            "linear": ("linear", "reflection", 1),
            "cubic": ("cubic", "zeros", 0),
        }.items()
    ),
    _case("signal", OpCase.random(5, 2, 3, 9), _grid(6, 2, 300, 1), "linear", "border"),
    _case("four_axes", OpCase.random(7, 1, 2, 2, 3, 2, 3), _grid(8, 1, 1, 2, 2, 1, 4)),
    _case(
        "one_element",
        OpCase.random(9, 1, 1, 1, 1),
        _grid(10, 1, 2, 2, 2),
        "linear",
        "reflection",
        1,
    ),
    _case(
        "two_elements",
        OpCase.random(9, 1, 1, 2, 2),
        _grid(11, 1, 4, 4, 2),
        "cubic",
        "reflection",
        0,
    ),
    _case("many_channels", OpCase.random(12, 1, 300, 2, 3), _grid(13, 1, 2, 3, 2)),
    _case("special_values", _SPECIAL, _PLACES, "linear", "zeros", 1),
    _case("int64_nearest", _LARGE, _CORNERS, "nearest", "reflection"),
    _case("uint8_linear", np.full((1, 1, 3, 3), 200, np.uint8), _CORNERS, "linear", "border"),
    _case("bool_nearest", np.array([[[[True, False], [False, True]]]]), _CORNERS, "nearest"),
    _case("float16", _IMAGE.astype(np.float16), _GRID.astype(np.float16), "linear", "border"),
    _case(
        "bfloat16", _IMAGE.astype(BFLOAT16), _GRID.astype(BFLOAT16), "linear", "border", opset=22
    ),
    _case("float16_image", _IMAGE.astype(np.float16), _GRID, "cubic", "reflection"),
    _case("float64", _IMAGE.astype(np.float64), _GRID.astype(np.float64), "cubic", "border", 1),
    _case("empty", np.zeros((0, 2, 3, 3), np.float32), np.zeros((0, 2, 2, 2), np.float32)),
]
