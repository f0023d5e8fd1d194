"""Placing buffers with known lifetimes into one block of memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["ALIGNMENT", "Lifetime", "Slot", "align", "place"]

ALIGNMENT = 256
"""Alignment of every slot in bytes; that of ``cudaMalloc``, so any vector access is aligned."""


@dataclass(frozen=True)
class Lifetime:
    """A buffer's size, and the first and last step (inclusive) in which it must keep its bytes."""

    num_bytes: int
    first_step: int
    last_step: int

    def overlaps(self, other: Lifetime) -> bool:
        """Whether both are alive in some step."""
        return self.first_step <= other.last_step and other.first_step <= self.last_step


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
    slots: dict[str, Slot] = {}
    total = 0
    order = sorted(
        lifetimes, key=lambda name: (-lifetimes[name].num_bytes, lifetimes[name].first_step, name)
    )
    for name in order:
        mine = lifetimes[name]
        alive = sorted(
            (slots[other] for other in slots if lifetimes[other].overlaps(mine)),
            key=lambda slot: slot.offset,
        )
        offset = 0
        for slot in alive:
            if slot.offset >= offset + mine.num_bytes:
                break
            offset = max(offset, align(slot.end))
        slots[name] = Slot(offset, mine.num_bytes)
        total = max(total, align(offset + mine.num_bytes))
    return slots, total
