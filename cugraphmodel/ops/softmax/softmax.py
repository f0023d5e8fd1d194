"""Softmax, LogSoftmax and Hardmax."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, check_dtype, normalize_axis, required
from cugraphmodel.ops.launch import Launch, Workspace, ceil_div
from cugraphmodel.ops.reduce.arg_reduce import arg_reduce_launch
from cugraphmodel.ops.reduce.geometry import column_plan, row_plan
from cugraphmodel.ops.spec import OpSpec, register

__all__: list[str] = []

SOURCE = "ops/softmax/softmax.cu"


def _infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    x = required(inputs)
    check_dtype(x, FLOATS)
    _sizes(node, x)
    return [TensorType(x.dtype, x.shape)]


def _sizes(node: Node, x: Value) -> tuple[int, int, int]:
    """The input as (outer, axis, inner).

    Before version 13 all dimensions from the axis on are one.
    """
    flattens = node.version < 13
    axis = normalize_axis(int(node.attributes.get("axis", 1 if flattens else -1)), len(x.shape))
    end = len(x.shape) if flattens else axis + 1
    return math.prod(x.shape[:axis]), math.prod(x.shape[axis:end]), math.prod(x.shape[end:])


def _lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    x, out = required(inputs), required(outputs)
    outer, axis_size, inner = _sizes(node, x)
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


def _hardmax_lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    x, out = required(inputs), required(outputs)
    outer, axis_size, inner = _sizes(node, x)
    positions = Workspace(outer * inner * 8)
    return [
        arg_reduce_launch(x, (outer, axis_size, inner), positions, largest=True, last=False),
        Launch(
            source="ops/softmax/hardmax.cu",
            entry="hardmax",
            grid=(ceil_div(x.size, 128), 1, 1),
            block=(128, 1, 1),
            args=(out, positions, *map(np.int64, (x.size, axis_size, inner))),
            macros=(("SCALAR", c_type(x.dtype)),),
        ),
    ]


register(
    OpSpec("Hardmax", 1, _infer, _hardmax_lower),
    OpSpec("LogSoftmax", 1, _infer, _lower),
    OpSpec("Softmax", 1, _infer, _lower),
)
