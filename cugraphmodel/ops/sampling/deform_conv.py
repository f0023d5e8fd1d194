"""DeformConv: a convolution whose taps are moved by offsets that a tensor gives.

The moved elements are gathered into columns in scratch memory, and the rest is a matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, check_dtype, optional, required
from cugraphmodel.ops.elementwise.elementwise import Operand, elementwise_launch, operand
from cugraphmodel.ops.launch import MAX_GRID, Launch, ceil_div, on_scratch
from cugraphmodel.ops.matmul.product import Epilogue, Product, launch_product
from cugraphmodel.ops.sampling.grid_sample import ENOUGH_THREADS, THREADS, weight_type
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.strides import merge_axes
from cugraphmodel.ops.window import Window, output_window

__all__: list[str] = []

Values = Sequence[Value | None]


@dataclass(frozen=True)
class _Shape:
    """Sizes of one DeformConv; ``columns`` is [N, C, taps, outputs]."""

    window: Window
    images: int
    channels: int
    filters: int
    groups: int
    offset_groups: int

    @property
    def columns(self) -> tuple[int, ...]:
        return (self.images, self.channels, self.window.num_taps, self.window.num_outputs)

    def product(self) -> Product:
        """[filters of a group, depth] @ [depth, outputs] for each image and group."""
        rows = self.filters // self.groups
        depth = self.channels // self.groups * self.window.num_taps
        outputs = self.window.num_outputs
        batch_shape, (left_strides, right_strides) = merge_axes(
            (self.images, self.groups),
            ((0, rows * depth), (self.groups * depth * outputs, depth * outputs)),
        )
        return Product(rows, outputs, depth, batch_shape, left_strides, right_strides)


def _shape(node: Node, inputs: Values) -> _Shape:
    x, weight, offset = (required(inputs, position) for position in range(3))
    bias, mask = optional(inputs, 3), optional(inputs, 4)
    check_dtype(x, FLOATS)
    for other in filter(None, (weight, offset, bias, mask)):
        check_dtype(other, (x.dtype,))
    groups = int(node.attributes.get("group", 1))
    offset_groups = int(node.attributes.get("offset_group", 1))
    kernel = node.attributes.get("kernel_shape", weight.shape[2:])
    window = output_window(node.attributes, x.shape[2:], kernel)
    shape = _Shape(window, x.shape[0], x.shape[1], weight.shape[0], groups, offset_groups)
    if min(groups, offset_groups) < 1 or shape.channels % groups or shape.filters % groups:
        raise Unsupported(f"{x} and {weight} do not divide into {groups} groups.")
    if shape.channels % offset_groups:
        raise Unsupported(f"{x} does not divide into {offset_groups} offset groups.")
    rank, taps = len(window.kernel), window.num_taps
    expected = (
        (weight, (shape.filters, shape.channels // groups, *window.kernel)),
        (offset, (shape.images, offset_groups * taps * rank, *window.output)),
        (bias, (shape.filters,)),
        (mask, (shape.images, offset_groups * taps, *window.output)),
    )
    for value, wanted in expected:
        if value is not None and value.shape != wanted:
            raise Unsupported(f"{value} should be of shape {list(wanted)}.")
    return shape


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    """[N, filters, *output]."""
    shape = _shape(node, inputs)
    x = required(inputs)
    return [TensorType(x.dtype, (shape.images, shape.filters, *shape.window.output))]


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x, weight = required(inputs), required(inputs, 1)
    bias, y = optional(inputs, 3), required(outputs)
    if y.size == 0:
        return []
    shape = _shape(node, inputs)
    columns = Value(x.dtype, shape.columns, "columns")
    in_product = bias if shape.groups == 1 else None
    epilogue = Epilogue(in_product, (1, 0))
    launches = [
        *_gather(shape, inputs, columns),
        launch_product(shape.product(), weight, columns, y, epilogue),
    ]
    if bias is not None and in_product is None:
        spread = Operand(bias, bias.dtype, (shape.filters, *[1] * len(shape.window.output)))
        launches.append(elementwise_launch("x0 + x1", [operand(y), spread], operand(y)))
    return on_scratch(launches, [columns])


def _gather(shape: _Shape, inputs: Values, columns: Value) -> list[Launch]:
    """The launch that fills ``columns``; none if it is empty."""
    x, offset, mask = required(inputs), required(inputs, 2), optional(inputs, 4)
    if columns.size == 0:
        return []
    group_size = shape.channels // shape.offset_groups
    count = columns.size // group_size
    parts = min(group_size, ceil_div(ENOUGH_THREADS, count), MAX_GRID[1])
    channels = ceil_div(group_size, parts)
    window = shape.window
    sizes = (
        *(shape.images, shape.channels, shape.offset_groups),
        *(window.num_taps, window.num_outputs),
    )
    return [
        Launch(
            source="ops/sampling/deform_conv.cu",
            entry="deform_columns",
            grid=(ceil_div(count, THREADS), ceil_div(group_size, channels), 1),
            block=(THREADS, 1, 1),
            args=(
                *(x, offset, mask, columns),
                np.int64(count),
                np.array(sizes, np.int32),
                np.int32(channels),
                window.struct(),
            ),
            macros=(
                ("SCALAR", c_type(x.dtype)),
                ("WEIGHT", weight_type(x.dtype)),
                ("RANK", str(len(window.input))),
            ),
        )
    ]


register(OpSpec("DeformConv", 19, _infer, _lower))
