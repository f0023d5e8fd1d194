"""Elementwise operators with one input: out = f(x)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from cugraphmodel.dtypes import DTYPES, c_type, from_onnx
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import (
    BOOL,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    check_dtype,
    float_attributes,
    required,
)
from cugraphmodel.ops.elementwise.elementwise import elementwise_launch, operand
from cugraphmodel.ops.launch import Launch
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

ROUND_MODES = ("down", "nearest", "up")


def unary(
    op_type: str,
    since_version: int,
    expression: str | Callable[[Node], str],
    dtypes: Iterable[np.dtype] = FLOATS,
    *,
    attributes: Sequence[tuple[str, float]] = (),
    result: np.dtype | None = None,
) -> OpSpec:
    """The spec of an operator with one input and an output of the same shape.

    Args:
        op_type: as in the ONNX operator list.
        since_version: likewise.
        expression: C++ over ``x0``, ``a``, ``b``; or how to choose it.
        dtypes: what the input may be.
        attributes: names and defaults of the float attributes that are ``a`` and ``b``.
        result: dtype of the output, None for that of the input.
    """

    def infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
        x = required(inputs)
        check_dtype(x, dtypes)
        if callable(expression):
            expression(node)
        return [TensorType(result or x.dtype, x.shape)]

    def lower(
        node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
    ) -> list[Launch]:
        return [
            elementwise_launch(
                expression(node) if callable(expression) else expression,
                [operand(required(inputs))],
                operand(required(outputs)),
                float_attributes(node, attributes),
            )
        ]

    return OpSpec(op_type, since_version, infer, lower)


def _gelu(node: Node) -> str:
    approximate = node.attributes.get("approximate", "none")
    if approximate not in ("none", "tanh"):
        raise Unsupported(f"approximate={approximate!r} means nothing; 'none' and 'tanh' do.")
    return "cg_act_gelu(x0, a, b)" if approximate == "none" else "cg_act_gelu_tanh(x0, a, b)"


def _isinf(node: Node) -> str:
    positive = bool(node.attributes.get("detect_positive", 1))
    negative = bool(node.attributes.get("detect_negative", 1))
    if positive and negative:
        return "cg_isinf(x0)"
    return "x0 == CG_INF" if positive else "x0 == -CG_INF" if negative else "false"


def _cast_infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    code = int(node.attributes["to"])
    dtype = from_onnx(code)
    if dtype is None:
        raise Unsupported(f"Casting to ONNX type {code} has no kernel.")
    _cast_expression(node, dtype)
    return [TensorType(dtype, required(inputs).shape)]


def _cast_like_infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    like = required(inputs, 1)
    _cast_expression(node, like.dtype)
    return [TensorType(like.dtype, required(inputs).shape)]


def _cast_expression(node: Node, to: np.dtype) -> str:
    """C++ that rounds ``x0`` as ``saturate`` and ``round_mode`` say; they are for float8 alone."""
    saturate = bool(node.attributes.get("saturate", 1))
    if c_type(to) == "float8_e8m0fnu":
        round_mode = str(node.attributes.get("round_mode", "up"))
        if round_mode not in ROUND_MODES:
            raise Unsupported(f"round_mode={round_mode!r} is none of {', '.join(ROUND_MODES)}.")
        rounding = f"OUT_TYPE::k{round_mode.capitalize()}"
        return f"OUT_TYPE::rounded(cg_round_to_odd(x0), {rounding}, {str(saturate).lower()})"
    if c_type(to).startswith("float8") and not saturate:
        return "OUT_TYPE::unsaturated(cg_round_to_odd(x0))"
    return "x0"


def _cast_lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    out = required(outputs)
    expression = _cast_expression(node, out.dtype)
    return [elementwise_launch(expression, [operand(required(inputs))], operand(out))]


_BOOL_RESULT = np.dtype("bool")
FLOAT8 = tuple(entry.numpy for entry in DTYPES if 17 <= entry.onnx_code <= 20)

register(
    unary("Abs", 6, "el_abs(x0)", NUMBERS),
    unary("Acos", 7, "cg_acos(x0)"),
    unary("Acosh", 9, "cg_acosh(x0)"),
    unary("Asin", 7, "cg_asin(x0)"),
    unary("Asinh", 9, "cg_asinh(x0)"),
    unary("Atan", 7, "cg_atan(x0)"),
    unary("Atanh", 9, "cg_atanh(x0)"),
    unary("BitwiseNot", 18, "~x0", INTEGERS),
    OpSpec("Cast", 6, _cast_infer, _cast_lower),
    OpSpec("CastLike", 15, _cast_like_infer, _cast_lower),
    unary("Ceil", 6, "cg_ceil(x0)"),
    unary("Celu", 12, "cg_act_celu(x0, a, b)", attributes=[("alpha", 1.0)]),
    unary("Cos", 7, "cg_cos(x0)"),
    unary("Cosh", 9, "cg_cosh(x0)"),
    unary("Elu", 6, "cg_act_elu(x0, a, b)", attributes=[("alpha", 1.0)]),
    unary("Erf", 9, "cg_erf(x0)"),
    unary("Exp", 6, "cg_exp(x0)"),
    unary("Floor", 6, "cg_floor(x0)"),
    unary("Gelu", 20, _gelu),
    unary(
        "HardSigmoid",
        6,
        "cg_act_hard_sigmoid(x0, a, b)",
        attributes=[("alpha", 0.2), ("beta", 0.5)],
    ),
    unary("HardSwish", 14, "cg_act_hard_swish(x0, a, b)"),
    unary("IsInf", 10, _isinf, FLOATS + FLOAT8, result=_BOOL_RESULT),
    unary("IsNaN", 9, "cg_isnan(x0)", FLOATS + FLOAT8, result=_BOOL_RESULT),
    unary("LeakyRelu", 6, "cg_act_leaky_relu(x0, a, b)", attributes=[("alpha", 0.01)]),
    unary("Log", 6, "cg_log(x0)"),
    unary("Mish", 18, "cg_act_mish(x0, a, b)"),
    unary("Neg", 6, "el_neg(x0)", FLOATS + SIGNED),
    unary("Not", 1, "!x0", BOOL),
    unary("Reciprocal", 6, "1 / x0"),
    unary("Relu", 6, "el_relu(x0)", FLOATS + SIGNED),
    unary("Round", 11, "cg_round(x0)"),
    unary(
        "Selu",
        6,
        "cg_act_selu(x0, a, b)",
        attributes=[("alpha", 1.67326319217681884765625), ("gamma", 1.05070102214813232421875)],
    ),
    unary("Shrink", 9, "el_shrink(x0, a, b)", NUMBERS, attributes=[("bias", 0.0), ("lambd", 0.5)]),
    unary("Sigmoid", 6, "cg_act_sigmoid(x0, a, b)"),
    unary("Sign", 9, "el_sign(x0)", NUMBERS),
    unary("Sin", 7, "cg_sin(x0)"),
    unary("Sinh", 9, "cg_sinh(x0)"),
    unary("Softplus", 1, "cg_act_softplus(x0, a, b)"),
    unary("Softsign", 1, "cg_act_softsign(x0, a, b)"),
    unary("Sqrt", 6, "cg_sqrt(x0)"),
    unary("Swish", 24, "cg_act_swish(x0, a, b)", attributes=[("alpha", 1.0)]),
    unary("Tan", 7, "cg_tan(x0)"),
    unary("Tanh", 6, "cg_act_tanh(x0, a, b)"),
    unary("ThresholdedRelu", 10, "cg_act_thresholded_relu(x0, a, b)", attributes=[("alpha", 1.0)]),
)
