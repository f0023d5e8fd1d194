"""Quantised weights and activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.microsoft.attention_cases import HEADED, HIDDEN, PAST, padding
from tests.microsoft.case import Array, Case, normal, whole
from tests.microsoft.layer_cases import IDS, SEGMENTS


def drawn(seed: int, *shape: int, dtype: str = "uint8") -> Array:
    """All values of an integer type."""
    bounds = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(bounds.min, bounds.max + 1, shape, dtype)


def scalar(number: float, dtype: str = "float32") -> Array:
    """One number of rank 0."""
    return np.array(number, dtype)


def quantized_attention(name: str, *rest: Array | None, **more: Any) -> Case:
    """QAttention; ``rest`` are the inputs from the mask on."""
    inputs = [
        drawn(1, 2, 5, 7),
        drawn(2, 7, 3 * HIDDEN),  # of one sign, which every processor multiplies without saturation
        normal(3, 3 * HIDDEN),
        scalar(0.01),
        more.pop("scale", scalar(0.02)),
        *rest,
    ]
    attributes = {**HEADED, **more.pop("attributes", {})}
    return Case(name, "QAttention", inputs, attributes, **more)


POINTS = (scalar(120, "uint8"), scalar(131, "uint8"))
QUANTIZED_ATTENTION = (
    quantized_attention("plain", None, *POINTS),
    quantized_attention("mask", padding(5, 4, 2), *POINTS, attributes={"unidirectional": 1}),
    quantized_attention("past", None, *POINTS, PAST, outputs=(True, True)),
    quantized_attention(
        "columns",
        *(None, POINTS[0], drawn(5, 3 * HIDDEN)),
        scale=np.abs(normal(4, 3 * HIDDEN)) / 50,
    ),
)

TABLES = [drawn(10 + i, *shape) for i, shape in enumerate([(7, 8), (5, 8), (2, 8), (8,), (8,)])]
SCALES = [scalar(0.01 * (i + 1)) for i in range(5)]
ZEROS = [scalar(120 + i, "uint8") for i in range(5)]

OTHERS = (
    Case(
        "all",
        "QEmbedLayerNormalization",
        [IDS, SEGMENTS, *TABLES, whole([[1, 1, 0], [1, 0, 0]])[0], *SCALES, *ZEROS],
        {"epsilon": 1e-3},
        outputs=("float32", "int32"),
    ),
    Case(
        "two",
        "QLinearWhere",
        [
            np.array([True, False, True, False]),
            *(drawn(1, 3, 4), scalar(0.1), scalar(120, "uint8")),
            *(drawn(2, 3, 1), scalar(0.2), scalar(100, "uint8")),
            *(scalar(0.15), scalar(131, "uint8")),
        ],
        outputs=("uint8",),
        constant=frozenset({2, 3, 5, 6, 7, 8}),
    ),
    Case(
        "rows",
        "QLinearReduceMean",
        [drawn(1, 3, 4, 5), scalar(0.1), scalar(7, "uint8"), scalar(0.06), scalar(9, "uint8")],
        {"axes": [0, 2], "keepdims": 0},
        outputs=("uint8",),
        expected=lambda x, s, z, t, y: [
            np.clip(np.rint((x.astype(float) - z).mean((0, 2)) * s / t) + y, 0, 255).astype("uint8")
        ],
    ),
)

CASES = (*QUANTIZED_ATTENTION, *OTHERS)
