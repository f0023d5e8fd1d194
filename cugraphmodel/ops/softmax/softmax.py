"""Softmax and LogSoftmax."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import normalize_axis, required
from cugraphmodel.ops.elementwise.elementwise import FLOATS, check_dtype
from cugraphmodel.ops.launch import Launch
from cugraphmodel.ops.reduce.geometry import column_plan, row_plan
from cugraphmodel.ops.spec import OpSpec, register

__all__: list[str] = []

SOURCE = "ops/softmax/softmax.cu"


def _infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    x = required(inputs)
    check_dtype(x, FLOATS)
    normalize_axis(_axis(node), len(x.shape))
    return [TensorType(x.dtype, x.shape)]


def _axis(node: Node) -> int:
    return int(node.attributes.get("axis", -1 if node.version >= 13 else 1))


def _lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    x, out = required(inputs), required(outputs)
    axis = normalize_axis(_axis(node), len(x.shape))
    # Before version 13 all dimensions from the axis on are one.
    end = axis + 1 if node.version >= 13 else len(x.shape)
    outer = math.prod(x.shape[:axis])
    axis_size, inner = math.prod(x.shape[axis:end]), math.prod(x.shape[end:])
    rows, columns = row_plan(outer, axis_size), column_plan(outer * inner, axis_size)
    macros = (
        ("SCALAR", c_type(x.dtype)),
        ("LOGARITHM", str(int(node.op_type == "LogSoftmax"))),
        *rows.macros,
        *columns.macros,
    )
    if inner == 1:
        sizes = (np.int64(outer), np.int64(axis_size))
        return [Launch(SOURCE, "softmax_rows", rows.grid, rows.block, (out, x, *sizes), macros)]
    arguments = (out, x, np.int64(outer * inner), np.int64(axis_size), np.int64(inner))
    return [Launch(SOURCE, "softmax_columns", columns.grid, columns.block, arguments, macros)]


register(*(OpSpec(op_type, 1, _infer, _lower) for op_type in ("Softmax", "LogSoftmax")))
