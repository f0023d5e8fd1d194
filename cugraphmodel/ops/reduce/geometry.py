"""Sharing rows and columns out to threads: the geometry of every kernel that reduces."""

from __future__ import annotations

from dataclasses import dataclass

from cugraphmodel.ops.launch import ceil_div

__all__ = ["MAX_HELD_ROW", "ColumnPlan", "RowPlan", "column_plan", "row_plan"]

_ITEMS = (1, 2, 3, 4, 6, 8, 12, 16)
"""How many elements a thread may keep in registers; few values, so that few kernels compile."""

MAX_HELD_ROW = 16 * 1024
"""Elements of the longest row that stays in registers."""


@dataclass(frozen=True)
class RowPlan:
    """Geometry for independent rows, each contiguous.

    Attributes:
        row_threads: threads that share a row: 32, or those of a block.
        items: elements of a row that each of them keeps in registers, 0 where a row is too long.
        grid: blocks.
        block: threads of a block; it has four rows where a row is a warp's.
    """

    row_threads: int
    items: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]

    @property
    def macros(self) -> tuple[tuple[str, str], ...]:
        """What the kernels want to know of it."""
        return (("ROW_THREADS", str(self.row_threads)), ("ITEMS", str(self.items)))


def row_plan(num_rows: int, row_size: int) -> RowPlan:
    """A warp a row up to 512 elements, a block a row above that.

    The block grows with the row, so that up to 16,384 elements stay in registers.
    """
    row_threads = next((n for n in (32, 128, 256, 512) if row_size <= 16 * n), 1024)
    items = next((n for n in _ITEMS if row_size <= n * row_threads), 0)
    block_threads = 128 if row_threads == 32 else row_threads
    grid = ceil_div(num_rows, block_threads // row_threads)
    return RowPlan(row_threads, items, (grid, 1, 1), (block_threads, 1, 1))


@dataclass(frozen=True)
class ColumnPlan:
    """Geometry for independent columns: neighbouring threads have neighbouring columns.

    Attributes:
        width: columns of a block.
        column_threads: threads that share a column.
        grid: blocks.
        block: ``(width, column_threads, 1)``.
    """

    width: int
    column_threads: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]

    @property
    def macros(self) -> tuple[tuple[str, str], ...]:
        """What the kernels want to know of it."""
        return (("COLUMN_WIDTH", str(self.width)), ("COLUMN_THREADS", str(self.column_threads)))


def column_plan(num_columns: int, column_size: int) -> ColumnPlan:
    """A thread a column up to 16 elements, 8 threads a column up to 256, 32 threads above."""
    column_threads = 1 if column_size <= 16 else 8 if column_size <= 256 else 32
    width = 128 if column_threads == 1 else 32
    grid = ceil_div(num_columns, width)
    return ColumnPlan(width, column_threads, (grid, 1, 1), (width, column_threads, 1))
