"""Normalisations over any axes, made of reductions and elementwise launches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, check_dtype, normalize_axes, normalize_axis, required
from cugraphmodel.ops.elementwise.elementwise import Operand, elementwise_launch, operand
from cugraphmodel.ops.launch import Launch, Workspace
from cugraphmodel.ops.reduce.reduce import Reduction, reduce_launches
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

_MEAN = Reduction("Sum", "x", "total / count")
_DEVIATION = Reduction("Sum", "x * x", "cg_sqrt(total / count)")
_NORMS = {1: Reduction("Sum", "cg_abs(x)"), 2: Reduction("Sum", "x * x", "cg_sqrt(total)")}


def _scratch(dtype: np.dtype, shape: tuple[int, ...]) -> Operand:
    """Scratch memory in the type that elements of ``dtype`` are computed in."""
    compute = np.promote_types(dtype, np.float32)
    return Operand(Workspace(math.prod(shape) * compute.itemsize), compute, shape)


def _reduced(shape: tuple[int, ...], axes: frozenset[int]) -> tuple[int, ...]:
    return tuple(1 if axis in axes else size for axis, size in enumerate(shape))


def _lp_infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    x = required(inputs)
    check_dtype(x, FLOATS)
    _lp_arguments(node, x)
    return [TensorType(x.dtype, x.shape)]


def _lp_arguments(node: Node, x: Value) -> tuple[frozenset[int], Reduction]:
    order = int(node.attributes.get("p", 2))
    if order not in _NORMS:
        raise Unsupported(f"p={order} is not a norm that the operator knows; 1 and 2 are.")
    axis = normalize_axis(int(node.attributes.get("axis", -1)), len(x.shape))
    return frozenset([axis]), _NORMS[order]


def _lp_lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    """A norm of zero gives zeros."""
    x, out = required(inputs), required(outputs)
    axes, norm = _lp_arguments(node, x)
    length = _scratch(x.dtype, _reduced(x.shape, axes))
    return [
        *reduce_launches(norm, operand(x), axes, length),
        elementwise_launch("x1 == 0 ? x1 : x0 / x1", [operand(x), length], operand(out)),
    ]


def _mean_variance_infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    x = required(inputs)
    check_dtype(x, FLOATS)
    _mean_variance_axes(node, x)
    return [TensorType(x.dtype, x.shape)]


def _mean_variance_axes(node: Node, x: Value) -> frozenset[int]:
    return frozenset(normalize_axes(node.attributes.get("axes", (0, 2, 3)), len(x.shape)))


def _mean_variance_lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    """``(x - mean) / (deviation + 1e-9)``, as in the operator's function body."""
    x, out = required(inputs), required(outputs)
    axes = _mean_variance_axes(node, x)
    mean = _scratch(x.dtype, _reduced(x.shape, axes))
    deviation = _scratch(x.dtype, mean.shape)
    centered = _scratch(x.dtype, x.shape)
    divide = elementwise_launch("x0 / (x1 + a)", [centered, deviation], operand(out), [1e-9])
    return [
        *reduce_launches(_MEAN, operand(x), axes, mean),
        elementwise_launch("x0 - x1", [operand(x), mean], centered),
        *reduce_launches(_DEVIATION, centered, axes, deviation),
        divide,
    ]


register(
    OpSpec("LpNormalization", 1, _lp_infer, _lp_lower),
    OpSpec("MeanVarianceNormalization", 9, _mean_variance_infer, _mean_variance_lower),
)
