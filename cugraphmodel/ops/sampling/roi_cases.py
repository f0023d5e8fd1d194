"""Cases of RoiAlign and MaxRoiPool, with their definitions in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import BFLOAT16
from cugraphmodel.ops.case import OpCase

__all__ = ["CASES", "roi_aligned"]

Array = npt.NDArray[Any]


def _corners(y: float, x: float, height: int, width: int) -> list[tuple[int, int, float]]:
    """Elements around a place, each with its weight; none for a place outside."""
    if not (-1 <= y <= height and -1 <= x <= width):
        return []
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    return [
        (min(top + i, height - 1), min(left + j, width - 1), wy * wx)
        for i, wy in ((0, 1 - (y - top)), (1, y - top))
        for j, wx in ((0, 1 - (x - left)), (1, x - left))
    ]


def roi_aligned(
    x: Array,
    regions: Array,
    image_of: Array,
    *,
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
    mode: str = "avg",
    coordinate_transformation_mode: str = "half_pixel",
) -> Array:
    """[regions, C, output_height, output_width]; corners and numbers of samples in float32."""
    pooled = np.array([output_height, output_width])
    result = np.zeros((len(regions), x.shape[1], *pooled), np.float64)
    half_pixel = coordinate_transformation_mode == "half_pixel"
    precise = np.promote_types(regions.dtype, np.float32)
    for region, image in enumerate(image_of):
        corners = regions[region].astype(precise) * precise.type(spatial_scale)
        corners -= precise.type(0.5 if half_pixel else 0.0)
        start, end = corners[[1, 0]], corners[[3, 2]]
        size = end - start if half_pixel else np.maximum(end - start, 1)
        samples = np.ceil(size / pooled.astype(precise)).astype(int)
        if sampling_ratio > 0:
            samples[:] = sampling_ratio
        step = size.astype(np.float64) / pooled
        for at in np.ndindex(*pooled):
            parts: list[Array] = []
            for sample in np.ndindex(*np.maximum(samples, 0)):
                place = start + np.array(at) * step + (np.array(sample) + 0.5) * step / samples
                weighted = [
                    weight * x[image, :, i, j].astype(np.float64)
                    if weight
                    else np.zeros(x.shape[1])
                    for i, j, weight in _corners(*place, *x.shape[2:])
                ]
                weighted = weighted or [np.zeros(x.shape[1])]
                parts.append(np.max(weighted, 0) if mode == "max" else np.sum(weighted, 0))
            if parts:
                whole = np.max(parts, 0) if mode == "max" else np.mean(parts, 0)
                result[(region, slice(None), *at)] = whole
    return result


def _align(
    name: str,
    x: Array,
    regions: Array,
    image_of: list[int],
    opset: int = 16,
    *,
    oracle: Mapping[str, Any] = MappingProxyType({}),
    **attributes: Any,
) -> OpCase:
    return OpCase(
        name,
        "RoiAlign",
        [x, regions, np.array(image_of, np.int64)],
        attributes,
        opset,
        expected=lambda x, regions, image_of: [
            roi_aligned(x, regions, image_of, **attributes, **oracle)
        ],
    )


def _max_pooled(x: Array, regions: Array, pooled: tuple[int, int], scale: float) -> Array:
    result = np.zeros((len(regions), x.shape[1], *pooled), x.dtype)
    for r, (image, *corners) in enumerate(regions):
        scaled = np.asarray(corners, np.float32) * np.float32(scale)
        x1, y1, x2, y2 = (np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)).astype(int)
        for i, j in np.ndindex(*pooled):
            rows = _bin(y1, y2, i, pooled[0], x.shape[2])
            columns = _bin(x1, x2, j, pooled[1], x.shape[3])
            part = x[int(image), :, rows, columns]
            if part.size:
                result[r, :, i, j] = part.max((1, 2))
    return result


def _bin(low: int, high: int, index: int, pooled: int, size: int) -> slice:
    step = np.float32(max(high - low + 1, 1)) / np.float32(pooled)
    begin, end = low + int(np.floor(index * step)), low + int(np.ceil((index + 1) * step))
    return slice(min(max(begin, 0), size), min(max(end, 0), size))


_IMAGES = OpCase.random(1, 2, 6, 9, 11)
_REGIONS = np.array(
    [
        [0, 0, 10, 8],
        [1.3, 2.2, 5.9, 7.1],
        [-6, -4, 3, 30],
        [8, 6, 2, 1],
        [40, 40, 50, 50],
        [3, 3, 3, 3],
    ],
    np.float32,
)
_SHARP = (np.round(_REGIONS * 4) / 4).astype(BFLOAT16)  # quarters, which it holds exactly
_IMAGE_OF = [0, 1, 1, 0, 1, 0]
_POOLED: dict[str, Any] = {"output_height": 3, "output_width": 4}
_HUGE = np.array([[-1e9, -1e9, 1e9, 1e9], [np.nan, 0, 4, 4]], np.float32)
_WHOLE = np.array(
    [
        [0, 0, 0, 10, 8],
        [1, 2.5, 3.5, 6.4, 6.6],
        [1, -5, -3, 2, 20],
        [0, 7, 7, 2, 2],
        [0, 30, 30, 40, 40],
    ],
    np.float32,
)

_DOUBLED = np.array([1, 2, 2, 2, 2], np.float32)


def _pool(name: str, x: Array, regions: Array, pooled: tuple[int, int], scale: float) -> OpCase:
    return OpCase(
        name,
        "MaxRoiPool",
        [x, regions],
        {"pooled_shape": list(pooled), "spatial_scale": scale},
        constant_inputs=frozenset([1]),
        expected=lambda x, regions: [_max_pooled(x, regions, pooled, scale)],
    )


CASES = [
    *(
        _align(
            f"{mode}_{coordinates}_{ratio}",
            _IMAGES,
            _REGIONS,
            _IMAGE_OF,
            mode=mode,
            coordinate_transformation_mode=coordinates,
            sampling_ratio=ratio,
            **_POOLED,
        )
        for mode in ("avg", "max")
        for coordinates in ("half_pixel", "output_half_pixel")
        for ratio in (0, 2)
    ),
    _align(
        "without_shift",
        _IMAGES,
        _REGIONS,
        _IMAGE_OF,
        10,
        oracle={"coordinate_transformation_mode": "output_half_pixel"},
        **_POOLED,
    ),
    _align("scaled", _IMAGES, _REGIONS * 16, _IMAGE_OF, spatial_scale=0.0625, **_POOLED),
    _align("one_bin", _IMAGES, _REGIONS, _IMAGE_OF),
    _align("far_larger_than_the_image", _IMAGES, _HUGE, [0, 1], sampling_ratio=3, **_POOLED),
    _align("float16", _IMAGES.astype("e"), _REGIONS.astype("e"), _IMAGE_OF, **_POOLED),
    _align("bfloat16", _IMAGES.astype(BFLOAT16), _SHARP, _IMAGE_OF, 22, **_POOLED),
    _align("float64", _IMAGES.astype("d"), _REGIONS.astype("d"), _IMAGE_OF, **_POOLED),
    _align("no_regions", _IMAGES, np.zeros((0, 4), np.float32), []),
    _pool("scaled", _IMAGES, _WHOLE * _DOUBLED, (3, 4), 0.5),
    _pool("larger_than_the_region", _IMAGES, _WHOLE, (12, 5), 1.0),
    _pool("float64", _IMAGES.astype("d"), _WHOLE.astype("d"), (2, 2), 1.0),
]
