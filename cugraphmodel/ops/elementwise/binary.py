"""Elementwise operators with two inputs that broadcast: out = f(x, y)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from cugraphmodel.dtypes import kind_of
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import ANY, BOOL, FLOATS, INTEGERS, NUMBERS, check_dtype, required
from cugraphmodel.ops.elementwise.elementwise import elementwise_launch, operand
from cugraphmodel.ops.launch import Launch
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.strides import broadcast_shapes

__all__: list[str] = []


def binary(
    op_type: str,
    since_version: int,
    expression: str | Callable[[Node, np.dtype], str],
    dtypes: Iterable[np.dtype] = NUMBERS,
    *,
    second_dtypes: Iterable[np.dtype] | None = None,
    result: np.dtype | None = None,
    unidirectional: bool = False,
) -> OpSpec:
    """The spec of an operator with two inputs.

    Args:
        op_type: as in the ONNX operator list.
        since_version: likewise.
        expression: C++ over ``x0`` and ``x1``; or how to choose it, from the node and the dtype.
        dtypes: what the first input may be.
        second_dtypes: what the second may be; None where it must be as the first.
        result: dtype of the output, None for that of the first input.
        unidirectional: whether only the second input may be repeated.
    """

    def infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
        x, y = required(inputs), required(inputs, 1)
        check_dtype(x, dtypes)
        check_dtype(y, (x.dtype,) if second_dtypes is None else second_dtypes)
        if callable(expression):
            expression(node, x.dtype)
        shape = broadcast_shapes([x.shape, y.shape])
        if unidirectional and shape != x.shape:
            raise Unsupported(f"The shape {list(y.shape)} does not broadcast to {list(x.shape)}.")
        return [TensorType(result or x.dtype, shape)]

    def lower(
        node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
    ) -> list[Launch]:
        x, y = required(inputs), required(inputs, 1)
        chosen = expression(node, x.dtype) if callable(expression) else expression
        operands = [operand(x), operand(y)]
        return [elementwise_launch(chosen, operands, operand(required(outputs)))]

    return OpSpec(op_type, since_version, infer, lower)


def _mod(node: Node, dtype: np.dtype) -> str:
    if node.attributes.get("fmod", 0):
        return "el_fmod(x0, x1)"
    if kind_of(dtype) == "f" and node.version < 28:
        raise Unsupported(
            f"Before opset 28, Mod with fmod=0 is for integers, not {dtype.name}; set fmod=1."
        )
    return "el_mod(x0, x1)"


def _bit_shift(node: Node, _dtype: np.dtype) -> str:
    direction = node.attributes.get("direction")
    if direction not in ("LEFT", "RIGHT"):
        raise Unsupported(f"direction={direction!r} means nothing; 'LEFT' and 'RIGHT' do.")
    return "el_shift_left(x0, x1)" if direction == "LEFT" else "el_shift_right(x0, x1)"


_BOOL_RESULT = np.dtype("bool")
_POW_BASES = (*FLOATS, np.dtype("int32"), np.dtype("int64"))

register(
    binary("Add", 7, "el_add(x0, x1)"),
    binary("And", 7, "x0 && x1", BOOL, result=_BOOL_RESULT),
    binary("BitShift", 11, _bit_shift, INTEGERS),
    binary("BitwiseAnd", 18, "x0 & x1", INTEGERS),
    binary("BitwiseOr", 18, "x0 | x1", INTEGERS),
    binary("BitwiseXor", 18, "x0 ^ x1", INTEGERS),
    binary("Div", 7, "el_div(x0, x1)"),
    binary("Equal", 7, "x0 == x1", ANY, result=_BOOL_RESULT),
    binary("Greater", 7, "x0 > x1", result=_BOOL_RESULT),
    binary("GreaterOrEqual", 12, "x0 >= x1", result=_BOOL_RESULT),
    binary("Less", 7, "x0 < x1", result=_BOOL_RESULT),
    binary("LessOrEqual", 12, "x0 <= x1", result=_BOOL_RESULT),
    binary("Mod", 10, _mod),
    binary("Mul", 7, "el_mul(x0, x1)"),
    binary("Or", 7, "x0 || x1", BOOL, result=_BOOL_RESULT),
    binary("PRelu", 7, "el_prelu(x0, x1)", unidirectional=True),
    binary("Pow", 7, "el_pow(x0, x1)", _POW_BASES, second_dtypes=NUMBERS),
    binary("Sub", 7, "el_sub(x0, x1)"),
    binary("Xor", 7, "x0 != x1", BOOL, result=_BOOL_RESULT),
)
