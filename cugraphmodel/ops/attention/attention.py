"""FusedAttention, which passes make of the parts of an attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import BOOL, FLOATS, check_dtype, optional, required
from cugraphmodel.ops.launch import Launch, Workspace, ceil_div, dims
from cugraphmodel.ops.matmul.product import WAVE_BLOCKS
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__ = ["MAX_HEAD_SIZE", "MAX_LEAD_AXES", "AttentionLayout", "Place", "factor_dtype"]

MAX_HEAD_SIZE = 256
MAX_LEAD_AXES = 4
ROW_GROUPS, THREADS_ACROSS, TILE_DEPTH = 8, 16, 32
QUERY_TILE_BYTES = 17 * 1024
"""Of queries in shared memory; with a tile of keys and one of scores a block stays below 48 KB."""


PARTS_BLOCKS = 4 * WAVE_BLOCKS
"""Blocks to aim for where the keys of a head are shared among several: these wait for memory."""
MIN_TILES_PER_PART = 2


@dataclass(frozen=True)
class Place:
    """Where [*lead, rows, columns] lies in a tensor's memory, in elements.

    Attributes:
        lead: strides of the leading axes; 0 where the tensor is broadcast.
        row, column: strides of the last two axes.
        offset: of the first element.
    """

    lead: tuple[int, ...]
    row: int
    column: int
    offset: int = 0

    def struct(self) -> npt.NDArray[np.int64]:
        """The kernel's argument."""
        lead = (*[0] * (MAX_LEAD_AXES - len(self.lead)), *self.lead)
        return dims(*lead, self.row, self.column, self.offset)

    def fits(self, sizes: Sequence[int], num_elements: int) -> bool:
        """Whether [*sizes] lies within so many elements."""
        strides = (*self.lead, self.row, self.column)
        reach = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
        return min(self.offset, *strides) >= 0 and self.offset + reach < num_elements


@dataclass(frozen=True)
class AttentionLayout:
    """Sizes of an attention, and where its tensors lie: ``layout`` of a FusedAttention.

    Attributes:
        lead: sizes of the leading axes (batch, head ...), at most ``MAX_LEAD_AXES``.
        num_rows, num_keys: queries, and keys, of one head.
        depth, width: elements of a query or key, and of a value; at most ``MAX_HEAD_SIZE``.
        query, key, value, output: places, in which columns are neighbours.
        keep: place, or None.
        biases: places of at most two.
    """

    lead: tuple[int, ...]
    num_rows: int
    num_keys: int
    depth: int
    width: int
    query: Place
    key: Place
    value: Place
    output: Place
    keep: Place | None = None
    biases: tuple[Place, ...] = ()

    def check(self, inputs: Sequence[Value | None], output: TensorType) -> None:
        """Compare with the tensors.

        Raises:
            Unsupported: it has a size that the kernel does not take, or leaves a tensor.
        """
        sizes = (self.num_rows, self.num_keys, self.depth, self.width)
        if min(*sizes, *self.lead, 1) < 1 or max(sizes) >= 2**31 or math.prod(self.lead) >= 2**31:
            raise Unsupported(f"The sizes {sizes} are outside the kernel's.")
        if max(self.depth, self.width) > MAX_HEAD_SIZE or len(self.lead) > MAX_LEAD_AXES:
            raise Unsupported(f"Heads of {self.depth} and {self.width} elements are too large.")
        rows, keys = (*self.lead, self.num_rows), (*self.lead, self.num_keys)
        scores = (*rows, self.num_keys)
        placed = [
            (self.query, (*rows, self.depth), optional(inputs, 0)),
            (self.key, (*keys, self.depth), optional(inputs, 1)),
            (self.value, (*keys, self.width), optional(inputs, 2)),
            (self.output, (*rows, self.width), output),
        ]
        if any(place.column != 1 for place, _, _ in placed):
            raise Unsupported("The elements of a head are no neighbours.")
        masks = enumerate((self.keep, *self.biases), 4)
        placed += [
            (place, scores, optional(inputs, position))
            for position, place in masks
            if place is not None
        ]
        for place, shape, tensor in placed:
            if tensor is None or not place.fits(shape, tensor.size):
                raise Unsupported(f"{place} of {shape} is not within {tensor}.")


