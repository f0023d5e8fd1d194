"""TopK: a stable bitonic sort of each line, of which the first k are taken.

Equal values keep their order, as ONNX asks. NaN counts as greater than all numbers, as in NumPy's
sort. The result is sorted even where ``sorted=0`` leaves that open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import ANY, check_dtype, normalize_axis, optional, required
from cugraphmodel.ops.launch import Launch, Workspace, ceil_div
from cugraphmodel.ops.movement.strided_copy import WORDS
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256
MAX_CHUNK = 2048
ENTRY_BYTES = 16
"""Size of ``Entry`` in ``entry.cuh``."""


def _axis(node: Node, data: Value) -> int:
    return normalize_axis(int(node.attributes.get("axis", -1)), len(data.shape))


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    data = required(inputs)
    check_dtype(data, ANY)
    axis = _axis(node, data)
    given = node.host_values[1] if 1 in node.host_values else np.array(node.attributes.get("k", -1))
    k = int(given.item())
    if not 0 <= k <= data.shape[axis]:
        raise Unsupported(f"k is {k}, but the axis has {data.shape[axis]} elements.")
    if data.shape[axis] >= 2**31:
        raise Unsupported(f"The axis of {data} is longer than a sort can be.")
    shape = (*data.shape[:axis], k, *data.shape[axis + 1 :])
    types = [TensorType(data.dtype, shape), TensorType(np.dtype(np.int64), shape)]
    return types[: len(node.outputs)]


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data = required(inputs)
    axis = _axis(node, data)
    size = data.shape[axis]
    inner_size = math.prod(data.shape[axis + 1 :])
    padded_size = 1 << max(size - 1, 1).bit_length()
    chunk = min(padded_size, MAX_CHUNK)
    num_entries = data.size // size * padded_size
    entries = Workspace(num_entries * ENTRY_BYTES)
    sort = Launch(
        source="ops/topk/sort_chunks.cu",
        entry="sort_chunks",
        grid=(num_entries // chunk, 1, 1),
        block=(max(chunk // 2, 32), 1, 1),
        args=(
            data,
            entries,
            np.int64(size),
            np.int64(padded_size),
            np.int64(inner_size),
            np.int32(node.attributes.get("largest", 1)),
        ),
        macros=_sort_macros(data, chunk),
    )
    merges = _launch_merges(data, entries, num_entries, padded_size, chunk)
    values, indices = optional(outputs, 0), optional(outputs, 1)
    shape = values.shape if values is not None else required(outputs, 1).shape
    take = Launch(
        source="ops/topk/topk.cu",
        entry="take_first",
        grid=(ceil_div(math.prod(shape), THREADS), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            data,
            entries,
            values,
            indices,
            np.int64(math.prod(shape)),
            np.int64(shape[axis]),
            np.int64(size),
            np.int64(padded_size),
            np.int64(inner_size),
        ),
        macros=_word_macro(data),
    )
    return [sort, *merges, take]


def _launch_merges(
    data: Value, entries: Workspace, num_entries: int, padded_size: int, chunk: int
) -> list[Launch]:
    """The steps that reach beyond a chunk, and after each group of them those that do not."""
    launches: list[Launch] = []
    run = 2 * chunk
    while run <= padded_size:
        stride = run // 2
        while stride >= chunk:
            launches.append(_launch_far(data, entries, num_entries, padded_size, run, stride))
            stride //= 2
        launches.append(
            Launch(
                source="ops/topk/sort_chunks.cu",
                entry="merge_chunks",
                grid=(num_entries // chunk, 1, 1),
                block=(chunk // 2, 1, 1),
                args=(entries, np.int64(padded_size), np.int64(run)),
                macros=_sort_macros(data, chunk),
            )
        )
        run *= 2
    return launches


def _launch_far(
    data: Value, entries: Workspace, num_entries: int, padded_size: int, run: int, stride: int
) -> Launch:
    return Launch(
        source="ops/topk/topk.cu",
        entry="merge_far",
        grid=(ceil_div(num_entries // 2, THREADS), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            entries,
            np.int64(num_entries // 2),
            np.int64(padded_size),
            np.int64(run),
            np.int64(stride),
        ),
        macros=_word_macro(data),
    )


def _sort_macros(data: Value, chunk: int) -> tuple[tuple[str, str], ...]:
    return (("SCALAR", c_type(data.dtype)), ("CHUNK", str(chunk)))


def _word_macro(data: Value) -> tuple[tuple[str, str], ...]:
    return (("WORD", WORDS[data.dtype.itemsize]),)


register(
    OpSpec("TopK", 1, _infer, _lower),
    OpSpec("TopK", 10, _infer, _lower, host_inputs=(1,)),
)
