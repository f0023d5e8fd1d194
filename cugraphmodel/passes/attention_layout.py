"""Where the operands of an attention lie, so that its kernel reads and writes them in place."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cugraphmodel.ops.attention.layout import (
    MAX_HEAD_SIZE,
    MAX_LEAD_AXES,
    AttentionLayout,
    Place,
)
from cugraphmodel.ops.strides import merge_axes
from cugraphmodel.passes.views import Atom, Axis, View, merged, refined

__all__ = ["Operand", "Placed", "place_operands"]


@dataclass(frozen=True)
class Operand:
    """One tensor of an attention, and the ways to see it.

    Attributes:
        views: of [*rows, columns], or of [*lead, keys, columns] for keys and values.
        shape: what these broadcast to.
        num_rows: for keys and values, the queries of each matrix, for all of which they are the
            same; else 0.
    """

    views: Sequence[View]
    shape: tuple[int, ...]
    num_rows: int = 0

    def fitting(self) -> list[_Lines]:
        """The first and the last of the views that a kernel can walk along."""
        found = [lines for view in self.views if (lines := self._lines(view)) is not None]
        return [found[0], *found[1:][-1:]] if found else []

    def _lines(self, view: View) -> _Lines | None:
        axes = view.expanded(self.shape).axes
        columns = _stride(axes[-1])
        if columns is None:
            return None
        if not self.num_rows:
            atoms = [atom for axis in axes[:-1] for atom in axis]
            return _Lines(view, atoms, 0, columns)
        keys = _stride(axes[-2])
        repeated = [(self.num_rows, 0)] if self.num_rows > 1 else []
        atoms = [*(atom for axis in axes[:-2] for atom in axis), *repeated]
        return None if keys is None else _Lines(view, atoms, keys, columns)


@dataclass(frozen=True)
class _Lines:
    """A view as lines of columns: one a query, or as many as there are keys a query."""

    view: View
    atoms: list[Atom]
    key_stride: int
    column_stride: int


@dataclass(frozen=True)
class Placed:
    """A layout, and the views it is of, in the order of the operands."""

    layout: AttentionLayout
    views: tuple[View, ...]


def _stride(axis: Axis) -> int | None:
    """The stride of a dimension, 1 if that does not matter; None if it has several."""
    atoms = merged(axis)
    if len(atoms) > 1:
        return None
    return atoms[0][1] if atoms else 1


def place_operands(
    query: Operand,
    key: Operand,
    value: Operand,
    output: Operand,
    keep: Operand | None = None,
    biases: Sequence[Operand] = (),
) -> Placed | None:
    """The layout that folds most into its operands; None if the kernel takes none of them."""
    operands = [query, key, value, output, *filter(None, [keep]), *biases]
    num_keys, width = value.shape[-2:]
    depth = query.shape[-1]
    if not 1 <= min(depth, width) <= max(depth, width) <= MAX_HEAD_SIZE:
        return None
    for chosen in itertools.product(*(operand.fitting() for operand in operands)):
        walk = _walk(chosen)
        if walk is None:
            continue
        lead, num_rows, places = walk
        q_place, k_place, v_place, y_place, *masks = places
        layout = AttentionLayout(
            lead, num_rows, num_keys, depth, width, q_place, k_place, v_place, y_place,
            keep=masks.pop(0) if keep else None, biases=tuple(masks),
        )  # fmt: skip
        return Placed(layout, tuple(lines.view for lines in chosen))
    return None


def _walk(chosen: Sequence[_Lines]) -> tuple[tuple[int, ...], int, list[Place]] | None:
    """Leading axes, rows, and places, of lines that are walked along together."""
    totals = {math.prod(size for size, _ in lines.atoms) for lines in chosen}
    steps = refined([lines.atoms for lines in chosen]) if len(totals) == 1 else None
    if steps is None:
        return None
    sizes, strides = merge_axes(*steps)
    # The rows of a block share their keys and values.
    has_rows = bool(sizes) and strides[1][-1] == strides[2][-1] == 0
    lead = sizes[:-1] if has_rows else sizes
    if len(lead) > MAX_LEAD_AXES:
        return None
    places = [
        _place(lines, steps[: len(lead)], steps[-1] if has_rows else 0, position in (1, 2))
        for position, (lines, steps) in enumerate(zip(chosen, strides, strict=True))
    ]
    # Else the loads and stores of a warp would lie far apart.
    has_neighbours = all(1 in (place.row, place.column) for place in places[:4])
    return (lead, sizes[-1] if has_rows else 1, places) if has_neighbours else None


def _place(lines: _Lines, lead: Iterable[int], row: int, of_keys: bool) -> Place:
    row = lines.key_stride if of_keys else row
    return Place(tuple(lead), row, lines.column_stride, lines.view.offset)
