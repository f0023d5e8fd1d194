"""ONNX Runtime's QLinearAveragePool and QLinearGlobalAveragePool."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import required
from cugraphmodel.ops.launch import Argument, Launch
from cugraphmodel.ops.quantize.pointwise import MICROSOFT, output_parameters, scaled
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.window import Window, output_window

__all__: list[str] = []

LONG_PLANE = 1024
"""From so many positions on, a block of 256 threads rather than one warp reduces a plane."""


def _planes_first(node: Node, x: Value) -> None:
    if node.attributes.get("channels_last", 0):
        raise Unsupported("channels_last=1 has no kernel; channels must be the second axis.")
    if len(x.shape) < 3:
        raise Unsupported(f"An input of shape {x.shape} has no positions to average.")


def _pointers(inputs: Sequence[Value | None], y: Value) -> tuple[Argument, ...]:
    x, operand = scaled(inputs, 0)
    target = output_parameters(inputs, 3, x.dtype)
    return x, operand.scale, operand.zero_point, target.scale, target.zero_point, y


def _window(node: Node, inputs: Sequence[Value | None]) -> Window:
    x, _ = scaled(inputs, 0)
    output_parameters(inputs, 3, x.dtype)
    _planes_first(node, x)
    if "kernel_shape" not in node.attributes:
        raise Unsupported("The attribute kernel_shape is left out.")
    window = output_window(node.attributes, x.shape[2:], node.attributes["kernel_shape"])
    if window.num_taps >= 2**23:
        raise Unsupported(f"The sum over a window of {window.num_taps} positions may overflow.")
    return window


def _infer_average(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """[N, C, *output]."""
    x = required(inputs)
    return [TensorType(x.dtype, (*x.shape[:2], *_window(node, inputs).output))]


def _lower_average(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """One thread an output."""
    window, y = _window(node, inputs), required(outputs)
    grid, block = window.grid_and_block(y.shape[0] * y.shape[1])
    return [
        Launch(
            "ops/pool/quantized_pool.cu",
            "quantized_average_pool",
            grid,
            block,
            (
                *_pointers(inputs, y),
                window.struct(),
                np.int32(node.attributes.get("count_include_pad", 0)),
            ),
            (("SCALAR", c_type(y.dtype)),),
        )
    ]


def _infer_global(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """[N, C, 1, ...] for an input [N, C, ...]."""
    x, _ = scaled(inputs, 0)
    output_parameters(inputs, 3, x.dtype)
    _planes_first(node, x)
    if not 1 <= math.prod(x.shape[2:]) < 2**31:
        raise Unsupported(f"An input of {x.shape} has no positions, or 2^31 or more a channel.")
    return [TensorType(x.dtype, (*x.shape[:2], *[1] * (len(x.shape) - 2)))]


def _lower_global(
    _node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """One block a plane."""
    x, y = required(inputs), required(outputs)
    size = math.prod(x.shape[2:])
    return [
        Launch(
            "ops/pool/quantized_global_pool.cu",
            "quantized_global_pool",
            (y.size, 1, 1),
            (256 if size >= LONG_PLANE else 32, 1, 1),
            (*_pointers(inputs, y), np.int32(size)),
            (("SCALAR", c_type(y.dtype)),),
        )
    ]


register(
    OpSpec("QLinearAveragePool", 1, _infer_average, _lower_average, domain=MICROSOFT),
    OpSpec("QLinearGlobalAveragePool", 1, _infer_global, _lower_global, domain=MICROSOFT),
)
