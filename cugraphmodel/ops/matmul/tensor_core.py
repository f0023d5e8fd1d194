"""Matrix products on tensor cores: what fits them, which tile, which launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Value
from cugraphmodel.ops.launch import Argument, Launch, Workspace, ceil_div
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


def fits_tensor_cores(product: Product, dtype: np.dtype, run: int = 0) -> bool:
    """Whether a tensor-core kernel covers a product, and is better than reading weights once.

    Args:
        product: the product.
        dtype: of its operands.
        run: elements that the left operand has side by side along the depth; 0 for all.
    """
    chunk = CHUNK_BYTES // dtype.itemsize
    strides = (run, product.depth, *product.left_strides, *product.right_strides)
    return (
        product.rows > MAX_GEMV_ROWS
        and product.columns >= MIN_COLUMNS
        and product.depth > 0
        and not product.transpose_left
        and product.transpose_right
        and all(stride % chunk == 0 for stride in strides)
    )


@dataclass(frozen=True)
class MmaKernel:
    """A kernel that multiplies matrices on tensor cores.

    Attributes:
        source: its file.
        entry: the kernel that writes the product; ``{entry}_slices`` writes sums of slices.
        operands: left and right.
        geometry: what both kernels take after the pointers.
        macros: beside those of the types, the tile and the arithmetic.
    """

    source: str
    entry: str
    operands: tuple[Value, Value]
    geometry: tuple[Argument, ...]
    macros: tuple[tuple[str, str], ...] = ()

    def launches(
        self, product: Product, y: Value, epilogue: Epilogue, arithmetic: Arithmetic
    ) -> Sequence[Launch]:
        """One launch, or two where blocks share the depth.

        Args:
            product: sizes of the matrices.
            y: [*batch, rows, columns], contiguous, of any float dtype.
            epilogue: what becomes of a sum.
            arithmetic: ``"f16"`` for float16, ``"bf16"`` for bfloat16, else one of float32.
        """
        dtype = self.operands[0].dtype
        depth_bytes, batches = product.depth * dtype.itemsize, product.num_batches
        tile, num_slices = choose_mma_tile(product.rows, product.columns, depth_bytes, batches)
        tiles = ceil_div(product.rows, tile.rows) * ceil_div(product.columns, tile.columns)
        grid, block = (tiles * batches, num_slices, 1), (tile.threads, 1, 1)
        types = (
            ("SCALAR", c_type(dtype)),
            ("RESULT", c_type(y.dtype)),
            ("ACTIVATION", epilogue.activation),
        )
        macros = (*types, ("ARITHMETIC", arithmetic), *self.macros, *tile.macros(dtype))
        finish = epilogue_arguments(epilogue)
        if num_slices == 1:
            arguments = (
                *self.operands,
                epilogue.bias,
                epilogue.residual,
                y,
                *self.geometry,
                *finish,
            )
            return [Launch(self.source, self.entry, grid, block, arguments, macros)]
        step = tile.depth_bytes // dtype.itemsize
        slice_depth = ceil_div(ceil_div(product.depth, step), num_slices) * step
        partial, size = Workspace(num_slices * y.size * 4), np.int64(y.size)
        arguments = (*self.operands, partial, *self.geometry, np.int32(slice_depth), size)
        sizes = (np.int32(num_slices), size, np.int32(product.rows), np.int32(product.columns))
        return [
            Launch(self.source, f"{self.entry}_slices", grid, block, arguments, macros),
            Launch(
                "ops/matmul/add_slices.cu",
                "add_slices",
                (ceil_div(y.size, THREADS), 1, 1),
                (THREADS, 1, 1),
                (partial, epilogue.bias, epilogue.residual, y, *sizes, *finish),
                types,
            ),
        ]


def launch_on_tensor_cores(
    product: Product,
    left: Value,
    right: Value,
    y: Value,
    epilogue: Epilogue,
    arithmetic: Arithmetic,
) -> Sequence[Launch]:
    """The launches of a product that :func:`fits_tensor_cores`; see :class:`MmaKernel`."""
    sizes = (np.int32(product.rows), np.int32(product.columns), np.int32(product.depth))
    geometry = (*sizes, *batch_arguments(product))
    kernel = MmaKernel("ops/matmul/mma_gemm.cu", "mma_gemm", (left, right), geometry)
    return kernel.launches(product, y, epilogue, arithmetic)
