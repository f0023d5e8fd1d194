"""The one elementwise kernel: an expression over up to three operands that broadcast.

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
    "Operand",
    "elementwise_launch",
    "operand",
]

MAX_OPERANDS = 3
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
) -> Launch:
    """A launch of ``output = expression``.

    Args:
        expression: C++ over ``x0``, ``x1``, ``x2`` (the operands, 16-bit floats as float) and
            ``a``, ``b`` (the scalars); its value is cast to the output's type.
        operands: one to three; they broadcast to the output's shape.
        output: may be one of the operands.
        scalars: at most two, passed as float32.
        steps: C++ statements before the expression, which may use what they define.
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
    missing = MAX_OPERANDS - len(operands)
    types = [item.dtype for item in operands] + [output.dtype] * missing
    a, b = (*scalars, 0.0, 0.0)[:2]
    return Launch(
        source=SOURCE,
        entry="elementwise",
        grid=(ceil_div(size, THREADS * vector), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            output.source,
            *(item.source for item in operands),
            *[None] * missing,
            np.int64(size),
            dims(*shape),
            *(dims(*stride) for stride in strides),
            *[dims()] * missing,
            np.float32(a),
            np.float32(b),
        ),
        macros=(
            *([("STEPS", steps)] if steps else []),
            ("EXPRESSION", expression),
            ("OUT_TYPE", c_type(output.dtype)),
            *((f"TYPE{k}", c_type(dtype)) for k, dtype in enumerate(types)),
            *((f"STEP{k}", str(step)) for k, step in enumerate(inner_strides + [-1] * missing)),
            ("RANK", str(len(shape))),
            ("VECTOR", str(vector)),
            ("INDEX", index_type(size)),
        ),
    )
