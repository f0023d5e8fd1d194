"""ReverseSequence: sequences of a padded batch, each turned around within its own length."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, required
from cugraphmodel.ops.launch import ERROR_CODE, ERROR_WORD, Launch, ceil_div, index_type
from cugraphmodel.ops.movement.strided_copy import WORDS, widest_word
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256


def _axes(node: Node) -> tuple[int, int]:
    """Batch axis and time axis: one is 0, the other 1."""
    axes = node.attributes.get("batch_axis", 1), node.attributes.get("time_axis", 0)
    if sorted(axes) != [0, 1]:
        raise Unsupported(f"batch_axis={axes[0]}, time_axis={axes[1]}; one is 0, the other 1.")
    return axes


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    data, lengths = required(inputs), required(inputs, 1)
    batch_axis, _ = _axes(node)
    check_dtype(lengths, (np.dtype(np.int64),))
    if len(data.shape) < 2 or lengths.shape != (data.shape[batch_axis],):
        raise Unsupported(
            f"{lengths} does not hold a length for each entry of axis {batch_axis} of {data}."
        )
    return [TensorType(data.dtype, data.shape)]


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, lengths, output = required(inputs), required(inputs, 1), required(outputs)
    _, time_axis = _axes(node)
    inner = math.prod(data.shape[2:])
    factor = widest_word(data.dtype.itemsize, inner)
    count = data.size // factor
    return [
        Launch(
            source="ops/movement/reverse_sequence.cu",
            entry="reverse_sequence",
            grid=(ceil_div(count, THREADS), 1, 1),
            block=(THREADS, 1, 1),
            args=(
                *(data, lengths, output, np.int64(count)),
                *(np.int64(data.shape[0]), np.int64(data.shape[1]), np.int64(inner // factor)),
                *(ERROR_WORD, ERROR_CODE),
            ),
            macros=(
                ("WORD", WORDS[data.dtype.itemsize * factor]),
                ("INDEX", index_type(count)),
                ("TIME_FIRST", str(int(time_axis == 0))),
            ),
        )
    ]


register(OpSpec("ReverseSequence", 10, _infer, _lower))
