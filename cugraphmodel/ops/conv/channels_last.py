"""Convolutions of channels-last tensors, which only the pass ``channels_last`` makes.

``ChannelsLastConv`` takes x [N, *input, C], weights [M, *kernel, C / group], bias [M] or none and
residual [N, *output, M] or none, and gives ``activation(sum + bias + residual)`` [N, *output, M].
A 1x1 convolution on tensor cores takes a scale [N, 1.., C] as well, by which it multiplies x first.
``ChannelsLastDirectConv`` does the same for groups of few filters, with weights
[*kernel, C / group, M]. Attributes are those of ``FusedConv``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import (
    FLOATS,
    check_dtype,
    operands_of_one_dtype,
    optional,
    required,
)
from cugraphmodel.ops.launch import Argument, Launch, ceil_div, index_type
from cugraphmodel.ops.matmul.product import (
    LARGE_TILE,
    SMALL_TILE,
    Epilogue,
    Product,
    Tile,
    choose_tile,
    launch_product,
    vector_width,
)
from cugraphmodel.ops.matmul.tensor_core import (
    Arithmetic,
    MmaKernel,
    Tiling,
    fits_tensor_cores,
    launch_on_tensor_cores,
    tilings,
)
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.window import Window, output_window

__all__ = ["conv_fits_tensor_cores", "conv_takes_scale"]

DIRECT_THREADS = 128
MIN_POSITIONS = 256
"""Of one of several images that are products of their own: fewer would leave tiles empty."""


@dataclass(frozen=True)
class _Conv:
    """A node's operands, and the geometry that follows from their shapes.

    Attributes:
        channels, filters: of one group.
    """

    x: Value
    weights: Value
    bias: Value | None
    residual: Value | None
    scale: Value | None
    window: Window
    channels: int
    filters: int
    groups: int
    attributes: Mapping[str, Any]

    @staticmethod
    def of(node: Node, inputs: Sequence[Value | None]) -> _Conv:
        """The convolution of a node, if its inputs fit together."""
        x, weights, bias = operands_of_one_dtype(inputs, FLOATS)
        if len(x.shape) < 3 or len(weights.shape) != len(x.shape):
            raise Unsupported(
                f"An input of shape {x.shape} and weights of shape {weights.shape} do not fit."
            )
        if node.op_type == "ChannelsLastDirectConv":
            *kernel, channels, all_filters = weights.shape
        else:
            all_filters, *kernel, channels = weights.shape
        groups = int(node.attributes.get("group", 1))
        if groups < 1 or channels * groups != x.shape[-1] or all_filters % groups:
            raise Unsupported(
                f"Weights of shape {weights.shape} and group={groups} do not fit "
                f"{x.shape[-1]} channels."
            )
        if bias is not None and bias.shape != (all_filters,):
            raise Unsupported(f"A bias of shape {bias.shape} does not fit {all_filters} filters.")
        window = output_window(node.attributes, x.shape[1:-1], kernel)
        residual, scale = optional(inputs, 3), optional(inputs, 4)
        filters = all_filters // groups
        conv = _Conv(
            *(x, weights, bias, residual, scale),
            *(window, channels, filters, groups, node.attributes),
        )
        if residual is not None:
            check_dtype(residual, (x.dtype,))
            if residual.shape != conv.output_shape:
                raise Unsupported(
                    f"A residual of shape {residual.shape} does not fit {conv.output_shape}."
                )
        if scale is not None:
            check_dtype(scale, (x.dtype,))
            if scale.shape != (x.shape[0], *(1,) * (len(x.shape) - 2), x.shape[-1]):
                raise Unsupported(f"A scale of shape {scale.shape} does not fit {x}.")
            if "arithmetic" not in node.attributes or groups > 1 or not window.is_identity:
                raise Unsupported("Only 1x1 convolutions on tensor cores take a scale.")
        return conv

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.x.shape[0], *self.window.output, self.filters * self.groups)

    @property
    def product(self) -> Product:
        """Of a convolution in one group: rows are positions, columns are filters.

        With a scale each of several images is a product of its own.
        """
        depth = self.window.num_taps * self.channels
        rows, images = self.window.num_outputs, self.x.shape[0]
        if self.scale is None or images == 1:
            return Product(images * rows, self.filters, depth, transpose_right=True)
        return Product(
            rows, self.filters, depth, (images,), (rows * depth,), (0,), transpose_right=True
        )

    @property
    def is_depthwise(self) -> bool:
        """Whether each group is one channel and one filter."""
        return self.channels == self.filters == 1

    def arguments(self, y: Value) -> tuple[Argument, ...]:
        """What both kernels take."""
        return (
            *(self.x, self.weights, self.bias, self.residual, y),
            self.window.struct(self.channels, self.filters, self.groups, self.x.shape[0]),
            np.float32(self.attributes.get("activation_alpha", 0.0)),
            np.float32(self.attributes.get("activation_beta", 0.0)),
        )

    def macros(self, y: Value) -> tuple[tuple[str, str], ...]:
        """What specialises both of them."""
        return (
            ("SCALAR", c_type(self.x.dtype)),
            ("ACTIVATION", self.attributes.get("activation", "cg_act_none")),
            ("INDEX", index_type(max(self.x.size, self.weights.size, y.size))),
        )


def _infer(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """[N, *output, M]."""
    conv = _Conv.of(node, inputs)
    return [TensorType(conv.x.dtype, conv.output_shape)]


def _lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """A matrix product of tensors as they lie in memory, or one whose left operand is gathered."""
    conv, y = _Conv.of(node, inputs), required(outputs)
    arithmetic = node.attributes.get("arithmetic")
    if arithmetic is not None:
        return _launches_on_tensor_cores(conv, y, arithmetic, Tiling.of(node.attributes))
    if conv.groups == 1 and conv.window.is_identity:
        epilogue = Epilogue(conv.bias, (0, 1), residual=conv.residual)
        epilogue = epilogue.with_activation_of(conv.attributes)
        return [launch_product(conv.product, conv.x, conv.weights, y, epilogue)]
    return [_launch_tiled(conv, y)]


def conv_fits_tensor_cores(node: Node, inputs: Sequence[Value | None]) -> bool:
    """Whether the tensor-core kernel covers a ChannelsLastConv."""
    conv = _Conv.of(node, inputs)
    return conv.groups == 1 and fits_tensor_cores(conv.product, conv.x.dtype, conv.channels)


def conv_takes_scale(node: Node, inputs: Sequence[Value | None]) -> bool:
    """Whether a ChannelsLastConv with a scale runs on tensor cores, and as fast as without."""
    if "arithmetic" not in node.attributes or int(node.attributes.get("group", 1)) > 1:
        return False
    conv = _Conv.of(node, inputs[:4])
    if not conv.window.is_identity:
        return False
    scaled = replace(conv, scale=inputs[4])
    return (conv.x.shape[0] == 1 or scaled.product.rows >= MIN_POSITIONS) and fits_tensor_cores(
        scaled.product, conv.x.dtype, conv.channels
    )


def _alternatives(node: Node, inputs: Sequence[Value | None]) -> Sequence[Mapping[str, Any]]:
    """Tilings, on tensor cores."""
    if "arithmetic" not in node.attributes:
        return []
    conv = _Conv.of(node, inputs)
    return [tiling.attributes for tiling in tilings(conv.product, conv.x.dtype)]


def _launches_on_tensor_cores(
    conv: _Conv, y: Value, arithmetic: Arithmetic, tiling: Tiling | None
) -> Sequence[Launch]:
    epilogue = Epilogue(conv.bias, (0, 1), residual=conv.residual)
    epilogue = epilogue.with_activation_of(conv.attributes)
    if conv.window.is_identity:
        return launch_on_tensor_cores(
            conv.product, conv.x, conv.weights, y, epilogue, arithmetic, tiling, conv.scale
        )
    kernel = MmaKernel(
        "ops/conv/mma_conv.cu",
        "mma_conv",
        (conv.x, conv.weights),
        (conv.window.struct(conv.channels, conv.filters, conv.groups, conv.x.shape[0]),),
        (
            ("FIRST_AXIS", str(conv.window.first_axis)),
            ("INDEX", index_type(conv.x.size)),
        ),
    )
    return kernel.launches(conv.product, y, epilogue, arithmetic, tiling)


def _launch_tiled(conv: _Conv, y: Value) -> Launch:
    """A matrix product of all images and positions for each group."""
    rows = conv.x.shape[0] * conv.window.num_outputs
    vector, tile = (
        vector_width(conv.channels),
        choose_tile(conv.filters, rows, conv.groups, y.dtype),
    )
    if vector == "1" and tile == LARGE_TILE:
        tile = SMALL_TILE  # a thread of the large one would hold too many single elements
    tile = _transposed(tile)
    blocks = ceil_div(rows, tile.rows) * ceil_div(conv.filters, tile.columns) * conv.groups
    return Launch(
        "ops/conv/channels_last.cu",
        "channels_last_conv",
        (blocks, 1, 1),
        (tile.threads, 1, 1),
        conv.arguments(y),
        (
            *conv.macros(y),
            ("VECTOR", vector),
            ("FIRST_AXIS", str(conv.window.first_axis)),
            *tile.macros,
        ),
    )


def _transposed(tile: Tile) -> Tile:
    return replace(
        tile,
        rows=tile.columns,
        columns=tile.rows,
        thread_rows=tile.thread_columns,
        thread_columns=tile.thread_rows,
    )


def _lower_direct(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """One thread an output, or four neighbouring filters of one position."""
    conv, y = _Conv.of(node, inputs), required(outputs)
    in_step = conv.is_depthwise or conv.filters % 4 == 0
    vector = vector_width(y.shape[-1]) if in_step else "1"
    kernel = (1, *conv.window.kernel)[-2:]
    return [
        Launch(
            "ops/conv/channels_last_direct.cu",
            "channels_last_direct",
            (ceil_div(y.size, DIRECT_THREADS * int(vector)), 1, 1),
            (DIRECT_THREADS, 1, 1),
            conv.arguments(y),
            (
                *conv.macros(y),
                ("DEPTHWISE", str(int(conv.is_depthwise))),
                ("VECTOR", vector),
                ("KERNEL_1", str(kernel[0])),
                ("KERNEL_2", str(kernel[1])),
            ),
        )
    ]


register(
    OpSpec(
        "ChannelsLastConv",
        1,
        _infer,
        _lower,
        domain="cugraphmodel",
        alternatives=_alternatives,
    ),
    OpSpec("ChannelsLastDirectConv", 1, _infer, _lower_direct, domain="cugraphmodel"),
)
