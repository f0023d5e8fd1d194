"""Gather, GatherElements, GatherND: reads at positions that come from index tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import normalize_axis, required
from cugraphmodel.ops.launch import (
    ERROR_CODE,
    ERROR_WORD,
    Argument,
    Launch,
    ceil_div,
    dims,
    index_type,
)
from cugraphmodel.ops.movement.strided_copy import (
    WORDS,
    Copy,
    widest_word,
)
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.strides import contiguous_strides

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256


def _axis(node: Node, data: Value) -> int:
    return normalize_axis(int(node.attributes.get("axis", 0)), len(data.shape))


def _launch(
    entry: str, inputs: Values, output: Value, words_per_element: int, *geometry: Argument
) -> Launch:
    """``words_per_element`` elements (a power of two) join into one word."""
    data, indices = required(inputs), required(inputs, 1)
    count = output.size // words_per_element
    return Launch(
        source="ops/movement/gather.cu",
        entry=entry,
        grid=(ceil_div(count, THREADS), 1, 1),
        block=(THREADS, 1, 1),
        args=(data, indices, output, np.int64(count), *geometry, ERROR_WORD, ERROR_CODE),
        macros=(
            ("WORD", WORDS[data.dtype.itemsize * words_per_element]),
            ("INDICES", c_type(indices.dtype)),
            ("INDEX", index_type(count)),
        ),
    )


def _infer_gather(node: Node, inputs: Values) -> list[TensorType]:
    data, indices = required(inputs), required(inputs, 1)
    axis = _axis(node, data)
    shape = (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])
    return [TensorType(data.dtype, shape)]


def _lower_gather(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, indices, output = required(inputs), required(inputs, 1), required(outputs)
    axis = _axis(node, data)
    inner = math.prod(data.shape[axis + 1 :])
    factor = widest_word(data.dtype.itemsize, inner)
    geometry = (np.int64(indices.size), np.int64(inner // factor), np.int64(data.shape[axis]))
    return [_launch("gather", inputs, output, factor, *geometry)]


def _infer_gather_elements(node: Node, inputs: Values) -> list[TensorType]:
    data, indices = required(inputs), required(inputs, 1)
    axis = _axis(node, data)
    fits = len(data.shape) == len(indices.shape) and all(
        indices.shape[d] <= size for d, size in enumerate(data.shape) if d != axis
    )
    if not fits:
        raise Unsupported(f"{indices} does not fit into {data} beside axis {axis}.")
    return [TensorType(data.dtype, indices.shape)]


def _lower_gather_elements(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, output = required(inputs), required(outputs)
    axis = _axis(node, data)
    strides = contiguous_strides(data.shape)
    beside = tuple(0 if d == axis else stride for d, stride in enumerate(strides))
    walk = Copy(output.shape, beside, contiguous_strides(output.shape)).collapsed()
    if len(walk.shape) > 8:
        raise Unsupported(f"GatherElements of {data} takes more than 8 dimensions.")
    geometry = (
        np.int32(len(walk.shape)),
        dims(*walk.shape),
        dims(*walk.source_strides),
        np.int64(data.shape[axis]),
        np.int64(strides[axis]),
    )
    return [_launch("gather_elements", inputs, output, 1, *geometry)]


def _infer_gather_nd(node: Node, inputs: Values) -> list[TensorType]:
    data, indices = required(inputs), required(inputs, 1)
    batch_dims = int(node.attributes.get("batch_dims", 0))
    depth = indices.shape[-1] if indices.shape else 0
    if not 0 <= batch_dims < min(len(data.shape), len(indices.shape)):
        raise Unsupported(f"batch_dims {batch_dims} does not fit {data} and {indices}.")
    if not 1 <= depth <= min(8, len(data.shape) - batch_dims):
        raise Unsupported(
            f"{indices} holds {depth} indices for {data} after {batch_dims} batch axes."
        )
    if data.shape[:batch_dims] != indices.shape[:batch_dims]:
        raise Unsupported(f"{data} and {indices} differ in their first {batch_dims} dimensions.")
    return [TensorType(data.dtype, (*indices.shape[:-1], *data.shape[batch_dims + depth :]))]


def _lower_gather_nd(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, indices, output = required(inputs), required(inputs, 1), required(outputs)
    batch_dims = int(node.attributes.get("batch_dims", 0))
    depth = indices.shape[-1]
    inner = math.prod(data.shape[batch_dims + depth :])
    factor = widest_word(data.dtype.itemsize, inner)
    indexed = data.shape[batch_dims : batch_dims + depth]
    strides = contiguous_strides(data.shape)[batch_dims : batch_dims + depth]
    geometry = (
        np.int64(math.prod(indices.shape[batch_dims:-1])),
        np.int64(math.prod(data.shape[batch_dims:]) // factor),
        np.int64(inner // factor),
        np.int32(depth),
        dims(*indexed),
        dims(*(stride // factor for stride in strides)),
    )
    return [_launch("gather_nd", inputs, output, factor, *geometry)]


register(
    OpSpec("Gather", 1, _infer_gather, _lower_gather),
    OpSpec("GatherElements", 11, _infer_gather_elements, _lower_gather_elements),
    OpSpec("GatherND", 11, _infer_gather_nd, _lower_gather_nd),
)
