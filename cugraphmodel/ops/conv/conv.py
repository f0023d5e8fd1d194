"""Conv, and its form with an activation fused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, operands_of_one_dtype, required
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


def _infer_conv(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """[N, M, *output] for an input [N, C, *input] and weights [M, C / group, *kernel]."""
    x, weights, bias = conv_operands(node, inputs)
    window = output_window(node.attributes, x.shape[2:], weights.shape[2:])
    groups = node.attributes.get("group", 1)
    if groups < 1 or weights.shape[1] * groups != x.shape[1] or weights.shape[0] % groups:
        raise Unsupported(
            f"Weights of shape {weights.shape} and group={groups} do not fit {x.shape[1]} channels."
        )
    if bias is not None and bias.shape != weights.shape[:1]:
        raise Unsupported(f"A bias of shape {bias.shape} does not fit {weights.shape[0]} filters.")
    return [TensorType(x.dtype, (x.shape[0], weights.shape[0], *window.output))]


def _lower_conv(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """One launch, by the kernel that suits the window and the size of a group."""
    x, weights, _ = conv_operands(node, inputs)
    window = output_window(node.attributes, x.shape[2:], weights.shape[2:])
    groups = node.attributes.get("group", 1)
    if groups == 1 and window.is_identity:
        return [_launch_pointwise(node, inputs, required(outputs), window)]
    if groups > 1 and weights.shape[0] // groups <= MAX_DIRECT_FILTERS:
        return [_launch_direct(node, inputs, required(outputs), window)]
    return [_launch_tiled(node, inputs, required(outputs), window)]


def _launch_pointwise(
    node: Node, inputs: Sequence[Value | None], y: Value, window: Window
) -> Launch:
    """One matrix product an image, of the weights and all positions as they lie in memory."""
    x, weights, bias = conv_operands(node, inputs)
    images, channels = x.shape[:2]
    product = Product(
        weights.shape[0],
        window.num_outputs,
        channels,
        (images,) if images > 1 else (),
        (0,) if images > 1 else (),
        (channels * window.num_inputs,) if images > 1 else (),
    )
    epilogue = Epilogue(bias, (1, 0)).with_activation_of(node.attributes)
    return launch_product(product, weights, x, y, epilogue)


def _launch_direct(node: Node, inputs: Sequence[Value | None], y: Value, window: Window) -> Launch:
    """One thread an output."""
    kernel = (1, *window.kernel)[-2:]
    grid, block = window.grid_and_block(y.shape[0] * y.shape[1])
    return Launch(
        "ops/conv/conv_direct.cu",
        "conv_direct",
        grid,
        block,
        _arguments(node, inputs, y, window),
        (*_macros(node, y), ("KERNEL_1", str(kernel[0])), ("KERNEL_2", str(kernel[1]))),
    )


def _launch_tiled(node: Node, inputs: Sequence[Value | None], y: Value, window: Window) -> Launch:
    """A matrix product of all images and positions for each group."""
    groups = node.attributes.get("group", 1)
    filters, columns = y.shape[1] // groups, window.num_outputs * y.shape[0]
    depth = window.num_taps * conv_operands(node, inputs)[1].shape[1]
    tile = choose_tile(filters, columns, groups, y.dtype)
    return Launch(
        "ops/conv/conv.cu",
        "conv",
        (ceil_div(columns, tile.columns) * ceil_div(filters, tile.rows) * groups, 1, 1),
        (tile.threads, 1, 1),
        _arguments(node, inputs, y, window),
        (
            *_macros(node, y),
            ("VECTOR", vector_width(depth)),
            ("FIRST_AXIS", str(window.first_axis)),
            *tile.macros,
        ),
    )


def _arguments(
    node: Node, inputs: Sequence[Value | None], y: Value, window: Window
) -> tuple[Argument, ...]:
    x, weights, bias = conv_operands(node, inputs)
    groups = node.attributes.get("group", 1)
    return (
        *(x, weights, bias, y),
        window.struct(weights.shape[1], weights.shape[0] // groups, groups, x.shape[0]),
        np.float32(node.attributes.get("activation_alpha", 0.0)),
        np.float32(node.attributes.get("activation_beta", 0.0)),
    )


def _macros(node: Node, y: Value) -> tuple[tuple[str, str], ...]:
    activation = node.attributes.get("activation", "cg_act_none")
    return ("SCALAR", c_type(y.dtype)), ("ACTIVATION", activation)


register(
    OpSpec("Conv", 1, _infer_conv, _lower_conv),
    OpSpec("FusedConv", 1, _infer_conv, _lower_conv, domain="cugraphmodel"),
)
