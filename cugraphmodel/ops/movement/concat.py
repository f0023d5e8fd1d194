"""Concat and Split: a tensor and the parts that lie side by side in it, up to 8 a launch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import ints_of, normalize_axis, required
from cugraphmodel.ops.launch import Launch, ceil_div, dims, index_type
from cugraphmodel.ops.movement.strided_copy import WORDS, widest_word
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256
MAX_PARTS = 8


@dataclass(frozen=True)
class _Part:
    """A part that is not empty.

    Attributes:
        value: its tensor.
        start: its place along the axis of the whole.
    """

    value: Value
    start: int


def _launch_parts(entry: str, whole: Value, parts: Sequence[_Part], axis: int) -> list[Launch]:
    """Copies between a tensor and its parts along an axis, in the direction of ``entry``."""
    inner = math.prod(whole.shape[axis + 1 :])
    factor = widest_word(
        whole.dtype.itemsize,
        whole.shape[axis] * inner,
        *(size * inner for part in parts for size in (part.start, part.value.shape[axis])),
    )
    return [
        _launch_group(entry, whole, parts[first : first + MAX_PARTS], axis, inner, factor)
        for first in range(0, len(parts), MAX_PARTS)
    ]


def _launch_group(
    entry: str, whole: Value, parts: Sequence[_Part], axis: int, inner: int, factor: int
) -> Launch:
    counts = [part.value.size // factor for part in parts]
    blocks = [ceil_div(count, THREADS) for count in counts]
    return Launch(
        source="ops/movement/concat.cu",
        entry=entry,
        grid=(sum(blocks), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            *(part.value for part in parts),
            *[None] * (MAX_PARTS - len(parts)),
            whole,
            np.int32(len(parts)),
            dims(*itertools.accumulate(blocks[:-1], initial=0)),
            dims(*counts),
            dims(*(part.value.shape[axis] * inner // factor for part in parts)),
            dims(*(part.start * inner // factor for part in parts)),
            np.int64(whole.shape[axis] * inner // factor),
        ),
        macros=(
            ("WORD", WORDS[whole.dtype.itemsize * factor]),
            ("INDEX", index_type(max(counts))),
        ),
    )


def _infer_concat(node: Node, inputs: Values) -> list[TensorType]:
    parts = [required(inputs, position) for position in range(len(inputs))]
    first = parts[0]
    axis = normalize_axis(int(node.attributes["axis"]), len(first.shape))

    def beside(part: Value) -> tuple[int, ...]:
        return part.shape[:axis] + part.shape[axis + 1 :]

    for part in parts:
        if (
            part.dtype != first.dtype
            or len(part.shape) != len(first.shape)
            or beside(part) != beside(first)
        ):
            raise Unsupported(f"{part} cannot be joined to {first} along axis {axis}.")
    size = sum(part.shape[axis] for part in parts)
    return [TensorType(first.dtype, (*first.shape[:axis], size, *first.shape[axis + 1 :]))]


def _lower_concat(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    output = required(outputs)
    axis = normalize_axis(int(node.attributes["axis"]), len(output.shape))
    sizes = [required(inputs, position).shape[axis] for position in range(len(inputs))]
    return _launch_parts("concat", output, _placed(inputs, sizes), axis)


def _placed(values: Values, sizes: Sequence[int]) -> list[_Part]:
    """The parts that are there and not empty, each where the sizes before it put it."""
    starts = itertools.accumulate(sizes[:-1], initial=0)
    return [
        _Part(value, start)
        for value, start in zip(values, starts, strict=True)
        if value is not None and value.size
    ]


def _split_sizes(node: Node, size: int) -> list[int]:
    """Sizes of the parts: given, or equal ones of which the last may be smaller (opset 18)."""
    given = ints_of(node, "split", 1)
    count = len(node.outputs)
    if given is not None:
        if len(given) != count or sum(given) != size or min(given) < 0:
            raise Unsupported(f"Split sizes {given} do not make {count} outputs of a size {size}.")
        return given
    if node.version >= 18:
        if int(node.attributes.get("num_outputs", 0)) != count:
            raise Unsupported(f"num_outputs differs from the node's {count} outputs.")
        part = ceil_div(size, count)
        return [max(0, min(part, size - part * index)) for index in range(count)]
    if size % count:
        raise Unsupported(f"A dimension of {size} does not split into {count} equal parts.")
    return [size // count] * count


def _infer_split(node: Node, inputs: Values) -> list[TensorType]:
    data = required(inputs)
    axis = normalize_axis(int(node.attributes.get("axis", 0)), len(data.shape))
    return [
        TensorType(data.dtype, (*data.shape[:axis], size, *data.shape[axis + 1 :]))
        for size in _split_sizes(node, data.shape[axis])
    ]


def _lower_split(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data = required(inputs)
    axis = normalize_axis(int(node.attributes.get("axis", 0)), len(data.shape))
    parts = _placed(outputs, _split_sizes(node, data.shape[axis]))
    return _launch_parts("split", data, parts, axis)


register(
    OpSpec("Concat", 4, _infer_concat, _lower_concat),
    OpSpec("Split", 2, _infer_split, _lower_split, host_inputs=(1,)),
)
