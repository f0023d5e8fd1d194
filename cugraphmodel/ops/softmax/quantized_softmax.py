"""ONNX Runtime's QLinearSoftmax."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import normalize_axis, required
from cugraphmodel.ops.launch import Launch, ceil_div
from cugraphmodel.ops.quantize.pointwise import MICROSOFT, output_parameters, scaled
from cugraphmodel.ops.spec import OpSpec, register

__all__: list[str] = []

WARPS = 4


def _infer(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    x, _ = scaled(inputs, 0)
    output_parameters(inputs, 3, x.dtype)
    _sizes(node, x)
    return [TensorType(x.dtype, x.shape)]


def _sizes(node: Node, x: Value) -> tuple[int, int, int]:
    """The input as (outer, axis, inner).

    Before opset 13 all dimensions from the axis on are one.
    """
    flattens = int(node.attributes["opset"]) < 13
    axis = normalize_axis(int(node.attributes.get("axis", -1)), len(x.shape))
    end = len(x.shape) if flattens else axis + 1
    return math.prod(x.shape[:axis]), math.prod(x.shape[axis:end]), math.prod(x.shape[end:])


def _lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """One warp a softmax."""
    x, operand = scaled(inputs, 0)
    target = output_parameters(inputs, 3, x.dtype)
    outer, size, inner = _sizes(node, x)
    return [
        Launch(
            "ops/softmax/quantized_softmax.cu",
            "quantized_softmax",
            (ceil_div(outer * inner, WARPS), 1, 1),
            (32 * WARPS, 1, 1),
            (
                *(x, operand.scale, target.scale, target.zero_point, required(outputs)),
                *(np.int64(outer * inner), np.int64(size), np.int64(inner)),
            ),
            (("SCALAR", c_type(x.dtype)),),
        )
    ]


register(OpSpec("QLinearSoftmax", 1, _infer, _lower, domain=MICROSOFT))
