"""Conv, its form with residual and activation fused, and StemConv: one of channels-last output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, operands_of_one_dtype, required, residual_of
from cugraphmodel.ops.launch import Argument, Launch, ceil_div
from cugraphmodel.ops.matmul.product import (
    Epilogue,
    Product,
    choose_tile,
    launch_product,
    vector_width,
)
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.window import Window, output_window

MAX_DIRECT_FILTERS = 4
"""Up to so many output channels a group, a tile of the matrix product would be mostly empty."""


def conv_operands(node: Node, inputs: Sequence[Value | None]) -> tuple[Value, Value, Value | None]:
    """Input, weights and bias, of one dtype that has kernels and of ranks that fit."""
    x, weights, bias = operands_of_one_dtype(inputs, FLOATS)
    if len(x.shape) < 3 or len(weights.shape) != len(x.shape):
        raise Unsupported(
            f"An input of shape {x.shape} and weights of shape {weights.shape} do not fit."
        )
    kernel = weights.shape[2:]
    if tuple(node.attributes.get("kernel_shape", kernel)) != kernel:
        raise Unsupported(
            f"kernel_shape={list(node.attributes['kernel_shape'])}, but the weights have {kernel}."
        )
    return x, weights, bias


@dataclass(frozen=True)
class _Conv:
    """A node's operands, and the geometry that follows from their shapes."""

    x: Value
    weights: Value
    bias: Value | None
    residual: Value | None
    window: Window
    attributes: Mapping[str, Any]

    @staticmethod
    def of(node: Node, inputs: Sequence[Value | None]) -> _Conv:
        """The convolution of a node, if its inputs fit together."""
        x, weights, bias = conv_operands(node, inputs)
        window = output_window(node.attributes, x.shape[2:], weights.shape[2:])
        conv = _Conv(x, weights, bias, None, window, node.attributes)
        return replace(conv, residual=residual_of(inputs, conv.result))

    @property
    def result(self) -> TensorType:
        """[N, M, *output] for an input [N, C, *input] and weights [M, C / group, *kernel]."""
        shape = (self.x.shape[0], self.weights.shape[0], *self.window.output)
        return TensorType(self.x.dtype, shape)

    @property
    def groups(self) -> int:
        return int(self.attributes.get("group", 1))

    @property
    def filters(self) -> int:
        """Output channels of one group."""
        return self.weights.shape[0] // self.groups

    def arguments(self, y: Value) -> tuple[Argument, ...]:
        """What ``conv`` and ``conv_direct`` take."""
        channels, images = self.weights.shape[1], self.x.shape[0]
        return (
            *(self.x, self.weights, self.bias, self.residual, y),
            self.window.struct(channels, self.filters, self.groups, images),
            np.float32(self.attributes.get("activation_alpha", 0.0)),
            np.float32(self.attributes.get("activation_beta", 0.0)),
        )

    @property
    def macros(self) -> tuple[tuple[str, str], ...]:
        """What specialises both of them."""
        activation = self.attributes.get("activation", "cg_act_none")
        return ("SCALAR", c_type(self.x.dtype)), ("ACTIVATION", activation)


def _infer_conv(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """Refuses weights and a bias that do not fit the channels."""
    conv = _Conv.of(node, inputs)
    x, weights, bias, groups = conv.x, conv.weights, conv.bias, conv.groups
    if groups < 1 or weights.shape[1] * groups != x.shape[1] or weights.shape[0] % groups:
        raise Unsupported(
            f"Weights of shape {weights.shape} and group={groups} do not fit {x.shape[1]} channels."
        )
    if bias is not None and bias.shape != weights.shape[:1]:
        raise Unsupported(f"A bias of shape {bias.shape} does not fit {weights.shape[0]} filters.")
    return [conv.result]


def _lower_conv(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """One launch, by the kernel that suits the window and the size of a group."""
    conv, y = _Conv.of(node, inputs), required(outputs)
    if conv.groups == 1 and conv.window.is_identity:
        return [_launch_pointwise(conv, y)]
    if conv.groups > 1 and conv.filters <= MAX_DIRECT_FILTERS:
        return [_launch_direct(conv, y)]
    return [_launch_tiled(conv, y)]


def _launch_pointwise(conv: _Conv, y: Value) -> Launch:
    """One matrix product an image, of the weights and all positions as they lie in memory."""
    images, channels = conv.x.shape[:2]
    product = Product(
        conv.filters,
        conv.window.num_outputs,
        channels,
        (images,) if images > 1 else (),
        (0,) if images > 1 else (),
        (channels * conv.window.num_inputs,) if images > 1 else (),
    )
    epilogue = Epilogue(conv.bias, (1, 0), residual=conv.residual)
    epilogue = epilogue.with_activation_of(conv.attributes)
    return launch_product(product, conv.weights, conv.x, y, epilogue)


def _launch_direct(conv: _Conv, y: Value) -> Launch:
    """One thread an output."""
    kernel = (1, *conv.window.kernel)[-2:]
    grid, block = conv.window.grid_and_block(y.shape[0] * y.shape[1])
    return Launch(
        "ops/conv/conv_direct.cu",
        "conv_direct",
        grid,
        block,
        conv.arguments(y),
        (*conv.macros, ("KERNEL_1", str(kernel[0])), ("KERNEL_2", str(kernel[1]))),
    )


def _launch_tiled(conv: _Conv, y: Value, channels_last: bool = False) -> Launch:
    """A matrix product of all images and positions for each group."""
    columns = conv.window.num_outputs * y.shape[0]
    depth = conv.window.num_taps * conv.weights.shape[1]
    tile = choose_tile(conv.filters, columns, conv.groups, y.dtype)
    blocks = ceil_div(columns, tile.columns) * ceil_div(conv.filters, tile.rows) * conv.groups
    return Launch(
        "ops/conv/conv.cu",
        "conv",
        (blocks, 1, 1),
        (tile.threads, 1, 1),
        conv.arguments(y),
        (
            *conv.macros,
            ("VECTOR", vector_width(depth)),
            ("FIRST_AXIS", str(conv.window.first_axis)),
            ("CHANNELS_LAST", str(int(channels_last))),
            *tile.macros,
        ),
    )


def _infer_stem(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """[N, *output, M]."""
    (planes,) = _infer_conv(node, inputs)
    images, filters, *positions = planes.shape
    return [TensorType(planes.dtype, (images, *positions, filters))]


def _lower_stem(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    return [_launch_tiled(_Conv.of(node, inputs), required(outputs), channels_last=True)]


register(
    OpSpec("Conv", 1, _infer_conv, _lower_conv),
    OpSpec("FusedConv", 1, _infer_conv, _lower_conv, domain="cugraphmodel"),
    OpSpec("StemConv", 1, _infer_stem, _lower_stem, domain="cugraphmodel"),
)
