"""ONNX Runtime's elementwise operators from quantised to quantised tensors, and QLinearConcat."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, normalize_axis, optional, required
from cugraphmodel.ops.launch import Launch, ceil_div, dims, index_type
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.strides import (
    broadcast_shapes,
    broadcast_strides,
    contiguous_strides,
    merge_axes,
)

__all__ = ["BYTES", "MICROSOFT", "Scaled", "output_parameters", "scaled"]

BYTES = (np.dtype("int8"), np.dtype("uint8"))
MICROSOFT = "com.microsoft"
THREADS = 128


@dataclass(frozen=True)
class Scaled:
    """A quantised tensor, or only its parameters: a scale and a zero point, each one number."""

    value: Value | None
    scale: Value
    zero_point: Value | None


def _parameters(
    inputs: Sequence[Value | None], position: int, dtype: np.dtype
) -> tuple[Value, Value | None]:
    """A scale and a zero point from two neighbouring inputs."""
    scale, zero_point = required(inputs, position), optional(inputs, position + 1)
    check_dtype(scale, (np.dtype("float32"),))
    if zero_point is not None:
        check_dtype(zero_point, (dtype,))
    for parameter in filter(None, (scale, zero_point)):
        if parameter.size != 1:
            raise Unsupported(
                f"{parameter.name!r} has shape {parameter.shape}; this operator has one scale and "
                "one zero point for a whole tensor."
            )
    return scale, zero_point


def scaled(inputs: Sequence[Value | None], position: int) -> tuple[Value, Scaled]:
    """The quantised tensor at a position, whose scale and zero point follow it."""
    value = required(inputs, position)
    check_dtype(value, BYTES)
    return value, Scaled(value, *_parameters(inputs, position + 1, value.dtype))


def output_parameters(inputs: Sequence[Value | None], position: int, dtype: np.dtype) -> Scaled:
    """Scale and zero point of the output, from the inputs at a position and behind it."""
    return Scaled(None, *_parameters(inputs, position, dtype))


def _launch(
    expression: str,
    operands: Sequence[Scaled],
    y: Value,
    target: Scaled,
    shape: tuple[int, ...],
    y_strides: tuple[int, ...],
    y_offset: int = 0,
    a: float = 0.0,
) -> Launch:
    """``expression`` over operands that broadcast to ``shape``, stored with strides into ``y``."""
    values = [item.value for item in operands if item.value is not None]
    strides = [broadcast_strides(value.shape, len(shape)) for value in values]
    axes, merged = merge_axes(shape, [*strides, y_strides])
    if not axes:
        axes, merged = (1,), ((0,),) * len(merged)
    *in_strides, out_strides = merged
    size = math.prod(shape)
    steps = [stride[-1] for stride in in_strides]
    outer = (*(stride for part in merged for stride in part[:-1]), axes[-1], y_offset)
    vector = 4 if out_strides[-1] == 1 and all(number % 4 == 0 for number in outer) else 1
    missing = 2 - len(values)
    padded = [*operands, *[None] * missing]
    return Launch(
        "ops/quantize/pointwise.cu",
        "pointwise",
        (ceil_div(size, THREADS * vector), 1, 1),
        (THREADS, 1, 1),
        (
            *(y, *values, *[None] * missing),
            *(target.scale, target.zero_point),
            *(
                parameter
                for item in padded
                for parameter in ((None, None) if item is None else (item.scale, item.zero_point))
            ),
            *(np.int64(size), dims(*axes)),
            *(dims(*stride) for stride in in_strides),
            *[dims()] * missing,
            *(dims(*out_strides), np.int64(y_offset), np.float32(a)),
        ),
        (
            ("QUANTIZED", c_type(y.dtype)),
            ("EXPRESSION", expression),
            *((f"STEP{k}", str(step)) for k, step in enumerate([*steps, *[-1] * missing])),
            ("RANK", str(len(axes))),
            ("VECTOR", str(vector)),
            ("INDEX", index_type(max(size, y.size))),
        ),
    )


def _binary(op_type: str, expression: str) -> OpSpec:
    """The spec of an operator on A and B, each followed by its parameters; then those of C."""

    def operands(inputs: Sequence[Value | None]) -> tuple[Value, list[Scaled], tuple[int, ...]]:
        (a, left), (b, right) = scaled(inputs, 0), scaled(inputs, 3)
        check_dtype(b, (a.dtype,))
        return a, [left, right], broadcast_shapes([a.shape, b.shape])

    def infer(_node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
        a, _, shape = operands(inputs)
        output_parameters(inputs, 6, a.dtype)
        return [TensorType(a.dtype, shape)]

    def lower(
        _node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
    ) -> Sequence[Launch]:
        a, both, shape = operands(inputs)
        target, strides = output_parameters(inputs, 6, a.dtype), contiguous_strides(shape)
        return [_launch(expression, both, required(outputs), target, shape, strides)]

    return OpSpec(op_type, 1, infer, lower, domain=MICROSOFT)


def _unary(op_type: str, expression: str, attribute: str = "", default: float = 0.0) -> OpSpec:
    """The spec of an operator on X, followed by its parameters; then those of Y."""

    def infer(_node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
        x, _ = scaled(inputs, 0)
        output_parameters(inputs, 3, x.dtype)
        return [TensorType(x.dtype, x.shape)]

    def lower(
        node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
    ) -> Sequence[Launch]:
        x, operand = scaled(inputs, 0)
        target, strides = output_parameters(inputs, 3, x.dtype), contiguous_strides(x.shape)
        a = float(node.attributes.get(attribute, default))
        return [_launch(expression, [operand], required(outputs), target, x.shape, strides, a=a)]

    return OpSpec(op_type, 1, infer, lower, domain=MICROSOFT)


# ---- QLinearConcat: y's parameters, then each part with its own


def _parts(node: Node, inputs: Sequence[Value | None]) -> tuple[list[tuple[Value, Scaled]], int]:
    parts = [scaled(inputs, position) for position in range(2, len(inputs), 3)]
    if not parts:
        raise Unsupported("It has nothing to join.")
    first = parts[0][0]
    axis = normalize_axis(int(node.attributes["axis"]), len(first.shape))
    for part, _ in parts:
        check_dtype(part, (first.dtype,))
        others = part.shape[:axis] + part.shape[axis + 1 :]
        if len(part.shape) != len(first.shape) or others != (
            first.shape[:axis] + first.shape[axis + 1 :]
        ):
            raise Unsupported(
                f"Shapes {first.shape} and {part.shape} do not join along axis {axis}."
            )
    return parts, axis


def _infer_concat(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """The parts side by side along the axis."""
    parts, axis = _parts(node, inputs)
    first = parts[0][0]
    output_parameters(inputs, 0, first.dtype)
    total = sum(part.shape[axis] for part, _ in parts)
    return [TensorType(first.dtype, (*first.shape[:axis], total, *first.shape[axis + 1 :]))]


def _lower_concat(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """One launch a part, which lands in its place."""
    parts, axis = _parts(node, inputs)
    y = required(outputs)
    target, strides = output_parameters(inputs, 0, y.dtype), contiguous_strides(y.shape)
    launches, offset = [], 0
    for part, operand in parts:
        if part.size:
            launches.append(_launch("x0", [operand], y, target, part.shape, strides, offset))
        offset += part.shape[axis] * strides[axis]
    return launches


register(
    _binary("QLinearAdd", "x0 + x1"),
    _binary("QLinearMul", "x0 * x1"),
    _unary("QLinearLeakyRelu", "cg_act_leaky_relu(x0, a, b)", "alpha", 0.01),
    _unary("QLinearSigmoid", "cg_act_sigmoid(x0, a, b)"),
    OpSpec("QLinearConcat", 1, _infer_concat, _lower_concat, domain=MICROSOFT),
)
