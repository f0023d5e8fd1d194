"""Copying elements between two tensors under any strides: what most movement operators are.

A copy is a shape, a source stride and a target stride for each of its dimensions, and two offsets,
all in elements. Before a kernel is chosen, dimensions of size 1 go, adjacent dimensions that are
one run of memory on both sides merge, and elements join into words of up to 16 bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from cugraphmodel.ir import Value
from cugraphmodel.ops.launch import Launch, ceil_div, dims, index_type
from cugraphmodel.ops.spec import Unsupported
from cugraphmodel.ops.strides import merge_axes

__all__ = ["WORDS", "Copy", "copy_all", "launch_copy", "widest_word"]

THREADS = 256
TILE = 32
MIN_TILED_SIZE = 8
"""Below this size of a swapped dimension, most of a 32 x 32 tile would be idle."""

WORDS = {
    1: "unsigned char",
    2: "unsigned short",
    4: "unsigned int",
    8: "unsigned long long",
    16: "Word16",
}
"""Bytes -> C++ type that moves them; ``Word16`` comes from ``word.cuh``."""


@dataclass(frozen=True)
class Copy:
    """Which element goes where. Strides and offsets count elements.

    Attributes:
        shape: dimensions walked, none empty.
        source_strides, target_strides: one a dimension.
        source_offset, target_offset: of the element at coordinate 0.
    """

    shape: tuple[int, ...]
    source_strides: tuple[int, ...]
    target_strides: tuple[int, ...]
    source_offset: int = 0
    target_offset: int = 0

    def collapsed(self) -> Copy:
        """The same copy in as few dimensions as possible."""
        shape, (source, target) = merge_axes(self.shape, (self.source_strides, self.target_strides))
        return replace(self, shape=shape, source_strides=source, target_strides=target)

    def widened(self, itemsize: int) -> tuple[Copy, int]:
        """A collapsed copy in the widest words that all its numbers allow, and their bytes."""
        if not self.shape or self.source_strides[-1] != 1 or self.target_strides[-1] != 1:
            return self, itemsize
        outer = self.source_strides[:-1] + self.target_strides[:-1]
        factor = widest_word(
            itemsize, self.shape[-1], self.source_offset, self.target_offset, *outer
        )
        wide = Copy(
            (*self.shape[:-1], self.shape[-1] // factor),
            (*(stride // factor for stride in self.source_strides[:-1]), 1),
            (*(stride // factor for stride in self.target_strides[:-1]), 1),
            self.source_offset // factor,
            self.target_offset // factor,
        )
        return wide.collapsed(), itemsize * factor


def widest_word(itemsize: int, *counts: int) -> int:
    """How many elements make the widest word of at most 16 bytes that divides every count."""
    factor = 16 // itemsize
    while any(count % factor for count in counts):
        factor //= 2
    return factor


def copy_all(source: Value, target: Value) -> list[Launch]:
    """A copy of all elements in order; the sizes are equal."""
    return launch_copy(source, target, Copy((source.size,), (1,), (1,)))


def launch_copy(source: Value, target: Value, copy: Copy) -> list[Launch]:
    """The launches (none for an empty copy) that carry it out.

    Raises:
        Unsupported: more than 8 dimensions remain.
    """
    if 0 in copy.shape:
        return []
    wide, word_bytes = copy.collapsed().widened(source.dtype.itemsize)
    if len(wide.shape) > 8:
        raise Unsupported(
            f"Copying {source} takes {len(wide.shape)} dimensions; the kernels have 8."
        )
    swap = _swapped_axes(wide)
    if swap is not None and word_bytes <= 8:
        return [_launch_tiles(source, target, wide, WORDS[word_bytes], *swap)]
    return [_launch_strided(source, target, wide, WORDS[word_bytes])]


def _swapped_axes(copy: Copy) -> tuple[int, int] | None:
    """The dimensions contiguous in the source and in the target, if both are long and differ."""
    if 1 not in copy.source_strides or 1 not in copy.target_strides:
        return None
    row, column = copy.source_strides.index(1), copy.target_strides.index(1)
    if row == column or min(copy.shape[row], copy.shape[column]) < MIN_TILED_SIZE:
        return None
    return row, column


def _launch_tiles(
    source: Value, target: Value, copy: Copy, word: str, row: int, column: int
) -> Launch:
    batch = [axis for axis in range(len(copy.shape)) if axis not in (row, column)]
    tiles = math.prod(ceil_div(copy.shape[axis], TILE) for axis in (row, column))
    return Launch(
        source="ops/movement/transpose.cu",
        entry="transpose_tiles",
        grid=(tiles * math.prod(copy.shape[axis] for axis in batch), 1, 1),
        block=(TILE, THREADS // TILE, 1),
        args=(
            source,
            target,
            np.int64(copy.shape[row]),
            np.int64(copy.shape[column]),
            np.int64(copy.source_strides[column]),
            np.int64(copy.target_strides[row]),
            np.int32(len(batch)),
            dims(*(copy.shape[axis] for axis in batch)),
            dims(*(copy.source_strides[axis] for axis in batch)),
            dims(*(copy.target_strides[axis] for axis in batch)),
            np.int64(copy.source_offset),
            np.int64(copy.target_offset),
        ),
        macros=(("WORD", word),),
    )


def _launch_strided(source: Value, target: Value, copy: Copy, word: str) -> Launch:
    count = math.prod(copy.shape)
    rank = next(rank for rank in (1, 2, 4, 8) if rank >= len(copy.shape))
    missing = rank - len(copy.shape)
    return Launch(
        source="ops/movement/strided_copy.cu",
        entry="strided_copy",
        grid=(ceil_div(count, THREADS), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            source,
            target,
            np.int64(count),
            dims(*[1] * missing, *copy.shape, fill=1),
            dims(*[0] * missing, *copy.source_strides),
            dims(*[0] * missing, *copy.target_strides),
            np.int64(copy.source_offset),
            np.int64(copy.target_offset),
        ),
        macros=(
            ("WORD", word),
            ("RANK", str(rank)),
            ("INDEX", index_type(count)),
        ),
    )
