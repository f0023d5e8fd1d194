"""GridSample: an image (or volume, or signal) interpolated at locations that a tensor gives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import ANY, FLOATS, check_dtype, required
from cugraphmodel.ops.launch import MAX_GRID, Launch, ceil_div, dims
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.strides import contiguous_strides

__all__ = ["weight_type"]

Values = Sequence[Value | None]
THREADS = 256
ENOUGH_THREADS = 2**18
"""Threads that fill a large GPU: 132 multiprocessors of 2048, as an H200 has."""

TAPS = {"nearest": 1, "linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4}
PADDINGS = {"zeros": "kZeros", "border": "kBorder", "reflection": "kReflection"}
MAX_RANK = 6


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    """[N, C, *output] for x [N, C, *input] and a grid [N, *output, rank]."""
    x, grid = required(inputs), required(inputs, 1)
    check_dtype(x, ANY)
    check_dtype(grid, FLOATS)
    _known(node, "mode", "linear", TAPS)
    _known(node, "padding_mode", "zeros", PADDINGS)
    rank = len(x.shape) - 2
    if not 1 <= rank <= MAX_RANK:
        raise Unsupported(f"{x} has {rank} spatial dimensions; 1 to {MAX_RANK} are supported.")
    if len(grid.shape) != rank + 2 or grid.shape[0] != x.shape[0] or grid.shape[-1] != rank:
        raise Unsupported(f"{grid} does not give locations of {rank} coordinates in {x}.")
    output = TensorType(x.dtype, (*x.shape[:2], *grid.shape[1:-1]))
    if max(math.prod(x.shape[2:]), math.prod(output.shape[2:])) >= 2**30:
        raise Unsupported(f"A channel of {x}, or of the output, has 2^30 or more elements.")
    if 0 in x.shape[2:] and output.size:
        raise Unsupported(f"{x} has nothing to sample.")
    return [output]


def _known(node: Node, name: str, default: str, known: Iterable[str]) -> str:
    value = str(node.attributes.get(name, default))
    if value not in known:
        raise Unsupported(f"{name}={value!r} is none of {', '.join(known)}.")
    return value


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x, grid, y = required(inputs), required(inputs, 1), required(outputs)
    if y.size == 0:
        return []
    size, num_channels = x.shape[2:], x.shape[1]
    num_positions = math.prod(y.shape[2:])
    num_locations = x.shape[0] * num_positions
    groups = min(num_channels, ceil_div(ENOUGH_THREADS, num_locations), MAX_GRID[1])
    channels = ceil_div(num_channels, groups)
    padding = PADDINGS[_known(node, "padding_mode", "zeros", PADDINGS)]
    return [
        Launch(
            source="ops/sampling/grid_sample.cu",
            entry="grid_sample",
            grid=(ceil_div(num_locations, THREADS), ceil_div(num_channels, channels), 1),
            block=(THREADS, 1, 1),
            args=(
                *(x, grid, y),
                np.int64(num_locations),
                *map(np.int32, (num_positions, num_channels, channels)),
                *(dims(*size), dims(*contiguous_strides(size))),
            ),
            macros=(
                ("SCALAR", c_type(x.dtype)),
                ("GRID", c_type(grid.dtype)),
                ("WEIGHT", weight_type(x.dtype)),
                ("PADDING", padding),
                ("ALIGN_CORNERS", str(int(bool(node.attributes.get("align_corners", 0))))),
                ("RANK", str(len(size))),
                ("TAPS", str(TAPS[_known(node, "mode", "linear", TAPS)])),
            ),
        )
    ]


def weight_type(dtype: np.dtype) -> str:
    """C++ type of the arithmetic on elements of ``dtype``: exact for those of up to 24 bits."""
    return "float" if dtype.itemsize <= 2 or dtype == np.float32 else "double"


register(OpSpec("GridSample", 16, _infer, _lower))
