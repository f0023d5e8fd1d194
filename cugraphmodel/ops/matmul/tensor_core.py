"""Matrix products on tensor cores: what fits them, which tile, which launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Value
from cugraphmodel.ops.launch import Launch, Workspace, ceil_div
from cugraphmodel.ops.matmul.product import (
    MAX_GEMV_ROWS,
    WAVE_BLOCKS,
    Epilogue,
    Product,
    batch_arguments,
    epilogue_arguments,
)

__all__ = [
    "Arithmetic",
    "MmaTile",
    "choose_mma_tile",
    "fits_tensor_cores",
    "launch_on_tensor_cores",
]

Arithmetic = Literal["f16", "bf16", "tf32", "tf32x3"]
"""How the operands are multiplied; see ``mma_tile.cuh``."""

CHUNK_BYTES = 16
"""What one copy brings: neighbours along the depth."""
MIN_COLUMNS = 8
"""With fewer, most of a tile would be empty."""
MAX_BLOCKS = 2 * WAVE_BLOCKS
"""Slices of the depth give a product up to so many blocks."""
MAX_SLICES = 16
THREADS = 256


@dataclass(frozen=True)
class MmaTile:
    """Sums of a block and of one of its warps, depth of a step, and steps in shared memory."""

    rows: int
    columns: int
    depth_bytes: int
    warp_rows: int
    warp_columns: int
    num_stages: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * (self.rows // self.warp_rows) * (self.columns // self.warp_columns)

    def macros(self, dtype: np.dtype) -> tuple[tuple[str, str], ...]:
        """What ``mma_tile.cuh`` wants to know, for operands of a dtype."""
        return (
            ("TILE_ROWS", str(self.rows)),
            ("TILE_COLUMNS", str(self.columns)),
            ("TILE_DEPTH", str(self.depth_bytes // dtype.itemsize)),
            ("WARP_ROWS", str(self.warp_rows)),
            ("WARP_COLUMNS", str(self.warp_columns)),
            ("NUM_STAGES", str(self.num_stages)),
        )


LARGE_TILE = MmaTile(64, 64, 128, 32, 32, 3)
SMALL_TILE = MmaTile(32, 32, 128, 16, 16, 4)
FLAT_TILE = MmaTile(16, 64, 128, 16, 16, 4)


def choose_mma_tile(
    rows: int, columns: int, depth_bytes: int, num_products: int
) -> tuple[MmaTile, int]:
    """A tile, and into how many slices the depth is cut.

    The largest tile that gives every multiprocessor of a large GPU a block; if even the smallest
    leaves some without, blocks share the depth.
    """

    def blocks(tile: MmaTile) -> int:
        return ceil_div(rows, tile.rows) * ceil_div(columns, tile.columns) * num_products

    if rows > FLAT_TILE.rows and blocks(LARGE_TILE) >= WAVE_BLOCKS:
        return LARGE_TILE, 1
    tile = FLAT_TILE if rows <= FLAT_TILE.rows else SMALL_TILE
    num_slices = 1
    while (
        num_slices < MAX_SLICES
        and blocks(tile) * num_slices * 2 <= MAX_BLOCKS
        and depth_bytes >= num_slices * 4 * tile.depth_bytes
    ):
        num_slices *= 2
    return tile, num_slices


def fits_tensor_cores(product: Product, dtype: np.dtype) -> bool:
    """Whether the tensor-core kernel covers a product, and is better than reading weights once."""
    chunk = CHUNK_BYTES // dtype.itemsize
    strides = (product.depth, *product.left_strides, *product.right_strides)
    return (
        product.rows > MAX_GEMV_ROWS
        and product.columns >= MIN_COLUMNS
        and product.depth > 0
        and not product.transpose_left
        and product.transpose_right
        and all(stride % chunk == 0 for stride in strides)
    )


def launch_on_tensor_cores(
    product: Product,
    left: Value,
    right: Value,
    y: Value,
    epilogue: Epilogue,
    arithmetic: Arithmetic,
) -> Sequence[Launch]:
    """One launch, or two where blocks share the depth.

    Args:
        product: one that :func:`fits_tensor_cores`.
        left: [*batch, rows, depth].
        right: [*batch, columns, depth].
        y: [*batch, rows, columns], contiguous, of any float dtype.
        epilogue: what becomes of a sum.
        arithmetic: ``"f16"`` for operands of float16, ``"bf16"`` for bfloat16, else for float32.
    """
    tile, num_slices = choose_mma_tile(
        product.rows, product.columns, product.depth * left.dtype.itemsize, product.num_batches
    )
    tiles = ceil_div(product.rows, tile.rows) * ceil_div(product.columns, tile.columns)
    grid = (tiles * product.num_batches, num_slices, 1)
    sizes = (np.int32(product.rows), np.int32(product.columns))
    types = (
        ("SCALAR", c_type(left.dtype)),
        ("RESULT", c_type(y.dtype)),
        ("ACTIVATION", epilogue.activation),
    )
    macros = (*types, ("ARITHMETIC", arithmetic), *tile.macros(left.dtype))
    source, block, depth = "ops/matmul/mma_gemm.cu", (tile.threads, 1, 1), np.int32(product.depth)
    finish = epilogue_arguments(epilogue)
    if num_slices == 1:
        arguments = (left, right, epilogue.bias, y, *sizes, depth, *batch_arguments(product))
        return [Launch(source, "mma_gemm", grid, block, (*arguments, *finish), macros)]
    step = tile.depth_bytes // left.dtype.itemsize
    slice_depth = ceil_div(ceil_div(product.depth, step), num_slices) * step
    partial = Workspace(num_slices * y.size * 4)
    slices = (*sizes, depth, np.int32(slice_depth), np.int64(y.size), *batch_arguments(product))
    return [
        Launch(source, "mma_gemm_slices", grid, block, (left, right, partial, *slices), macros),
        Launch(
            "ops/matmul/add_slices.cu",
            "add_slices",
            (ceil_div(y.size, THREADS), 1, 1),
            (THREADS, 1, 1),
            (partial, epilogue.bias, y, np.int32(num_slices), np.int64(y.size), *sizes, *finish),
            types,
        ),
    ]