@dataclass(frozen=True)
class _Tile:
    """What a thread has of the scores and values; see ``attention.cu``."""

    thread_rows: int
    thread_keys: int
    thread_values: int
    value_tiles: int
    keys_per_part: int
    shared_bytes: int

    @staticmethod
    def of(layout: AttentionLayout, itemsize: int) -> _Tile:
        """The largest that gives every multiprocessor of a large GPU a block, and fits.

        Args:
            layout: sizes.
            itemsize: bytes of an accumulator, 4 or 8.
        """
        step = 16 // itemsize
        query_stride = ceil_div(layout.depth, step) * step + step
        heads, rows = math.prod(layout.lead), 4
        while rows > 1 and (
            ROW_GROUPS * rows * query_stride * itemsize > QUERY_TILE_BYTES
            or ROW_GROUPS * rows >= 2 * layout.num_rows
            or heads * ceil_div(layout.num_rows, ROW_GROUPS * rows) < WAVE_BLOCKS
        ):
            rows //= 2
        thread_keys = step
        thread_values = 2 if layout.width <= 2 * THREADS_ACROSS else 4
        keys, values = THREADS_ACROSS * thread_keys, THREADS_ACROSS * thread_values
        elements = (
            ROW_GROUPS * rows * query_stride
            + max(TILE_DEPTH * (keys + step), keys * values)
            + ROW_GROUPS * rows * (keys + step)
        )
        blocks = heads * ceil_div(layout.num_rows, ROW_GROUPS * rows)
        return _Tile(
            rows,
            thread_keys,
            thread_values,
            ceil_div(layout.width, values),
            keys * _tiles_per_part(blocks, ceil_div(layout.num_keys, keys)),
            elements * itemsize,
        )

    @property
    def rows(self) -> int:
        """Queries of a block."""
        return ROW_GROUPS * self.thread_rows

    @property
    def macros(self) -> tuple[tuple[str, str], ...]:
        """What the kernel wants to know."""
        return (
            ("THREAD_ROWS", str(self.thread_rows)),
            ("THREAD_KEYS", str(self.thread_keys)),
            ("THREAD_VALUES", str(self.thread_values)),
            ("VALUE_TILES", str(self.value_tiles)),
        )


