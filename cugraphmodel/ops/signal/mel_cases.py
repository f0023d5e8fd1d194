"""Cases of MelWeightMatrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _weights(bands: Any, length: Any, rate: Any, lowest: Any, highest: Any) -> list[Array]:
    """From corner to corner, in numbers of bins."""
    mel = np.linspace(
        *(2595 * math.log10(1 + float(f) / 700) for f in (lowest, highest)), bands + 3
    )
    corners = np.floor((length + 1) * 700 * (10 ** (mel[: bands + 2] / 2595) - 1) / rate + 1e-9)
    bins = np.arange(length // 2 + 1)
    columns = []
    for low, peak, high in zip(corners, corners[1:], corners[2:], strict=False):
        up = (bins - low) / (peak - low) if peak > low else np.where(bins >= peak, 1, 0)
        down = (high - bins) / (high - peak) if high > peak else np.where(bins <= peak, 1, 0)
        columns.append(np.clip(np.minimum(up, down), 0, 1))
    return [np.stack(columns, 1)]


def _case(
    name: str, numbers: tuple[int, int, int], hertz: tuple[float, float], **more: Any
) -> OpCase:
    inputs = [*map(np.array, numbers), *(np.array(edge, np.float32) for edge in hertz)]
    return OpCase(name, "MelWeightMatrix", inputs, more, 17, expected=_weights)


CASES = [
    _case("speech", (20, 400, 16000), (0.0, 8000.0)),
    _case("narrow_bands", (40, 128, 8000), (20.0, 3800.0)),
    _case("float16", (8, 64, 8192), (0.0, 4096.0), output_datatype=10),
]
