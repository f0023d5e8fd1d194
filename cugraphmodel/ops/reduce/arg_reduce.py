"""ArgMax and ArgMin."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import NUMBERS, check_dtype, normalize_axis, required
from cugraphmodel.ops.launch import Launch, Workspace
from cugraphmodel.ops.reduce.geometry import column_plan, row_plan
from cugraphmodel.ops.reduce.reduce import Reduction
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__ = ["arg_reduce_launch"]

SOURCE = "ops/reduce/arg_reduce.cu"


def _axis(node: Node, x: Value) -> int:
    return normalize_axis(int(node.attributes.get("axis", 0)), len(x.shape))


def _infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    x = required(inputs)
    check_dtype(x, NUMBERS)
    axis = _axis(node, x)
    if x.shape[axis] == 0:
        raise Unsupported(
            f"Axis {axis} of the input {x} is empty, so that no element is the extreme one."
        )
    kept = (1,) if node.attributes.get("keepdims", 1) else ()
    return [TensorType(np.dtype("int64"), x.shape[:axis] + kept + x.shape[axis + 1 :])]


def _lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    x = required(inputs)
    axis = _axis(node, x)
    sizes = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])
    last = bool(node.attributes.get("select_last_index", 0))
    largest = node.op_type == "ArgMax"
    return [arg_reduce_launch(x, sizes, required(outputs), largest=largest, last=last)]


def arg_reduce_launch(
    x: Value, sizes: tuple[int, int, int], out: Value | Workspace, *, largest: bool, last: bool
) -> Launch:
    """A launch that finds extreme elements.

    Args:
        x: the tensor.
        sizes: ``x`` as (outer, axis, inner).
        out: int64 [outer, inner], the position of each along the axis.
        largest: of the largest, else of the smallest elements.
        last: of the last of equal elements, else of the first.
    """
    outer, axis_size, inner = sizes
    rows, columns = row_plan(outer, axis_size), column_plan(outer * inner, axis_size)
    macros = (
        ("SCALAR", c_type(x.dtype)),
        ("COMPUTE", c_type(Reduction("Largest").compute_dtype(x.dtype))),
        ("EXTREME", "CgMax" if largest else "CgMin"),
        ("LAST", str(int(last))),
        ("ROW_THREADS", str(rows.row_threads)),
        *columns.macros,
    )
    if inner == 1:
        arguments = (out, x, np.int64(outer), np.int64(axis_size))
        return Launch(SOURCE, "arg_reduce_rows", rows.grid, rows.block, arguments, macros)
    columns_of = (out, x, np.int64(outer * inner), np.int64(axis_size), np.int64(inner))
    return Launch(SOURCE, "arg_reduce_columns", columns.grid, columns.block, columns_of, macros)


register(*(OpSpec(op_type, 1, _infer, _lower) for op_type in ("ArgMax", "ArgMin")))
