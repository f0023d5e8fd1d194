"""MaxUnpool: elements put back where a MaxPool found them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, check_dtype, required
from cugraphmodel.ops.launch import (
    ERROR_CODE,
    ERROR_WORD,
    Argument,
    Launch,
    ceil_div,
    dims,
    on_scratch,
)
from cugraphmodel.ops.movement.fill import fill_launch
from cugraphmodel.ops.movement.strided_copy import WORDS
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.window import axis_numbers

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256


def _inner_shape(node: Node, x: Value) -> tuple[int, ...]:
    """The shape whose elements the indices count: of the MaxPool's input, as far as it follows."""
    rank = len(x.shape) - 2
    if not 1 <= rank <= 6:
        raise Unsupported(f"{x} has {rank} spatial axes; 1 to 6 are supported.")
    attributes = node.attributes
    kernel = axis_numbers("kernel_shape", attributes.get("kernel_shape", ()), rank, least=1)
    strides = axis_numbers("strides", attributes.get("strides", [1] * rank), rank, least=1)
    pads = axis_numbers("pads", attributes.get("pads", [0] * (2 * rank)), 2 * rank, least=0)
    spatial = tuple(
        (x.shape[2 + d] - 1) * strides[d] - pads[d] - pads[d + rank] + kernel[d]
        for d in range(rank)
    )
    if min(spatial) < 1 or x.size == 0:
        raise Unsupported(f"{x} would be unpooled to the shape {list(spatial)}.")
    return (*x.shape[:2], *spatial)


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    """The inner shape, or the one that the third input gives, which holds it."""
    x, indices = required(inputs), required(inputs, 1)
    check_dtype(x, FLOATS)
    check_dtype(indices, (np.dtype("int64"),))
    inner = _inner_shape(node, x)
    shape = tuple(int(size) for size in node.host_values.get(2, np.array(inner)).ravel())
    if indices.shape != x.shape or x.size >= 2**31:
        raise Unsupported(f"{indices} does not place {x}, or it has 2^31 or more elements.")
    if (
        shape[:2] != inner[:2]
        or len(shape) != len(inner)
        or any(a < b for a, b in zip(shape, inner, strict=True))
    ):
        raise Unsupported(f"An output of shape {list(shape)} does not hold {list(inner)}.")
    return [TensorType(x.dtype, shape)]


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    """Which element goes to each place is found first, so that order decides and not timing."""
    x, indices, y = required(inputs), required(inputs, 1), required(outputs)
    if y.size == 0:
        return []
    inner = _inner_shape(node, x)
    shape = y.shape
    if shape[2:] == inner[2:]:
        shape = inner = (y.size,)
    owners = Value(np.dtype(np.int32), (math.prod(inner),), "owners")
    error = (ERROR_WORD, ERROR_CODE)
    counts = (np.int64(x.size), np.int64(owners.size))
    steps: tuple[tuple[str, int, tuple[Argument, ...]], ...] = (
        ("claim_places", x.size, (indices, owners, *counts, *error)),
        ("max_unpool", y.size, (x, owners, y, np.int64(y.size), dims(*shape), dims(*inner))),
    )
    launches = [
        Launch(
            source="ops/pool/max_unpool.cu",
            entry=entry,
            grid=(ceil_div(num_threads, THREADS), 1, 1),
            block=(THREADS, 1, 1),
            args=args,
            macros=(("WORD", WORDS[x.dtype.itemsize]), ("RANK", str(len(inner)))),
        )
        for entry, num_threads, args in steps
    ]
    return on_scratch([fill_launch(owners, np.array(-1, np.int32)), *launches], [owners])


register(OpSpec("MaxUnpool", 9, _infer, _lower, host_inputs=(2,)))
