"""DynamicQuantizeLinear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, optional, required
from cugraphmodel.ops.launch import Argument, Launch, Workspace, ceil_div
from cugraphmodel.ops.spec import OpSpec, register

__all__ = ["dynamic_quantize_launches"]

SOURCE = "ops/quantize/dynamic_quantize.cu"
MAX_BLOCK_SIZE = 16384
"""Elements that one block quantises in less time than a second launch would take."""
ELEMENTS_PER_BLOCK = 4096
MAX_BLOCKS = 528
RANGE_BYTES = 8


def dynamic_quantize_launches(
    x: Value, y: Argument, scale: Argument, zero_point: Argument
) -> list[Launch]:
    """Launches that quantise float32 ``x`` to uint8 by its own range: one if it is small, or two.

    Args:
        x: any shape.
        y: uint8, of that shape; None, like the others, if it is not wanted.
        scale: float32, one element.
        zero_point: uint8, one element.
    """
    outputs = (y, scale, zero_point, np.int64(x.size))
    if x.size <= MAX_BLOCK_SIZE:
        threads = min(1024, 32 * max(ceil_div(x.size, 32 * 4), 1))
        return [Launch(SOURCE, "dynamic_quantize", (1, 1, 1), (threads, 1, 1), (x, *outputs))]
    blocks = min(ceil_div(x.size, ELEMENTS_PER_BLOCK), MAX_BLOCKS)
    ranges = Workspace(blocks * RANGE_BYTES)
    geometry = (blocks, 1, 1), (256, 1, 1)
    return [
        Launch(SOURCE, "find_ranges", *geometry, (x, ranges, np.int64(x.size))),
        Launch(SOURCE, "quantize_by_ranges", *geometry, (x, ranges, *outputs)),
    ]


def _infer(_node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """The quantised tensor, its scale and its zero point."""
    x = required(inputs)
    check_dtype(x, (np.dtype("float32"),))
    uint8 = np.dtype("uint8")
    return [TensorType(uint8, x.shape), TensorType(x.dtype, ()), TensorType(uint8, ())]


def _lower(
    _node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    y, scale, zero_point = (optional(outputs, position) for position in range(3))
    return dynamic_quantize_launches(required(inputs), y, scale, zero_point)


register(OpSpec("DynamicQuantizeLinear", 11, _infer, _lower))
