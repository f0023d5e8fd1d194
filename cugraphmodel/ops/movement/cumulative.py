"""CumSum and CumProd: sums and products of the elements up to each place along an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type, kind_of
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import NUMBERS, check_dtype, normalize_axis, required
from cugraphmodel.ops.launch import Launch, ceil_div
from cugraphmodel.ops.spec import OpSpec, register

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256
MIN_BLOCK_LINE = 128
MAX_BLOCK_LINES = 8192
"""There is a block for each line if lines are this long and this few, else a thread a line."""
_OPERATIONS = {"CumSum": "CgSum", "CumProd": "CgProduct"}


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    data = required(inputs)
    check_dtype(data, NUMBERS)
    _axis(node, data)
    return [TensorType(data.dtype, data.shape)]


def _axis(node: Node, data: Value) -> int:
    return normalize_axis(int(node.host_values[1].item()), len(data.shape))


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, output = required(inputs), required(outputs)
    axis = _axis(node, data)
    size = data.shape[axis]
    lines = data.size // size
    geometry = (
        np.int64(size),
        np.int64(math.prod(data.shape[axis + 1 :])),
        np.int32(node.attributes.get("exclusive", 0)),
        np.int32(node.attributes.get("reverse", 0)),
    )
    macros = (
        ("SCALAR", c_type(data.dtype)),
        ("TOTAL", "double" if kind_of(data.dtype) == "f" else "unsigned long long"),
        ("OPERATION", _OPERATIONS[node.op_type]),
    )
    block = (THREADS, 1, 1)
    if size >= MIN_BLOCK_LINE and lines <= MAX_BLOCK_LINES:
        source, entry = "ops/movement/cumulative_block.cu", "cumulative_block"
        return [Launch(source, entry, (lines, 1, 1), block, (data, output, *geometry), macros)]
    source, entry, grid = "ops/movement/cumulative.cu", "cumulative", ceil_div(lines, THREADS)
    args = (data, output, np.int64(lines), *geometry)
    return [Launch(source, entry, (grid, 1, 1), block, args, macros)]


register(
    OpSpec("CumProd", 26, _infer, _lower, host_inputs=(1,)),
    OpSpec("CumSum", 11, _infer, _lower, host_inputs=(1,)),
)
