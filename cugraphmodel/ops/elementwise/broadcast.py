"""NumPy broadcasting, and the smallest index space that covers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cugraphmodel.ops.spec import reject

__all__ = ["IndexSpace", "broadcast_shapes", "collapse"]


@dataclass(frozen=True)
class IndexSpace:
    """How to walk through an output and the operands that are broadcast to it.

    Attributes:
        shape: the output's dimensions after merging, at least one.
        strides: for each operand, its stride in elements along each of them; 0 where it repeats.
    """

    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)


def broadcast_shapes(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that all of ``shapes`` broadcast to, by NumPy's rule.

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
            raise reject(f"The shapes {listed} do not broadcast to one another.")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def collapse(shape: tuple[int, ...], operands: Sequence[tuple[int, ...]]) -> IndexSpace:
    """Drop dimensions of size 1 and merge neighbours that every operand walks as one.

    Args:
        shape: the output's shape, no dimension of which is 0.
        operands: shapes that broadcast to it.
    """
    strides = [_strides(operand, len(shape)) for operand in operands]
    merged: list[tuple[int, tuple[int, ...]]] = []
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        steps = tuple(stride[axis] for stride in strides)
        if merged:
            outer_size, outer_steps = merged[-1]
            if all(o == s * size for o, s in zip(outer_steps, steps, strict=True)):
                merged[-1] = (outer_size * size, steps)
                continue
        merged.append((size, steps))
    if not merged:
        merged = [(1, (0,) * len(operands))]
    return IndexSpace(
        tuple(size for size, _ in merged),
        tuple(tuple(steps[k] for _, steps in merged) for k in range(len(operands))),
    )


def _strides(operand: tuple[int, ...], rank: int) -> list[int]:
    """Element strides of a contiguous tensor, aligned to the right of ``rank`` dimensions."""
    strides = [0] * rank
    step = 1
    for axis in range(1, len(operand) + 1):
        if operand[-axis] != 1:
            strides[-axis] = step
        step *= operand[-axis]
    return strides
