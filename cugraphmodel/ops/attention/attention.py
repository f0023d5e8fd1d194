"""FusedAttention, which passes make of the parts of an attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import BOOL, FLOATS, check_dtype, optional, required
from cugraphmodel.ops.attention.layout import AttentionLayout, Place
from cugraphmodel.ops.launch import Launch, Workspace, ceil_div
from cugraphmodel.ops.matmul.product import WAVE_BLOCKS
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__ = ["factor_dtype"]

ROW_GROUPS, THREADS_ACROSS, TILE_DEPTH = 8, 16, 32
QUERY_TILE_BYTES = 17 * 1024
"""Of queries in shared memory; with a tile of keys and one of scores a block stays below 48 KB."""


PARTS_BLOCKS = 4 * WAVE_BLOCKS
"""Blocks to aim for where the keys of a head are shared among several: these wait for memory."""
MIN_TILES_PER_PART = 2


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
    y, factors, layout = required(outputs), required(inputs, 3), _layout_of(node)
    tile = _Tile.of(layout, factors.dtype.itemsize)
    num_parts = ceil_div(layout.num_keys, tile.keys_per_part)
    if num_parts == 1:
        return [_attention(node, inputs, y, None, tile)]
    part_bytes = layout.num_lines * (4 + layout.width) * factors.dtype.itemsize
    parts = Workspace(num_parts * part_bytes)
    return [
        _attention(node, inputs, None, parts, tile),
        Launch(
            "ops/attention/join_parts.cu",
            "join_parts",
            (layout.num_lines, 1, 1),
            (ROW_GROUPS * THREADS_ACROSS, 1, 1),
            (
                *(y, parts),
                *map(np.int32, (num_parts, layout.num_rows, layout.width)),
                layout.lead_struct(),
                layout.output.struct(),
            ),
            _types(node, y.dtype),
        ),
    ]


def _attention(
    node: Node,
    inputs: Sequence[Value | None],
    y: Value | None,
    parts: Workspace | None,
    tile: _Tile,
) -> Launch:
    """The launch that makes ``y``, or ``parts`` of it."""
    layout, keep = _layout_of(node), optional(inputs, 4)
    nowhere = Place((), 0, 0)
    places = (layout.query, layout.key, layout.value)
    masks = (layout.keep or nowhere, *layout.biases, nowhere, nowhere)[:3]
    causal_offset = node.attributes.get("causal_offset")
    num_parts = ceil_div(layout.num_keys, tile.keys_per_part)
    return Launch(
        "ops/attention/attention.cu",
        "attention",
        (ceil_div(layout.num_rows, tile.rows) * math.prod(layout.lead), num_parts, 1),
        (ROW_GROUPS * THREADS_ACROSS, 1, 1),
        (
            *(required(inputs, position) for position in range(4)),
            *(keep, optional(inputs, 5), optional(inputs, 6), y, parts),
            *map(np.int32, (layout.num_rows, layout.num_keys, layout.depth, layout.width)),
            *map(np.int32, (causal_offset or 0, tile.keys_per_part)),
            layout.lead_struct(),
            *(place.struct() for place in (*places, *masks, layout.output)),
        ),
        (
            *_types(node, required(inputs).dtype),
            ("CAPPED", str(int(node.attributes.get("capped", False)))),
            ("KEEP", _keep_macro(node, keep)),
            ("BIASES", str(len(layout.biases))),
            ("CAUSAL", str(int(causal_offset is not None))),
            ("SPLIT", str(int(parts is not None))),
            *tile.macros,
            ("VECTOR", _vector_width(places, (layout.depth, layout.width))),
            ("Q_DOWN", str(int(_is_down(layout.query)))),
            ("V_DOWN", str(int(_is_down(layout.value)))),
        ),
        tile.shared_bytes,
    )


def _types(node: Node, dtype: np.dtype) -> tuple[tuple[str, str], ...]:
    empty = node.attributes.get("empty", "nan")
    return ("SCALAR", c_type(dtype)), ("EMPTY", EMPTY[empty])


def _keep_macro(node: Node, keep: Value | None) -> str:
    if keep is None:
        return "0"
    return "1" if node.attributes.get("keep_where", True) else "2"


def _is_down(place: Place) -> bool:
    """Whether rows are neighbours in memory, and columns are not."""
    return place.row == 1 != place.column


def _vector_width(places: Sequence[Place], sizes: Sequence[int]) -> str:
    """Elements that one load may take: every row begins at a multiple of that."""
    steps = [step for place in places for step in (*place.lead, place.row, place.offset)]
    in_lines = all(place.column == 1 for place in places)
    return "4" if in_lines and all(number % 4 == 0 for number in (*steps, *sizes)) else "1"


register(OpSpec("FusedAttention", 1, _infer, _lower, domain="cugraphmodel"))
