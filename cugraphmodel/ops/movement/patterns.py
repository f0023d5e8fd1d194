"""Trilu and OneHot: operators whose elements hang on their place along an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import normalize_axis, optional, required
from cugraphmodel.ops.launch import Launch, ceil_div
from cugraphmodel.ops.movement.strided_copy import WORDS
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256
BLOCK = (THREADS, 1, 1)


def _infer_trilu(_node: Node, inputs: Values) -> list[TensorType]:
    data = required(inputs)
    if len(data.shape) < 2:
        raise Unsupported(f"{data} is not a stack of matrices.")
    return [TensorType(data.dtype, data.shape)]


def _lower_trilu(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data = required(inputs)
    rows, columns = data.shape[-2:]
    launch = Launch(
        source="ops/movement/trilu.cu",
        entry="trilu",
        grid=(ceil_div(data.size, THREADS), 1, 1),
        block=BLOCK,
        args=(
            data,
            optional(inputs, 1),
            required(outputs),
            np.int64(data.size),
            np.int64(rows),
            np.int64(columns),
            np.int32(node.attributes.get("upper", 1)),
        ),
        macros=(("WORD", WORDS[data.dtype.itemsize]),),
    )
    return [launch]


def _one_hot_axis(node: Node, indices: Value) -> int:
    """Position of the new dimension in the output."""
    return normalize_axis(int(node.attributes.get("axis", -1)), len(indices.shape) + 1)


def _infer_one_hot(node: Node, inputs: Values) -> list[TensorType]:
    indices, values = required(inputs), required(inputs, 2)
    depth = int(node.host_values[1].item())
    if depth < 0 or values.shape != (2,):
        raise Unsupported(
            f"depth {depth} and values {values}: 0 or more and two values are needed."
        )
    axis = _one_hot_axis(node, indices)
    return [TensorType(values.dtype, (*indices.shape[:axis], depth, *indices.shape[axis:]))]


def _lower_one_hot(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    indices, values, output = required(inputs), required(inputs, 2), required(outputs)
    axis = _one_hot_axis(node, indices)
    launch = Launch(
        source="ops/movement/one_hot.cu",
        entry="one_hot",
        grid=(ceil_div(output.size, THREADS), 1, 1),
        block=BLOCK,
        args=(
            indices,
            values,
            output,
            np.int64(output.size),
            np.int64(output.shape[axis]),
            np.int64(math.prod(indices.shape[axis:])),
        ),
        macros=(("WORD", WORDS[values.dtype.itemsize]), ("INDICES", c_type(indices.dtype))),
    )
    return [launch]


register(
    OpSpec("Trilu", 14, _infer_trilu, _lower_trilu),
    OpSpec("OneHot", 9, _infer_one_hot, _lower_one_hot, host_inputs=(1,)),
)
