"""Reductions: ReduceSum, ReduceMean, ReduceMax and their kin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import c_type, kind_of
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import BOOL, NUMBERS, check_dtype, ints_of, normalize_axes, required
from cugraphmodel.ops.elementwise.elementwise import Operand, operand
from cugraphmodel.ops.launch import Launch, Workspace, ceil_div, dims, index_type
from cugraphmodel.ops.reduce.geometry import column_plan, row_plan
from cugraphmodel.ops.spec import OpSpec, register

__all__ = ["Reduction", "reduce_launches", "split_dimensions"]

SOURCE = "ops/reduce/reduce.cu"
CHUNK = 4096
"""A reduction longer than this is cut into parts when there are too few outputs to fill a GPU."""
ENOUGH_BLOCKS = 256


@dataclass(frozen=True)
class Reduction:
    """What a reduction computes, as the kernel's macros.

    Attributes:
        combine: how mapped elements become one.
        mapped: C++ for an element ``x`` before that.
        finish: C++ for the result, from ``total`` and ``count``.
        finish_integer: likewise for integers, None where it is the same.
    """

    combine: str
    mapped: str = "x"
    finish: str = "total"
    finish_integer: str | None = None

    def compute_dtype(self, dtype: np.dtype) -> np.dtype:
        """Type of the arithmetic for elements of ``dtype``."""
        if kind_of(dtype) == "f":
            return np.promote_types(dtype, np.float32)
        if self.combine == "LogSumExp":
            return np.dtype("float64")
        if self.combine in ("Largest", "Smallest"):
            return dtype if dtype.itemsize >= 4 else np.dtype("int32")
        return np.dtype("uint64" if kind_of(dtype) == "u" else "int64")


def reduce_launches(
    reduction: Reduction, x: Operand, axes: frozenset[int], out: Operand
) -> list[Launch]:
    """Launches that reduce ``x`` over ``axes`` (counted from the front) into ``out``."""
    compute = reduction.compute_dtype(x.dtype)
    finish = reduction.finish
    if compute.kind != "f" and reduction.finish_integer is not None:
        finish = reduction.finish_integer
    reduction = replace(reduction, finish=finish)
    count = math.prod(x.shape[axis] for axis in axes)
    num_outputs = math.prod(out.shape)
    num_parts = _num_parts(num_outputs, count)
    if num_parts == 1:
        return [_launch(reduction, x, axes, out, compute, count)]
    shape = (num_parts, num_outputs)
    partial = Operand(Workspace(math.prod(shape) * compute.itemsize), compute, shape)
    first, second = replace(reduction, finish="total"), replace(reduction, mapped="x")
    return [
        _launch(first, x, axes, partial, compute, count, num_parts),
        _launch(second, partial, frozenset([0]), out, compute, count),
    ]


def _num_parts(num_outputs: int, count: int) -> int:
    """Parts to cut the reduction into, so that few outputs of many elements fill a GPU."""
    if count <= CHUNK or num_outputs >= ENOUGH_BLOCKS:
        return 1
    return min(ceil_div(count, CHUNK), ceil_div(ENOUGH_BLOCKS, num_outputs))


def _launch(
    reduction: Reduction,
    x: Operand,
    axes: frozenset[int],
    out: Operand,
    compute: np.dtype,
    count: int,
    num_parts: int = 1,
) -> Launch:
    kept, reduced = split_dimensions(x.shape, axes)
    num_outputs = math.prod(size for size, _ in kept)
    reduced_size = math.prod(size for size, _ in reduced)
    chunk = max(ceil_div(reduced_size, num_parts), 1)
    in_rows = not kept or (bool(reduced) and reduced[-1][1] < kept[-1][1])
    rows, columns = row_plan(num_outputs, chunk), column_plan(num_outputs, chunk)
    geometry = rows if in_rows else columns
    return Launch(
        source=SOURCE,
        entry="reduce_rows" if in_rows else "reduce_columns",
        grid=(geometry.grid[0], num_parts, 1),
        block=geometry.block,
        args=(
            *(out.source, x.source),
            *map(np.int64, (num_outputs, reduced_size, chunk, count)),
            *(_dims(kept, 0), _dims(kept, 1), _dims(reduced, 0), _dims(reduced, 1)),
        ),
        macros=(
            ("SCALAR", c_type(x.dtype)),
            ("OUT_TYPE", c_type(out.dtype)),
            ("COMPUTE", c_type(compute)),
            ("MAP", reduction.mapped),
            ("COMBINE", reduction.combine),
            ("FINISH", reduction.finish),
            ("KEPT_RANK", str(len(kept))),
            ("REDUCED_RANK", str(len(reduced))),
            ("INDEX", index_type(math.prod(x.shape))),
            ("ROW_THREADS", str(rows.row_threads)),
            *columns.macros,
        ),
    )


def split_dimensions(
    shape: tuple[int, ...], axes: frozenset[int]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(size, stride) of the dimensions kept and of those reduced, neighbours of one kind merged."""
    merged: list[tuple[int, int, bool]] = []
    stride = 1
    for axis in reversed(range(len(shape))):
        size, is_reduced = shape[axis], axis in axes
        if size != 1:
            if merged and merged[-1][2] == is_reduced:
                inner_size, inner_stride, _ = merged.pop()
                merged.append((size * inner_size, inner_stride, is_reduced))
            else:
                merged.append((size, stride, is_reduced))
        stride *= size
    outer_first = merged[::-1]
    kept = [(size, stride) for size, stride, is_reduced in outer_first if not is_reduced]
    reduced = [(size, stride) for size, stride, is_reduced in outer_first if is_reduced]
    return kept, reduced


