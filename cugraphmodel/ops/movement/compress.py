"""Compress with a condition that is known at capture, so that the output has a known size."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import BOOL, check_dtype, normalize_axis, required
from cugraphmodel.ops.launch import (
    ERROR_CODE,
    ERROR_WORD,
    Launch,
    Workspace,
    ceil_div,
    index_type,
)
from cugraphmodel.ops.movement.strided_copy import WORDS, widest_word
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256


def _seen_as(node: Node, data: Value) -> tuple[int, int, int]:
    """Elements before the axis that slices are taken along, along it, and after it."""
    if "axis" not in node.attributes:
        return 1, data.size, 1
    axis = normalize_axis(int(node.attributes["axis"]), len(data.shape))
    return math.prod(data.shape[:axis]), data.shape[axis], math.prod(data.shape[axis + 1 :])


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    data, condition = required(inputs), required(inputs, 1)
    check_dtype(condition, BOOL)
    _, size, _ = _seen_as(node, data)
    if len(condition.shape) != 1 or condition.size > size:
        raise Unsupported(f"{condition} is no list of at most {size} decisions.")
    count = int(np.count_nonzero(node.host_values[1]))
    if "axis" not in node.attributes:
        return [TensorType(data.dtype, (count,))]
    axis = normalize_axis(int(node.attributes["axis"]), len(data.shape))
    return [TensorType(data.dtype, (*data.shape[:axis], count, *data.shape[axis + 1 :]))]


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, condition, output = required(inputs), required(inputs, 1), required(outputs)
    outer, size, inner = _seen_as(node, data)
    factor = widest_word(data.dtype.itemsize, inner)
    inner //= factor
    count = output.size // factor
    num_places = count // (outer * inner)
    places = Workspace(8 * num_places)
    return [
        Launch(
            source="ops/movement/compress.cu",
            entry="find_places",
            grid=(1, 1, 1),
            block=(THREADS, 1, 1),
            args=(condition, places, np.int64(condition.size)),
        ),
        Launch(
            source="ops/movement/gather.cu",
            entry="gather",
            grid=(ceil_div(count, THREADS), 1, 1),
            block=(THREADS, 1, 1),
            args=(
                *(data, places, output, np.int64(count)),
                *(np.int64(num_places), np.int64(inner), np.int64(size), ERROR_WORD, ERROR_CODE),
            ),
            macros=(
                ("WORD", WORDS[data.dtype.itemsize * factor]),
                ("INDICES", "long long"),
                ("INDEX", index_type(count)),
            ),
        ),
    ]


register(OpSpec("Compress", 9, _infer, _lower, host_inputs=(1,)))
