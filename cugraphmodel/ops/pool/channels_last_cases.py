"""Cases of the channels-last pools: those of MaxPool and AveragePool with the axes moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.pool.pool_cases import AVERAGE, EIGHT_CHANNELS, MAX

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _last(array: Array) -> Array:
    """Axis 1 behind all others."""
    return np.ascontiguousarray(np.moveaxis(array, 1, -1))


def _channels_last(case: OpCase) -> OpCase:
    """A case of a pool as one of its channels-last form."""
    (x,) = case.inputs
    assert x is not None

    def expected(array: Array) -> Sequence[Array]:
        assert case.expected is not None
        planes = np.ascontiguousarray(np.moveaxis(array, -1, 1))
        return [_last(y) for y in case.expected(planes)]

    return OpCase(
        case.name,
        f"ChannelsLast{case.op_type}",
        [_last(x)],
        case.attributes,
        opset=1,
        domain="cugraphmodel",
        expected=expected,
    )


CASES = [_channels_last(case) for case in (*MAX, *AVERAGE, *EIGHT_CHANNELS)]
