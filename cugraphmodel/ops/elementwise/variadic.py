"""Elementwise operators with any number of inputs that broadcast, and those with three."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import BFLOAT16
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import (
    ANY,
    BOOL,
    FLOATS,
    NUMBERS,
    check_dtype,
    float_attributes,
    optional,
    required,
)
from cugraphmodel.ops.elementwise.elementwise import (
    MAX_OPERANDS,
    Operand,
    elementwise_launch,
    operand,
)
from cugraphmodel.ops.launch import Launch, Workspace
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.strides import broadcast_shapes

__all__: list[str] = []

FLOAT32 = np.dtype("float32")
HALVES = (np.dtype("float16"), BFLOAT16)


def variadic(
    op_type: str, since_version: int, function: str, dtypes: tuple[np.dtype, ...]
) -> OpSpec:
    """The spec of ``function(... function(x0, x1) ..., xn)``."""

    def infer(_node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
        values = [required(inputs, position) for position in range(len(inputs))]
        first = required(inputs)
        check_dtype(first, dtypes)
        for value in values[1:]:
            check_dtype(value, (first.dtype,))
        return [TensorType(first.dtype, broadcast_shapes([value.shape for value in values]))]

    def lower(
        _node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
    ) -> list[Launch]:
        mean = op_type == "Mean"
        return _fold(function, inputs, operand(required(outputs)), mean=mean)

    return OpSpec(op_type, since_version, infer, lower)


def _fold(
    function: str, inputs: Sequence[Value | None], output: Operand, *, mean: bool
) -> list[Launch]:
    """Six operands a launch, the first of which is what the launches before have made.

    16-bit floats are carried from launch to launch in float32, so that the result is rounded once.
    """
    left = [operand(required(inputs, position)) for position in range(len(inputs))]
    carried = output
    if output.dtype in HALVES and len(left) > MAX_OPERANDS:
        num_bytes = math.prod(output.shape) * FLOAT32.itemsize
        carried = Operand(Workspace(num_bytes), FLOAT32, output.shape)
    launches = []
    while True:
        now, left = left[:MAX_OPERANDS], left[MAX_OPERANDS:]
        expression = "x0"
        for number in range(1, len(now)):
            expression = f"{function}({expression}, x{number})"
        if mean and not left:
            expression = f"{expression} / a"
        target = carried if left else output
        launches.append(elementwise_launch(expression, now, target, (len(inputs),)))
        if not left:
            return launches
        left = [carried, *left]


def _where_infer(_node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    condition, x, y = (required(inputs, position) for position in range(3))
    check_dtype(condition, BOOL)
    check_dtype(x, ANY)
    check_dtype(y, (x.dtype,))
    return [TensorType(x.dtype, broadcast_shapes([condition.shape, x.shape, y.shape]))]


def _where_lower(
    _node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    operands = [operand(required(inputs, position)) for position in range(3)]
    return [elementwise_launch("x0 ? x1 : x2", operands, operand(required(outputs)))]


def _clip_infer(_node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    x = required(inputs)
    check_dtype(x, NUMBERS)
    for bound in filter(None, inputs[1:]):
        check_dtype(bound, (x.dtype,))
        if bound.size != 1:
            raise Unsupported(
                f"The bound {bound.name!r} has shape {list(bound.shape)}, not a scalar's."
            )
    return [TensorType(x.dtype, x.shape)]


def _clip_lower(
    _node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    """A bound that is left out does not bound: infinities pass, as in NumPy's ``clip``."""
    operands = [operand(required(inputs))]
    expression = "x0"
    for position, function in ((1, "cg_max"), (2, "cg_min")):
        bound = optional(inputs, position)
        if bound is not None:
            expression = f"{function}({expression}, x{len(operands)})"
            operands.append(Operand(bound, bound.dtype, ()))
    return [elementwise_launch(expression, operands, operand(required(outputs)))]


def _clip_6_lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    """The bounds are attributes, whose defaults are the largest finite float32 numbers."""
    largest = float(np.finfo(np.float32).max)
    bounds = float_attributes(node, [("min", -largest), ("max", largest)])
    x, output = operand(required(inputs)), operand(required(outputs))
    return [elementwise_launch("cg_act_clip(x0, a, b)", [x], output, bounds)]


def _clip_6_infer(_node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    x = required(inputs)
    check_dtype(x, FLOATS)
    return [TensorType(x.dtype, x.shape)]


register(
    OpSpec("Clip", 6, _clip_6_infer, _clip_6_lower),
    OpSpec("Clip", 11, _clip_infer, _clip_lower),
    variadic("Max", 6, "cg_max", NUMBERS),
    variadic("Mean", 6, "el_add", FLOATS),
    variadic("Min", 6, "cg_min", NUMBERS),
    variadic("Sum", 6, "el_add", FLOATS),
    OpSpec("Where", 9, _where_infer, _where_lower),
)
