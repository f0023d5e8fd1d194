"""Col2Im: blocks of an image, laid over one another and added."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type, kind_of
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, NUMBERS, check_dtype, required
from cugraphmodel.ops.launch import Launch, ceil_div
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.window import axis_numbers

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256
MAX_RANK = 6


def _blocks(node: Node) -> tuple[tuple[int, ...], ...]:
    """Size of the image, of a block, number of blocks, strides, first pads and dilations."""
    size = tuple(int(number) for number in node.host_values[1].ravel())
    rank = len(size)
    if not 1 <= rank <= MAX_RANK:
        raise Unsupported(f"The image has {rank} spatial axes; 1 to {MAX_RANK} are supported.")
    kernel = axis_numbers("block_shape", node.host_values[2].ravel().tolist(), rank, least=1)
    attributes = node.attributes
    strides = axis_numbers("strides", attributes.get("strides", [1] * rank), rank, least=1)
    pads = axis_numbers("pads", attributes.get("pads", [0] * (2 * rank)), 2 * rank, least=0)
    dilations = axis_numbers("dilations", attributes.get("dilations", [1] * rank), rank, least=1)
    room = [
        size[d] + pads[d] + pads[d + rank] - dilations[d] * (kernel[d] - 1) - 1 for d in range(rank)
    ]
    if min(room) < 0 or min(size) < 1:
        raise Unsupported(f"Blocks of {list(kernel)} do not fit into an image of {list(size)}.")
    count = tuple(space // stride + 1 for space, stride in zip(room, strides, strict=True))
    reach = [k * d + p for k, d, p in zip(kernel, dilations, pads[:rank], strict=True)]
    if max(*size, *reach, *count) >= 2**30:
        raise Unsupported("The image or its blocks have 2^30 or more elements along an axis.")
    return size, kernel, count, strides, pads[:rank], dilations


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    """[N, C, *image] for columns [N, C * block, blocks]."""
    columns = required(inputs)
    check_dtype(columns, NUMBERS)
    size, kernel, count, *_ = _blocks(node)
    taps, blocks = math.prod(kernel), math.prod(count)
    if len(columns.shape) != 3 or columns.shape[1] % taps or columns.shape[2] != blocks:
        raise Unsupported(f"{columns} is not [N, C * {taps}, {blocks}].")
    return [TensorType(columns.dtype, (columns.shape[0], columns.shape[1] // taps, *size))]


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    columns, image = required(inputs), required(outputs)
    if image.size == 0:
        return []
    blocks = _blocks(node)
    return [
        Launch(
            source="ops/conv/col2im.cu",
            entry="col2im",
            grid=(ceil_div(image.size, THREADS), 1, 1),
            block=(THREADS, 1, 1),
            args=(columns, image, np.int64(image.size), np.array(blocks, np.int32)),
            macros=(
                ("SCALAR", c_type(columns.dtype)),
                ("SUM", _sum_type(columns.dtype)),
                ("RANK", str(len(blocks[0]))),
            ),
        )
    ]


def _sum_type(dtype: np.dtype) -> str:
    if dtype in FLOATS:
        return "double" if dtype == np.float64 else "float"
    assert kind_of(dtype) in "iu"
    return "unsigned long long"


register(OpSpec("Col2Im", 18, _infer, _lower, host_inputs=(1, 2)))
