"""Seeded input data that looks like what a model was made for.

An input is described in ``cases.json`` by shape, dtype, the name of a generator below (``gen``) and
that generator's options.
"""

from __future__ import annotations

import math
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
    made = GENERATORS[spec["gen"]](rng, spec, shape)
    return np.ascontiguousarray(made.astype(spec["dtype"])).reshape(shape)


def normal(rng: np.random.Generator, spec: Spec, shape: Shape) -> Array:
    """Normal noise with ``mean`` and ``std``."""
    return rng.normal(spec.get("mean", 0.0), spec.get("std", 1.0), shape)


def uniform(rng: np.random.Generator, spec: Spec, shape: Shape) -> Array:
    """Uniform noise in ``lo..hi``."""
    return rng.uniform(spec.get("lo", 0.0), spec.get("hi", 1.0), shape)


def randint(rng: np.random.Generator, spec: Spec, shape: Shape) -> Array:
    """Integers from ``lo`` up to, not including, ``hi``."""
    return rng.integers(spec["lo"], spec["hi"], shape)


def const(_rng: np.random.Generator, spec: Spec, shape: Shape) -> Array:
    """``value`` everywhere."""
    return np.full(shape, spec["value"])


def values(_rng: np.random.Generator, spec: Spec, _shape: Shape) -> Array:
    """The numbers in ``values``."""
    return np.array(spec["values"])


def lengths(_rng: np.random.Generator, spec: Spec, shape: Shape) -> Array:
    """Mask [batch, length]: row b is 1 in its first ``lengths[b]`` columns, else 0."""
    column = np.arange(shape[1])
    return np.stack([column < length for length in spec["lengths"]])


def tokens(rng: np.random.Generator, spec: Spec, shape: Shape) -> Array:
    """Token ids [batch, length] in ``lo..hi``.

    Row b starts with ``first`` and ends, after ``lengths[b]`` ids, with ``last``; ``pad`` follows.
    """
    ids = rng.integers(spec["lo"], spec["hi"], shape)
    for row, length in enumerate(spec.get("lengths", [shape[1]] * shape[0])):
        if "first" in spec:
            ids[row, 0] = spec["first"]
        if "last" in spec:
            ids[row, length - 1] = spec["last"]
        ids[row, length:] = spec.get("pad", 0)
    return ids


def audio(rng: np.random.Generator, spec: Spec, shape: Shape) -> Array:
    """Sound like voices, [..., time] at ``rate`` Hz: gliding harmonics in bursts, and noise."""
    rows = math.prod(shape[:-1])
    time_s = np.arange(shape[-1]) / spec.get("rate", 16000)
    sound = np.stack([_voice(rng, time_s) for _ in range(rows)])
    sound = 0.9 * sound + 0.02 * rng.normal(size=sound.shape)
    return np.asarray(spec["amp"] * sound.reshape(shape))


def _voice(rng: np.random.Generator, time_s: Array) -> Array:
    """A voice with a highest magnitude of 1, [time]."""
    base_hz = rng.uniform(90, 240)
    pitch_hz = base_hz * (1 + 0.12 * _slow_sine(rng, time_s, 1, 3))
    phase = 2 * np.pi * np.cumsum(pitch_hz) * (time_s[1] - time_s[0])
    voice = np.zeros_like(time_s)
    for harmonic in range(1, 25):
        formants_hz = rng.uniform(300, 2600, 2)
        weights = np.exp(-0.5 * ((harmonic * base_hz - formants_hz) / 350) ** 2)
        voice += weights.sum() * np.sin(harmonic * phase)
    voice *= np.clip(4 * _slow_sine(rng, time_s, 1.5, 4), 0, 1)
    return np.asarray(voice / max(np.abs(voice).max(), 1e-9))


def _slow_sine(rng: np.random.Generator, time_s: Array, low_hz: float, high_hz: float) -> Array:
    turns = rng.uniform(low_hz, high_hz) * time_s
    return np.asarray(np.sin(2 * np.pi * turns + rng.uniform(0, 6)))


def text(rng: np.random.Generator, spec: Spec, shape: Shape) -> Array:
    """White pages NCHW with rows of dark marks like letters, scaled to ``lo..hi``.

    ``glyph`` is the height of a mark and ``pitch`` that of a row, in pixels.
    """
    height, width = shape[2:]
    glyph, pitch = spec.get("glyph", 20), spec.get("pitch", 40)
    pages = np.full(shape, 0.95)
    for page in pages:
        for top in range(max(2, (pitch - glyph) // 2), height - glyph, pitch):
            left = 4
            while left + glyph < width:
                across = int(rng.integers(glyph // 3, glyph))
                _draw_mark(rng, page[:, top : top + glyph, left : left + across])
                left += across + 4 + (glyph if rng.random() < 0.2 else 0)
    low, high = spec.get("lo", 0.0), spec.get("hi", 1.0)
    scaled: Array = low + (high - low) * pages
    return scaled


def _draw_mark(rng: np.random.Generator, patch: Array) -> None:
    """Three strokes in a part of a page [channels, height, width]."""
    for _ in range(3):
        axis = int(rng.integers(1, 3))
        start = int(rng.integers(0, patch.shape[axis] - 1))
        strokes = patch[:, start : start + 2] if axis == 1 else patch[:, :, start : start + 2]
        strokes[...] = 0.05


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
    generator.__name__: generator
    for generator in (normal, uniform, randint, const, values, lengths, tokens, audio, image, text)
}
