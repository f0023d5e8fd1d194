"""BatchNormalization in training mode: with the statistics of the batch, which it hands on too."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.ir import Node, Value
from cugraphmodel.ops.arguments import float_attributes, optional, required
from cugraphmodel.ops.elementwise.elementwise import Operand, elementwise_launch, operand
from cugraphmodel.ops.launch import Launch, Workspace
from cugraphmodel.ops.reduce.reduce import Reduction, reduce_launches

__all__ = ["batch_statistics", "running_statistics"]

_MEAN = Reduction("Sum", "x", "total / count")
_MEAN_SQUARE = Reduction("Sum", "x * x", "total / count")


def batch_statistics(
    x: Value, num_channels: int, inner: int
) -> tuple[list[Launch], Operand, Operand]:
    """Launches that find mean and population variance of every channel, and where they lie.

    The mean is taken off before squares are summed, so that a large one costs no digits.

    Args:
        x: seen as ``[batch, num_channels, inner]``.
        num_channels: channels.
        inner: elements of a channel that lie side by side.
    """
    compute = np.dtype("float64" if x.dtype == np.float64 else "float32")
    shape = (x.size // (num_channels * inner), num_channels, inner)
    data = Operand(x, x.dtype, shape)

    def scratch(*shape: int) -> Operand:
        return Operand(Workspace(math.prod(shape) * compute.itemsize), compute, shape)

    mean, variance, centered = (
        scratch(1, num_channels, 1),
        scratch(1, num_channels, 1),
        scratch(*shape),
    )
    beside = frozenset([0, 2])
    launches = [
        *reduce_launches(_MEAN, data, beside, mean),
        elementwise_launch("x0 - x1", [data, mean], centered),
        *reduce_launches(_MEAN_SQUARE, centered, beside, variance),
    ]
    return launches, mean, variance


def running_statistics(
    node: Node,
    inputs: Sequence[Value | None],
    outputs: Sequence[Value | None],
    current: Sequence[Operand],
) -> list[Launch]:
    """Launches that mix the batch's mean and variance into the running ones, where asked for."""
    (momentum,) = float_attributes(node, [("momentum", 0.9)])
    launches = []
    for number, statistic in enumerate(current):
        out = optional(outputs, 1 + number)
        if out is not None:
            old = operand(required(inputs, 3 + number))
            new = Operand(statistic.source, statistic.dtype, out.shape)
            launches.append(
                elementwise_launch(
                    "x0 * a + x1 * b", [old, new], operand(out), (momentum, 1 - momentum)
                )
            )
    return launches
