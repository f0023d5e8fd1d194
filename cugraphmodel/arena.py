"""Placing buffers with known lifetimes into one block of memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

__all__ = ["ALIGNMENT", "Lifetime", "Slot", "align", "place"]

ALIGNMENT = 256
"""Alignment of every slot in bytes; that of ``cudaMalloc``, so any vector access is aligned."""


@dataclass(frozen=True)
class Lifetime:
    """A buffer's size, and the first and last step (inclusive) in which it must keep its bytes."""

    num_bytes: int
    first_step: int
    last_step: int


@dataclass(frozen=True)
class Slot:
    """A buffer's place in the arena."""

    offset: int
    num_bytes: int

    @property
    def end(self) -> int:
        """First byte after the slot."""
        return self.offset + self.num_bytes


def align(num_bytes: int) -> int:
    """``num_bytes`` rounded up to the alignment."""
    return -(-num_bytes // ALIGNMENT) * ALIGNMENT


def place(lifetimes: Mapping[str, Lifetime]) -> tuple[dict[str, Slot], int]:
    """Give each buffer an offset so that buffers alive together never overlap.

    Largest first and, of one size, oldest first, each at the lowest offset that is free during its
    whole lifetime: the "greedy by size" strategy of Pisarchyk and Lee, "Efficient Memory
    Management for Deep Neural Net Inference" (2020), section 5.

    Returns:
        The slots, and the total size of the arena in bytes.
    """
    order = sorted(
        lifetimes, key=lambda name: (-lifetimes[name].num_bytes, lifetimes[name].first_step, name)
    )
    placed = _Placed(len(order))
    slots = {name: placed.add(lifetimes[name]) for name in order}
    return slots, max((align(slot.end) for slot in slots.values()), default=0)


class _Placed:
    """The slots so far, by ascending offset: one column each, so that a search is a few scans."""

    def __init__(self, capacity: int) -> None:
        self._columns = np.zeros((4, capacity), np.int64)
        self._count = 0

    def add(self, mine: Lifetime) -> Slot:
        first, last, offset, end = self._columns[:, : self._count]
        alive = (first <= mine.last_step) & (last >= mine.first_step)
        starts = offset[alive]
        lowest = np.maximum.accumulate(np.append(0, end[alive]))  # below each, and above all
        gaps = np.flatnonzero(starts >= lowest[:-1] + mine.num_bytes)
        slot = Slot(int(lowest[gaps[0] if gaps.size else -1]), mine.num_bytes)
        place = np.searchsorted(offset, slot.offset, side="right")
        self._columns[:, place + 1 : self._count + 1] = self._columns[:, place : self._count]
        row = (mine.first_step, mine.last_step, slot.offset, align(slot.end))
        self._columns[:, place] = row
        self._count += 1
        return slot
