"""ConvInteger and QLinearConv."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, optional, required
from cugraphmodel.ops.launch import Argument, Launch, ceil_div
from cugraphmodel.ops.matmul.product import Product, vector_width
from cugraphmodel.ops.matmul.quantized_product import (
    BYTES,
    Outcome,
    Quantized,
    choose_tile,
    launch_quantized,
)
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.window import Window, output_window

__all__: list[str] = []

INT32, FLOAT32 = np.dtype("int32"), np.dtype("float32")
MAX_DIRECT_FILTERS = 4
"""Up to so many output channels a group, a tile of the matrix product would be mostly empty."""
TILE_WORDS = 8
"""More, on the way to shared memory a byte at a time, would not fit into registers."""


@dataclass(frozen=True)
class _QuantizedConv:
    """Operands with their scales and zero points, what becomes of a sum, and the geometry.

    ``weights`` and ``x`` are the left and the right operand of the product.
    """

    weights: Quantized
    x: Quantized
    weights_shape: tuple[int, ...]
    x_shape: tuple[int, ...]
    window: Window
    groups: int
    outcome: Outcome

    @staticmethod
    def of(
        node: Node,
        x: tuple[Value, Value | None, Value | None],
        weights: tuple[Value, Value | None, Value | None],
        outcome: Outcome,
    ) -> _QuantizedConv:
        """The convolution of a node, if its inputs fit together.

        Args:
            node: has the attributes of Conv.
            x: bytes, zero point and scale.
            weights: likewise.
            outcome: with a bias for each filter.
        """
        shape, kernel_shape = x[0].shape, weights[0].shape
        groups = int(node.attributes.get("group", 1))
        if len(shape) < 3 or len(kernel_shape) != len(shape):
            raise Unsupported(f"An input of {shape} and weights of {kernel_shape} do not fit.")
        given = tuple(node.attributes.get("kernel_shape", kernel_shape[2:]))
        if given != kernel_shape[2:]:
            raise Unsupported(f"kernel_shape={list(given)}, but the weights are {kernel_shape}.")
        if groups < 1 or kernel_shape[1] * groups != shape[1] or kernel_shape[0] % groups:
            raise Unsupported(
                f"Weights of {kernel_shape} and group={groups} do not fit {shape[1]} channels."
            )
        bias = outcome.bias
        filters = kernel_shape[0]
        if bias is not None and (bias.size != filters or filters not in bias.shape):
            raise Unsupported(f"A bias of {bias.shape} does not fit {kernel_shape[0]} filters.")
        return _QuantizedConv(
            Quantized.of(*weights, axis=-len(kernel_shape)),
            Quantized.of(*x, axis=None),
            kernel_shape,
            shape,
            output_window(node.attributes, shape[2:], kernel_shape[2:]),
            groups,
            outcome,
        )

    @property
    def filters(self) -> int:
        """Output channels of one group."""
        return self.weights_shape[0] // self.groups

    @property
    def output_shape(self) -> tuple[int, ...]:
        """[N, M, *output]."""
        return (self.x_shape[0], self.weights_shape[0], *self.window.output)

    def launch(self, y: Value) -> Launch:
        """One launch, by the kernel that suits the window and the size of a group."""
        if self.groups == 1 and self.window.is_identity:
            return self._launch_pointwise(y)
        if self.groups > 1 and self.filters <= MAX_DIRECT_FILTERS:
            return self._launch_direct(y)
        return self._launch_tiled(y)

    def _launch_pointwise(self, y: Value) -> Launch:
        """One matrix product an image, of the weights and all positions as they lie in memory."""
        images, channels = self.x_shape[:2]
        product = Product(
            self.filters,
            self.window.num_outputs,
            channels,
            (images,) if images > 1 else (),
            (0,) if images > 1 else (),
            (channels * self.window.num_inputs,) if images > 1 else (),
        )
        return launch_quantized(product, self.weights, self.x, y, self.outcome)

    def _launch_direct(self, y: Value) -> Launch:
        """One thread an output."""
        kernel = (1, *self.window.kernel)[-2:]
        grid, block = self.window.grid_and_block(y.shape[0] * y.shape[1])
        return Launch(
            "ops/conv/quantized_conv_direct.cu",
            "quantized_conv_direct",
            grid,
            block,
            self._arguments(y),
            (
                *self.outcome.macros(self.weights, self.x, y.dtype, FLOAT32),
                ("KERNEL_1", str(kernel[0])),
                ("KERNEL_2", str(kernel[1])),
            ),
        )

    def _launch_tiled(self, y: Value) -> Launch:
        """A matrix product of all images and positions for each group."""
        columns = self.window.num_outputs * y.shape[0]
        depth = self.window.num_taps * self.weights_shape[1]
        tile = replace(choose_tile(self.filters, columns, self.groups), words=TILE_WORDS)
        tiles = ceil_div(columns, tile.columns) * ceil_div(self.filters, tile.rows)
        return Launch(
            "ops/conv/quantized_conv.cu",
            "quantized_conv",
            (tiles * self.groups, 1, 1),
            (tile.threads, 1, 1),
            self._arguments(y),
            (
                *self.outcome.macros(self.weights, self.x, y.dtype, FLOAT32),
                ("LEFT_SUMS", str(int(self.x.has_zero_point))),
                ("RIGHT_SUMS", str(int(self.weights.has_zero_point))),
                ("VECTOR", vector_width(depth)),
                ("FIRST_AXIS", str(self.window.first_axis)),
                *tile.macros,
            ),
        )

    def _arguments(self, y: Value) -> tuple[Argument, ...]:
        channels, images = self.weights_shape[1], self.x_shape[0]
        return (
            *(self.weights.source, self.x.source, y),
            *self.outcome.arguments(self.weights, self.x),
            self.window.struct(channels, self.filters, self.groups, images),
            self.outcome.counts(self.weights, self.x),
            np.float32(self.outcome.alpha),
        )


# ---- ConvInteger: x, weights, their zero points


def _conv_integer(node: Node, inputs: Sequence[Value | None]) -> _QuantizedConv:
    x = required(inputs), optional(inputs, 2), None
    return _QuantizedConv.of(node, x, (required(inputs, 1), optional(inputs, 3), None), Outcome())


def _infer_conv_integer(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """int32 [N, M, *output]."""
    return [TensorType(INT32, _conv_integer(node, inputs).output_shape)]


def _lower_conv_integer(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    return [_conv_integer(node, inputs).launch(required(outputs))]


# ---- FusedConvInteger, which passes make: x, weights, their scales, their zero points, bias. The
# sums are scaled, and the bias is added to that.


def _fused_conv(node: Node, inputs: Sequence[Value | None]) -> _QuantizedConv:
    scales, bias = (optional(inputs, 2), required(inputs, 3)), optional(inputs, 6)
    for value in filter(None, (*scales, bias)):
        check_dtype(value, (FLOAT32,))
    return _QuantizedConv.of(
        node,
        (required(inputs), optional(inputs, 4), scales[0]),
        (required(inputs, 1), optional(inputs, 5), scales[1]),
        Outcome(bias, (1, 0)),
    )


def _infer_fused_conv(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """float32 [N, M, *output]."""
    return [TensorType(FLOAT32, _fused_conv(node, inputs).output_shape)]


def _lower_fused_conv(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    return [_fused_conv(node, inputs).launch(required(outputs))]


# ---- QLinearConv: x, weights, y, each with scale and zero point, and bias


def _qlinear_conv(node: Node, inputs: Sequence[Value | None]) -> _QuantizedConv:
    scales = [required(inputs, position) for position in (1, 4, 6)]
    for scale in scales:
        check_dtype(scale, (FLOAT32,))
    bias, y_zero_point = optional(inputs, 8), required(inputs, 7)
    if bias is not None:
        check_dtype(bias, (INT32,))
    check_dtype(y_zero_point, BYTES)
    if scales[2].size != 1 or y_zero_point.size != 1:
        raise Unsupported("y_scale and y_zero_point must be single numbers.")
    return _QuantizedConv.of(
        node,
        (required(inputs), optional(inputs, 2), scales[0]),
        (required(inputs, 3), optional(inputs, 5), scales[1]),
        Outcome(bias, (1, 0), scales[2], y_zero_point),
    )


def _infer_qlinear_conv(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """[N, M, *output] in the type of ``y_zero_point``."""
    return [TensorType(required(inputs, 7).dtype, _qlinear_conv(node, inputs).output_shape)]


def _lower_qlinear_conv(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    return [_qlinear_conv(node, inputs).launch(required(outputs))]


register(
    OpSpec("ConvInteger", 10, _infer_conv_integer, _lower_conv_integer),
    OpSpec("FusedConvInteger", 1, _infer_fused_conv, _lower_fused_conv, domain="cugraphmodel"),
    OpSpec("QLinearConv", 10, _infer_qlinear_conv, _lower_qlinear_conv),
)
