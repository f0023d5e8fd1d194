"""Pad and CenterCropPad: a constant, edge, reflection or repetition around a tensor, or less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import ints_of, normalize_axes, optional, required
from cugraphmodel.ops.launch import Launch, ceil_div, dims, index_type
from cugraphmodel.ops.movement.strided_copy import WORDS
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.strides import contiguous_strides

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256
MODES = ("constant", "edge", "reflect", "wrap")


@dataclass(frozen=True)
class _Dimension:
    """How one dimension is padded. Negative pads have been taken off the source.

    Attributes:
        size: of the source, after cropping.
        stride: of the source, in elements.
        begin, end: padding, not negative.
    """

    size: int
    stride: int
    begin: int
    end: int

    @property
    def padded_size(self) -> int:
        return self.begin + self.size + self.end


def _pads(node: Node, data: Value) -> list[tuple[int, int]]:
    """(begin, end) of every dimension."""
    rank = len(data.shape)
    given = ints_of(node, "pads", 1)
    if given is None:
        raise Unsupported("pads is left out.")
    axes = [int(axis) for axis in node.host_values[3].ravel()] if 3 in node.host_values else None
    positions = list(range(rank)) if axes is None else normalize_axes(axes, rank)
    if len(given) != 2 * len(positions):
        raise Unsupported(f"{len(given)} pads do not fit {len(positions)} dimensions of {data}.")
    pads = [(0, 0)] * rank
    for number, axis in enumerate(positions):
        pads[axis] = (given[number], given[number + len(positions)])
    return pads


def _centering_pads(node: Node, data: Value) -> list[tuple[int, int]]:
    """(begin, end) of every dimension for CenterCropPad; what is cut off counts as negative.

    Of an odd difference, the larger half is at the end.
    """
    rank = len(data.shape)
    wanted = [int(size) for size in node.host_values[1].ravel()]
    axes = normalize_axes(node.attributes.get("axes", range(rank)), rank)
    if len(wanted) != len(axes) or min(wanted, default=0) < 0:
        raise Unsupported(f"{wanted} does not give a size for each of the axes {axes} of {data}.")
    pads = [(0, 0)] * rank
    for axis, size in zip(axes, wanted, strict=True):
        change = size - data.shape[axis]
        half = abs(change) // 2
        pads[axis] = (half, change - half) if change >= 0 else (-half, change + half)
    return pads


def _all_pads(node: Node, data: Value) -> list[tuple[int, int]]:
    return _centering_pads(node, data) if node.op_type == "CenterCropPad" else _pads(node, data)


def _dimensions(node: Node, data: Value) -> tuple[list[_Dimension], int]:
    """How every dimension is padded, and the offset of the first source element that is kept."""
    mode = node.attributes.get("mode", "constant")
    if mode not in MODES:
        raise Unsupported(f"mode {mode!r} is none of {', '.join(MODES)}.")
    strides = contiguous_strides(data.shape)
    dimensions: list[_Dimension] = []
    offset = 0
    for size, stride, (begin, end) in zip(data.shape, strides, _all_pads(node, data), strict=True):
        kept = size + min(begin, 0) + min(end, 0)
        grown = max(begin, 0) + max(end, 0)
        if kept < 0 or (kept == 0 and grown and mode != "constant"):
            raise Unsupported(f"pads {begin} and {end} leave nothing of a dimension of {size}.")
        offset += max(-begin, 0) * stride
        dimensions.append(_Dimension(kept, stride, max(begin, 0), max(end, 0)))
    return dimensions, offset


def _merged(dimensions: Sequence[_Dimension]) -> list[_Dimension]:
    """The same padding in fewer dimensions: neighbours that are whole rows join."""
    merged: list[_Dimension] = []
    for inner in dimensions:
        outer = merged[-1] if merged else None
        joins = (
            outer is not None
            and not (outer.begin or outer.end or inner.begin or inner.end)
            and outer.stride == inner.stride * inner.size
        )
        if outer is not None and joins:
            merged[-1] = _Dimension(outer.size * inner.size, inner.stride, 0, 0)
        else:
            merged.append(inner)
    return merged


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    data = required(inputs)
    dimensions, _ = _dimensions(node, data)
    value = optional(inputs, 2)
    if value is not None and (value.dtype != data.dtype or value.size != 1):
        raise Unsupported(f"The constant {value} is not one element of {data.dtype}.")
    return [TensorType(data.dtype, tuple(dimension.padded_size for dimension in dimensions))]


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, output = required(inputs), required(outputs)
    dimensions, offset = _dimensions(node, data)
    walked = _merged(dimensions)
    if len(walked) > 8:
        raise Unsupported(f"Pad of {data} takes more than 8 dimensions.")
    itemsize = data.dtype.itemsize
    attribute = np.array(node.attributes.get("value", 0)).astype(data.dtype)
    pattern = int.from_bytes(attribute.tobytes(), "little", signed=True)
    launch = Launch(
        source="ops/movement/pad.cu",
        entry="pad",
        grid=(ceil_div(output.size, THREADS), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            data,
            optional(inputs, 2),
            output,
            np.int64(output.size),
            np.int32(len(walked)),
            dims(*(dimension.padded_size for dimension in walked)),
            dims(*(dimension.size for dimension in walked)),
            dims(*(dimension.stride for dimension in walked)),
            dims(*(dimension.begin for dimension in walked)),
            np.int64(offset),
            np.int64(pattern),
        ),
        macros=(
            ("WORD", WORDS[itemsize]),
            ("PADDING", f"pad_{node.attributes.get('mode', 'constant')}"),
            ("INDEX", index_type(output.size)),
        ),
    )
    return [launch]


def _infer_center(node: Node, inputs: Values) -> list[TensorType]:
    return _infer(node, inputs[:1])


def _lower_center(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    return _lower(node, inputs[:1], outputs)


register(
    OpSpec("CenterCropPad", 18, _infer_center, _lower_center, host_inputs=(1,)),
    OpSpec("Pad", 2, _infer, _lower, host_inputs=(1, 3)),
)
