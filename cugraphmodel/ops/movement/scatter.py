"""ScatterElements and ScatterND: writes at positions that come from an index tensor.

The output starts as a copy of the data. Where several updates meet in one element, they are
combined in the order in which they stand, so a result never hangs on the order of threads; without
a reduction, where ONNX leaves the winner open, the last one wins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import NUMBERS, check_dtype, normalize_axis, required
from cugraphmodel.ops.launch import (
    ERROR_CODE,
    ERROR_WORD,
    Argument,
    Launch,
    Workspace,
    ceil_div,
    dims,
)
from cugraphmodel.ops.movement.strided_copy import (
    WORDS,
    Copy,
    copy_all,
    widest_word,
)
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.strides import contiguous_strides

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256
MAX_UPDATES = 2**31 - 1
REDUCTIONS = ("none", "add", "mul", "min", "max")


@dataclass(frozen=True, eq=False)
class _Geometry:
    """Where updates go; ``scatter.cu`` says how a slot follows from these.

    Attributes:
        shape, beside: of the coordinates of an update that count, and their strides in slots.
        sizes, strides: of the dimensions that the indices address, the strides in slots.
        num_updates: updates in all.
        steps: length of a run of updates that may share a slot.
        column_stride: distance of neighbours in such a run.
        inner_size: elements of an update, and of a slot.
    """

    shape: tuple[int, ...]
    beside: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    num_updates: int
    steps: int
    column_stride: int
    inner_size: int

    def args(self, indices: Value) -> tuple[Argument, ...]:
        """The arguments with which every kernel of ``scatter.cu`` starts."""
        return (
            indices,
            np.int32(len(self.shape)),
            dims(*self.shape),
            dims(*self.beside),
            np.int32(len(self.sizes)),
            dims(*self.sizes),
            dims(*self.strides),
            ERROR_WORD,
            ERROR_CODE,
        )


def _reduction(node: Node, data: Value) -> str:
    reduction = str(node.attributes.get("reduction", "none"))
    if reduction not in REDUCTIONS:
        raise Unsupported(f"reduction {reduction!r} is none of {', '.join(REDUCTIONS)}.")
    if reduction != "none" and data.dtype == np.bool_:
        raise Unsupported(f"reduction {reduction!r} of bool has no meaning.")
    if reduction != "none":
        check_dtype(data, NUMBERS)
    return reduction


def _infer_elements(node: Node, inputs: Values) -> list[TensorType]:
    data, indices, updates = (required(inputs, position) for position in range(3))
    axis = normalize_axis(int(node.attributes.get("axis", 0)), len(data.shape))
    _reduction(node, data)
    fits = (
        len(data.shape) == len(indices.shape)
        and indices.shape == updates.shape
        and all(indices.shape[d] <= size for d, size in enumerate(data.shape) if d != axis)
    )
    if not fits or updates.dtype != data.dtype:
        raise Unsupported(f"{indices} and {updates} do not fit {data} beside axis {axis}.")
    return [TensorType(data.dtype, data.shape)]


def _lower_elements(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, indices = required(inputs), required(inputs, 1)
    axis = normalize_axis(int(node.attributes.get("axis", 0)), len(data.shape))
    strides = contiguous_strides(data.shape)
    beside = tuple(0 if d == axis else stride for d, stride in enumerate(strides))
    walk = Copy(indices.shape, beside, contiguous_strides(indices.shape)).collapsed()
    if len(walk.shape) > 8:
        raise Unsupported(f"ScatterElements of {data} takes more than 8 dimensions.")
    geometry = _Geometry(
        shape=walk.shape,
        beside=walk.source_strides,
        sizes=(data.shape[axis],),
        strides=(strides[axis],),
        num_updates=indices.size,
        steps=indices.shape[axis],
        column_stride=math.prod(indices.shape[axis + 1 :]),
        inner_size=1,
    )
    return _lower(node, inputs, outputs, geometry)


def _infer_nd(node: Node, inputs: Values) -> list[TensorType]:
    data, indices, updates = (required(inputs, position) for position in range(3))
    _reduction(node, data)
    depth = indices.shape[-1] if indices.shape else 0
    if not 1 <= depth <= min(8, len(data.shape)):
        raise Unsupported(
            f"{indices} holds {depth} indices for {data}; 1 to 8 and its rank can be."
        )
    if updates.shape != indices.shape[:-1] + data.shape[depth:] or updates.dtype != data.dtype:
        raise Unsupported(f"{updates} does not fit {indices} and {data}.")
    return [TensorType(data.dtype, data.shape)]


def _lower_nd(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, indices = required(inputs), required(inputs, 1)
    depth = indices.shape[-1]
    num_updates = math.prod(indices.shape[:-1])
    geometry = _Geometry(
        shape=(),
        beside=(),
        sizes=data.shape[:depth],
        strides=contiguous_strides(data.shape[:depth]),
        num_updates=num_updates,
        steps=num_updates,
        column_stride=1,
        inner_size=math.prod(data.shape[depth:]),
    )
    return _lower(node, inputs, outputs, geometry)


def _lower(node: Node, inputs: Values, outputs: Values, geometry: _Geometry) -> list[Launch]:
    data, indices, updates = (required(inputs, position) for position in range(3))
    output = required(outputs)
    if geometry.num_updates > MAX_UPDATES:
        raise Unsupported(f"{geometry.num_updates} updates are more than {MAX_UPDATES}.")
    launches = copy_all(data, output)
    if updates.size == 0:
        return launches
    reduction = _reduction(node, data)
    if reduction == "none" and geometry.steps > 1:
        return launches + _write_last(geometry, indices, updates, output)
    count = updates.size // geometry.steps
    return [
        *launches,
        Launch(
            source="ops/movement/scatter.cu",
            entry="scatter_columns",
            grid=(ceil_div(count, THREADS), 1, 1),
            block=(THREADS, 1, 1),
            args=(
                *geometry.args(indices),
                updates,
                output,
                np.int64(count),
                np.int64(geometry.inner_size),
                np.int64(geometry.steps),
                np.int64(geometry.column_stride),
            ),
            macros=_macros(c_type(data.dtype), indices, reduction),
        ),
    ]


def _write_last(geometry: _Geometry, indices: Value, updates: Value, output: Value) -> list[Launch]:
    """Launches that let the last update of each slot win."""
    factor = widest_word(output.dtype.itemsize, geometry.inner_size)
    inner, count = geometry.inner_size // factor, updates.size // factor
    num_slots = output.size // geometry.inner_size
    owners = Workspace(4 * num_slots)
    macros = _macros(WORDS[output.dtype.itemsize * factor], indices, "none")
    block = (THREADS, 1, 1)
    return [
        Launch(
            source="ops/movement/fill.cu",
            entry="fill",
            grid=(ceil_div(num_slots, THREADS), 1, 1),
            block=block,
            args=(owners, np.int64(num_slots), np.int64(-1)),
            macros=(("SCALAR", "int"),),
        ),
        Launch(
            source="ops/movement/scatter.cu",
            entry="claim_slots",
            grid=(ceil_div(geometry.num_updates, THREADS), 1, 1),
            block=block,
            args=(*geometry.args(indices), owners, np.int64(geometry.num_updates)),
            macros=macros,
        ),
        Launch(
            source="ops/movement/scatter.cu",
            entry="write_owned",
            grid=(ceil_div(count, THREADS), 1, 1),
            block=block,
            args=(
                *geometry.args(indices),
                owners,
                updates,
                output,
                np.int64(count),
                np.int64(inner),
            ),
            macros=macros,
        ),
    ]


def _macros(scalar: str, indices: Value, reduction: str) -> tuple[tuple[str, str], ...]:
    return (
        ("SCALAR", scalar),
        ("INDICES", c_type(indices.dtype)),
        ("REDUCTION", f"reduce_{reduction}"),
    )


register(
    OpSpec("Scatter", 9, _infer_elements, _lower_elements),
    OpSpec("ScatterElements", 11, _infer_elements, _lower_elements),
    OpSpec("ScatterND", 11, _infer_nd, _lower_nd),
)
