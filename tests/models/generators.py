"""Seeded input data that looks like what a model was made for.

An input is described in ``cases.json`` by shape, dtype, the name of a generator below (``gen``) and
that generator's options.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Spec = Mapping[str, Any]
Shape = tuple[int, ...]


def draw(spec: Spec, tag: str, seed: int) -> Array:
    """The array that ``spec`` describes; the same for one tag and seed."""
    rng = np.random.default_rng([seed, zlib.crc32(tag.encode())])
    shape = tuple(spec["shape"])
    values = GENERATORS[spec["gen"]](rng, spec, shape)
    return np.ascontiguousarray(values.astype(spec["dtype"])).reshape(shape)


def normal(rng: np.random.Generator, spec: Spec, shape: Shape) -> Array:
    """Normal noise with ``mean`` and ``std``."""
    return rng.normal(spec.get("mean", 0.0), spec.get("std", 1.0), shape)


def uniform(rng: np.random.Generator, spec: Spec, shape: Shape) -> Array:
    """Uniform noise in ``lo..hi``."""
    return rng.uniform(spec.get("lo", 0.0), spec.get("hi", 1.0), shape)


def lengths(_rng: np.random.Generator, spec: Spec, shape: Shape) -> Array:
    """Mask [batch, length]: row b is 1 in its first ``lengths[b]`` columns, else 0."""
    column = np.arange(shape[1])
    return np.stack([column < length for length in spec["lengths"]])


def tokens(rng: np.random.Generator, spec: Spec, shape: Shape) -> Array:
    """Token ids [batch, length] in ``lo..hi``, ``first`` and ``last`` around, then ``pad``."""
    ids = rng.integers(spec["lo"], spec["hi"], shape)
    for row, length in enumerate(spec["lengths"]):
        ids[row, 0] = spec["first"]
        ids[row, length - 1] = spec["last"]
        ids[row, length:] = spec["pad"]
    return ids


def image(rng: np.random.Generator, spec: Spec, shape: Shape) -> Array:
    """Pictures with soft shading, filled boxes and thin dark strokes, scaled to ``lo..hi``."""
    channels_last = spec.get("layout", "nchw") == "nhwc"
    batch = shape[0]
    height, width, channels = shape[1:] if channels_last else (*shape[2:], shape[1])
    pictures = np.stack([_picture(rng, channels, height, width) for _ in range(batch)])
    low, high = spec.get("lo", 0.0), spec.get("hi", 1.0)
    scaled: Array = low + (high - low) * pictures
    return scaled.transpose(0, 2, 3, 1) if channels_last else scaled


def _picture(rng: np.random.Generator, channels: int, height: int, width: int) -> Array:
    """One picture [channels, height, width] in 0..1."""
    rows, columns = np.mgrid[0:height, 0:width]
    wave = np.sin(columns / rng.uniform(15, 60)) * np.cos(rows / rng.uniform(15, 60))
    picture: Array = (0.65 + 0.2 * wave) * rng.uniform(0.7, 1.0, (channels, 1, 1))
    for _ in range(6):
        top, left = rng.integers(0, max(1, height - 4)), rng.integers(0, max(1, width - 4))
        down, across = rng.integers(3, max(4, height // 2)), rng.integers(3, max(4, width // 3))
        color = rng.uniform(0, 1, (channels, 1, 1))
        picture[:, top : top + down, left : left + across] = color
    thickness = max(1, height // 24)
    for _ in range(14):
        top, left = rng.integers(0, height), rng.integers(0, width)
        if rng.random() < 0.5:
            picture[:, top : top + thickness, left : left + width // 8 + 2] = 0.05
        else:
            picture[:, top : top + height // 3 + 2, left : left + thickness] = 0.05
    noisy: Array = picture + 0.02 * rng.normal(size=picture.shape)
    return noisy.clip(0, 1)


GENERATORS: dict[str, Callable[[np.random.Generator, Spec, Shape], Array]] = {
    generator.__name__: generator for generator in (normal, uniform, lengths, tokens, image)
}
