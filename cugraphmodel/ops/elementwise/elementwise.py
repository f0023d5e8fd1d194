"""The one elementwise kernel: an expression over up to six operands that broadcast.

The operators are tables of expressions; see :mod:`cugraphmodel.ops.elementwise.unary` and its
neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Value
from cugraphmodel.ops.launch import Launch, Workspace, ceil_div, dims, index_type
from cugraphmodel.ops.strides import broadcast_strides, merge_axes

__all__ = [
    "MAX_OPERANDS",
    "SOURCE",
    "Operand",
    "elementwise_launch",
    "operand",
]

MAX_OPERANDS = 6
THREADS = 128
SOURCE = "ops/elementwise/elementwise.cu"


@dataclass(frozen=True, eq=False)
class Operand:
    """A tensor that an expression reads: where it is, its element type and its shape."""

    source: Value | Workspace
    dtype: np.dtype
    shape: tuple[int, ...]


def operand(value: Value) -> Operand:
    """A value as an operand."""
    return Operand(value, value.dtype, value.shape)


def elementwise_launch(
    expression: str,
    operands: Sequence[Operand],
    output: Operand,
    scalars: Sequence[float] = (),
    *,
    steps: str = "",
    second: tuple[str, Operand] | None = None,
) -> Launch:
    """A launch of ``output = expression``.

    Args:
        expression: C++ over ``x0``, ``x1``, ... (the operands, 16-bit floats as float) and
            ``a``, ``b`` (the scalars); its value is cast to the output's type.
        operands: one to six; they broadcast to the output's shape.
        output: may be one of the operands.
        scalars: at most two, passed as float32.
        steps: C++ statements before the expression, which may use what they define.
        second: another expression, and an output of the same shape that it goes to.
    """
    rank = len(output.shape)
    shape, strides = merge_axes(
        output.shape, [broadcast_strides(item.shape, rank) for item in operands]
    )
    if not shape:
        shape, strides = (1,), ((0,),) * len(operands)
    size = math.prod(output.shape)
    inner_strides = [stride[-1] for stride in strides]
    vector = 4 if len(shape) == 1 or shape[-1] % 4 == 0 else 1
    a, b = (*scalars, 0.0, 0.0)[:2]
    return Launch(
        source=SOURCE,
        entry="elementwise",
        grid=(ceil_div(size, THREADS * vector), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            output.source,
            *(item.source for item in operands),
            *[None] * (MAX_OPERANDS - len(operands)),
            None if second is None else second[1].source,
            np.int64(size),
            dims(*shape),
            np.concatenate([dims(*stride) for stride in strides]),
            np.float32(a),
            np.float32(b),
        ),
        macros=(
            *([("STEPS", steps)] if steps else []),
            *([] if second is None else _second_macros(*second)),
            ("EXPRESSION", expression),
            ("OUT_TYPE", c_type(output.dtype)),
            ("OPERANDS", str(len(operands))),
            *((f"TYPE{k}", c_type(item.dtype)) for k, item in enumerate(operands)),
            *((f"STEP{k}", str(step)) for k, step in enumerate(inner_strides)),
            ("RANK", str(len(shape))),
            ("VECTOR", str(vector)),
            ("INDEX", index_type(size)),
        ),
    )


def _second_macros(expression: str, output: Operand) -> list[tuple[str, str]]:
    return [("SECOND", expression), ("SECOND_TYPE", c_type(output.dtype))]