def _tiles_per_part(blocks: int, key_tiles: int) -> int:
    """Tiles of keys that one block walks over: all of them if there are blocks enough."""
    if 2 * blocks > WAVE_BLOCKS:
        return key_tiles
    num_parts = min(PARTS_BLOCKS // blocks, key_tiles // MIN_TILES_PER_PART)
    return ceil_div(key_tiles, max(num_parts, 1))


def factor_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of ``factors`` for operands of a dtype: that of the kernel's arithmetic."""
    return dtype if dtype.itemsize == 8 else np.dtype(np.float32)


def _infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    """Softmax of masked scores, times values. ``attention.cu`` says what is computed.

    Inputs: q, k, v; factors [3], see :func:`factor_dtype`; keep (bool), or left out, and
    biases.
    Attributes: ``layout``, an :class:`AttentionLayout`; ``shape``, of the output; ``capped``;
    ``keep_where``; ``causal_offset``, left out without causality; ``empty``: ``"nan"``,
    ``"closed"`` or ``"any"``.
    """
    q, factors = required(inputs), required(inputs, 3)
    check_dtype(q, FLOATS)
    for position in (1, 2, *range(5, len(inputs))):
        other = optional(inputs, position)
        if other is not None:
            check_dtype(other, (q.dtype,))
    keep = optional(inputs, 4)
    if keep is not None:
        check_dtype(keep, BOOL)
    if factors.dtype != factor_dtype(q.dtype) or factors.shape != (3,):
        raise Unsupported(f"The factors are {factors}.")
    num_biases = len(inputs[5:]) + ("causal_offset" in node.attributes)
    if len(inputs) > 7 or (num_biases > 1 and node.attributes.get("empty") == "closed"):
        raise Unsupported("There are too many biases.")
    output = TensorType(q.dtype, tuple(node.attributes["shape"]))
    _layout_of(node).check(inputs, output)
    return [output]


def _layout_of(node: Node) -> AttentionLayout:
    layout: AttentionLayout = node.attributes["layout"]
    return layout


EMPTY: dict[Literal["nan", "closed", "any"], str] = {"nan": "0", "closed": "1", "any": "2"}


def _lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    q, k, v, factors = (required(inputs, position) for position in range(4))
    keep, y = optional(inputs, 4), required(outputs)
    biases = (optional(inputs, 5), optional(inputs, 6))
    layout = _layout_of(node)
    tile = _Tile.of(layout, factors.dtype.itemsize)
    nowhere = Place((), 0, 0)
    places = (layout.query, layout.key, layout.value)
    masks = (layout.keep or nowhere, *layout.biases, nowhere, nowhere)[:3]
    causal_offset = node.attributes.get("causal_offset")
    num_parts = ceil_div(layout.num_keys, tile.keys_per_part)
    num_lines = math.prod(layout.lead) * layout.num_rows
    part_bytes = num_lines * (4 + layout.width) * factors.dtype.itemsize
    parts = Workspace(num_parts * part_bytes) if num_parts > 1 else None
    lead = dims(*[1] * (MAX_LEAD_AXES - len(layout.lead)), *layout.lead)
    types = (("SCALAR", c_type(q.dtype)), ("EMPTY", EMPTY[node.attributes.get("empty", "nan")]))
    launches = [
        Launch(
            "ops/attention/attention.cu",
            "attention",
            (ceil_div(layout.num_rows, tile.rows) * math.prod(layout.lead), num_parts, 1),
            (ROW_GROUPS * THREADS_ACROSS, 1, 1),
            (
                *(q, k, v, factors, keep, *biases, None if parts else y, parts),
                *map(np.int32, (layout.num_rows, layout.num_keys, layout.depth, layout.width)),
                np.int32(causal_offset or 0),
                np.int32(tile.keys_per_part),
                lead,
                *(place.struct() for place in (*places, *masks, layout.output)),
            ),
            (
                *types,
                ("CAPPED", str(int(node.attributes.get("capped", False)))),
                ("KEEP", _keep_macro(node, keep)),
                ("BIASES", str(len(layout.biases))),
                ("CAUSAL", str(int(causal_offset is not None))),
                ("SPLIT", str(int(parts is not None))),
                *tile.macros,
                ("VECTOR", _vector_width(places, (layout.depth, layout.width))),
            ),
            tile.shared_bytes,
        )
    ]
    if parts is not None:
        arguments = (np.int32(num_parts), np.int32(layout.num_rows), np.int32(layout.width))
        launches.append(
            Launch(
                "ops/attention/join_parts.cu",
                "join_parts",
                (num_lines, 1, 1),
                (128, 1, 1),
                (y, parts, *arguments, lead, layout.output.struct()),
                types,
            )
        )
    return launches


def _keep_macro(node: Node, keep: Value | None) -> str:
    if keep is None:
        return "0"
    return "1" if node.attributes.get("keep_where", True) else "2"


def _vector_width(places: Sequence[Place], sizes: Sequence[int]) -> str:
    """Elements that one load may take: every row begins at a multiple of that."""
    steps = [step for place in places for step in (*place.lead, place.row, place.offset)]
    return "4" if all(number % 4 == 0 for number in (*steps, *sizes)) else "1"


register(OpSpec("FusedAttention", 1, _infer, _lower, domain="cugraphmodel"))
