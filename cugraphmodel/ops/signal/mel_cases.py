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
    low, high = (2595 * math.log10(1 + float(edge) / 700) for edge in (lowest, highest))
    mel = np.linspace(low, high, int(bands) + 3)
    corners = np.floor((length + 1) * 700 * (10 ** (mel[: bands + 2] / 2595) - 1) / rate + 1e-9)
    bins = np.arange(length // 2 + 1)
    columns = []
    for first, peak, last in zip(corners, corners[1:], corners[2:], strict=False):
        up = (bins - first) / (peak - first) if peak > first else np.where(bins >= peak, 1, 0)
        down = (last - bins) / (last - peak) if last > peak else np.where(bins <= peak, 1, 0)
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