def _dims(pairs: Sequence[tuple[int, int]], which: int) -> npt.NDArray[np.int64]:
    return dims(*(pair[which] for pair in pairs))


def _axes(node: Node, rank: int) -> frozenset[int]:
    """No axes at all mean every axis, or (if the node says so) none."""
    given = ints_of(node, "axes", 1)
    if not given:
        none = bool(node.attributes.get("noop_with_empty_axes", 0))
        return frozenset() if none else frozenset(range(rank))
    return frozenset(normalize_axes(given, rank))


def reduction_spec(op_type: str, since_version: int, reduction: Reduction) -> OpSpec:
    """The spec of a reduction, whose axes are an attribute or the second input."""
    dtypes = NUMBERS + (BOOL if reduction.combine in ("Largest", "Smallest") else ())

    def infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
        x = required(inputs)
        check_dtype(x, dtypes)
        axes = _axes(node, len(x.shape))
        keep = bool(node.attributes.get("keepdims", 1))
        shape = [
            1 if axis in axes else size
            for axis, size in enumerate(x.shape)
            if keep or axis not in axes
        ]
        return [TensorType(x.dtype, tuple(shape))]

    def lower(
        node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
    ) -> list[Launch]:
        x, out = required(inputs), required(outputs)
        return reduce_launches(reduction, operand(x), _axes(node, len(x.shape)), operand(out))

    return OpSpec(op_type, since_version, infer, lower, host_inputs=(1,))


_SQUARE = "CgProduct::combine(x, x)"
_REDUCTIONS = {
    "ReduceL1": Reduction("Sum", "x < 0 ? -x : x"),
    "ReduceL2": Reduction("Sum", _SQUARE, "cg_sqrt(total)", "cg_sqrt(double(total))"),
    "ReduceLogSum": Reduction("Sum", "x", "cg_log(total)", "cg_log(double(total))"),
    "ReduceLogSumExp": Reduction("LogSumExp"),
    "ReduceMax": Reduction("Largest"),
    "ReduceMean": Reduction("Sum", "x", "total / count", "count == 0 ? 0 : total / count"),
    "ReduceMin": Reduction("Smallest"),
    "ReduceProd": Reduction("Product"),
    "ReduceSum": Reduction("Sum"),
    "ReduceSumSquare": Reduction("Sum", _SQUARE),
}

register(*(reduction_spec(op_type, 1, reduction) for op_type, reduction in _REDUCTIONS.items()))
