"""Carry: copies of tensors, several a launch. Plans keep a graph's state with it.

The node's inputs are copied to its outputs, position by position; no input may share memory with
an output of the same node. With the attribute ``unless_error`` 1 nothing is copied in a run in
which a kernel before has reported bad index data.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import required
from cugraphmodel.ops.launch import ERROR_WORD, Argument, Launch, ceil_div
from cugraphmodel.ops.spec import OpSpec, register

__all__: list[str] = []

Values = Sequence[Value | None]
COPIES_PER_LAUNCH = 4
THREADS = 256
BYTES_PER_THREAD = 16


def _infer(_node: Node, inputs: Values) -> list[TensorType]:
    values = [required(inputs, position) for position in range(len(inputs))]
    return [TensorType(value.dtype, value.shape) for value in values]


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    error_word = ERROR_WORD if node.attributes.get("unless_error", 0) else None
    pairs = [
        (required(inputs, position), required(outputs, position)) for position in range(len(inputs))
    ]
    pairs = [(source, target) for source, target in pairs if source.size]
    return [
        _launch(pairs[first : first + COPIES_PER_LAUNCH], error_word)
        for first in range(0, len(pairs), COPIES_PER_LAUNCH)
    ]


def _launch(pairs: Sequence[tuple[Value, Value]], error_word: Argument) -> Launch:
    copies: list[Argument] = []
    for source, target in pairs:
        copies += [source, target, np.int64(source.num_bytes)]
    copies += [None, None, np.int64(0)] * (COPIES_PER_LAUNCH - len(pairs))
    largest = max(source.num_bytes for source, _ in pairs)
    return Launch(
        source="ops/movement/carry.cu",
        entry="carry",
        grid=(ceil_div(largest, BYTES_PER_THREAD * THREADS), len(pairs), 1),
        block=(THREADS, 1, 1),
        args=(*copies, error_word),
    )


register(OpSpec("Carry", 1, _infer, _lower, domain="cugraphmodel"))
