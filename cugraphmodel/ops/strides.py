"""Shapes, and strides in elements: contiguous, broadcast, and over as few axes as possible."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cugraphmodel.ops.spec import Unsupported

__all__ = ["broadcast_shapes", "broadcast_strides", "contiguous_strides", "merge_axes"]


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a C-contiguous tensor."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def broadcast_shapes(shapes: Sequence[tuple[int, ...]], what: str = "shapes") -> tuple[int, ...]:
    """The shape that all of ``shapes`` broadcast to, by NumPy's rule.

    Args:
        shapes: at least one.
        what: what a message calls them.

    Raises:
        Unsupported: two dimensions differ and neither is 1.
    """
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        wide = {size for size in sizes if size != 1}
        if len(wide) > 1:
            listed = " and ".join(str(list(shape)) for shape in shapes)
            raise Unsupported(f"The {what} {listed} do not broadcast to one another.")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def broadcast_strides(shape: Sequence[int], rank: int) -> tuple[int, ...]:
    """Strides of a contiguous tensor over ``rank`` axes it broadcasts to; 0 where it repeats."""
    strides = contiguous_strides(shape)
    kept = (0 if size == 1 else stride for size, stride in zip(shape, strides, strict=True))
    return (*[0] * (rank - len(shape)), *kept)


def merge_axes(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Fewer axes that visit the same elements in the same order.

    Axes of size 1 go, and neighbours that every operand walks as one merge.

    Args:
        shape: the axes walked.
        strides: for each operand, its stride along each axis.

    Returns:
        The axes that are left, possibly none, and each operand's strides along them.
    """
    merged: list[tuple[int, tuple[int, ...]]] = []
    for size, *steps in zip(shape, *strides, strict=True):
        if size == 1:
            continue
        if merged and merged[-1][1] == tuple(step * size for step in steps):
            merged[-1] = (merged[-1][0] * size, tuple(steps))
        else:
            merged.append((size, tuple(steps)))
    return (
        tuple(size for size, _ in merged),
        tuple(tuple(steps[k] for _, steps in merged) for k in range(len(strides))),
    )
