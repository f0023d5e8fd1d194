"""Matrix products on tensor cores: what fits them, which tile, which launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

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
    "MmaKernel",
    "MmaTile",
    "Tiling",
    "fits_tensor_cores",
    "launch_on_tensor_cores",
    "tilings",
]

Arithmetic = Literal["f16", "bf16", "tf32", "tf32x3"]
"""How the operands are multiplied; see ``mma_tile.cuh``."""

CHUNK_BYTES = 16
"""What one copy brings: neighbours along the depth."""
MIN_COLUMNS = 8
"""With fewer, most of a tile would be empty."""
MAX_DEPTH = 2**24
"""So that the elements of the rows that a block loads together are counted in 32 bits."""
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


TILES = {
    "16x64": MmaTile(16, 64, 128, 16, 16, 4),
    "32x32": MmaTile(32, 32, 128, 16, 16, 4),
    "32x64": MmaTile(32, 64, 128, 16, 32, 4),
    "64x32": MmaTile(64, 32, 128, 32, 16, 4),
    "64x64": MmaTile(64, 64, 128, 32, 32, 3),
    "64x128": MmaTile(64, 128, 64, 32, 32, 4),
    "128x64": MmaTile(128, 64, 64, 32, 32, 4),
    "128x128": MmaTile(128, 128, 64, 64, 32, 3),
}
"""All there are, by rows and columns; each fits into the 48 KiB that any block may have."""


@dataclass(frozen=True)
class Tiling:
    """A tile, by its name in ``TILES``, and the slices of the depth that blocks share."""

    tile: str
    num_slices: int

    @staticmethod
    def of(attributes: Mapping[str, Any]) -> Tiling | None:
        """The one that a node asks for, if it does."""
        if "tile" not in attributes:
            return None
        return Tiling(attributes["tile"], attributes["num_slices"])

    @property
    def attributes(self) -> dict[str, Any]:
        """Those of a node that asks for it."""
        return {"tile": self.tile, "num_slices": self.num_slices}


def static_tiling(product: Product, dtype: np.dtype) -> Tiling:
    """What to take where nothing was measured.

    The largest of three tiles that gives every multiprocessor of a large GPU a block; if even the
    smallest leaves some without, as many slices as there are idle ones.
    """
    if product.rows > TILES["16x64"].rows and _num_blocks(product, "64x64") >= WAVE_BLOCKS:
        return Tiling("64x64", 1)
    tile = "16x64" if product.rows <= TILES["16x64"].rows else "32x32"
    fitting = _slice_counts(product, dtype, tile, 2 * WAVE_BLOCKS)
    return Tiling(tile, fitting[-1])


def tilings(product: Product, dtype: np.dtype) -> list[Tiling]:
    """All that are worth measuring, the static one first."""
    first = static_tiling(product, dtype)
    found = [
        Tiling(tile, num_slices)
        for tile, shape in TILES.items()
        if shape.rows <= max(32, 2 * product.rows) and shape.columns <= max(64, 2 * product.columns)
        for num_slices in _slice_counts(product, dtype, tile, 3 * WAVE_BLOCKS)
    ]
    return [first, *(tiling for tiling in found if tiling != first)]


def _num_blocks(product: Product, tile: str) -> int:
    shape = TILES[tile]
    tiles = ceil_div(product.rows, shape.rows) * ceil_div(product.columns, shape.columns)
    return tiles * product.num_batches


def _slice_counts(product: Product, dtype: np.dtype, tile: str, max_blocks: int) -> list[int]:
    """Powers of two that give at most so many blocks, and each at least two tiles of the depth."""
    counts = [1]
    steps = product.depth * dtype.itemsize // TILES[tile].depth_bytes
    while (
        counts[-1] < MAX_SLICES
        and 2 * counts[-1] * _num_blocks(product, tile) <= max_blocks
        and steps >= 4 * counts[-1]
    ):
        counts.append(2 * counts[-1])
    return counts


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
        and 0 < product.depth < MAX_DEPTH
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
        geometry: what both kernels take after operands, bias, residual and results.
        macros: beside those of the types, the tile and the arithmetic.
    """

    source: str
    entry: str
    operands: tuple[Value, Value]
    geometry: tuple[Argument, ...]
    macros: tuple[tuple[str, str], ...] = ()

    def launches(
        self,
        product: Product,
        y: Value,
        epilogue: Epilogue,
        arithmetic: Arithmetic,
        tiling: Tiling | None,
    ) -> Sequence[Launch]:
        """One launch, or two where blocks share the depth.

        Args:
            product: sizes of the matrices.
            y: [*batch, rows, columns], contiguous, of any float dtype.
            epilogue: what becomes of a sum.
            arithmetic: ``"f16"`` for float16, ``"bf16"`` for bfloat16, else one of float32.
            tiling: None for the static rule's.
            tiling: None for the static rule's.
        """
        dtype = self.operands[0].dtype
        chosen = tiling or static_tiling(product, dtype)
        tile, num_slices = TILES[chosen.tile], chosen.num_slices
        grid = (_num_blocks(product, chosen.tile), num_slices, 1)
        block = (tile.threads, 1, 1)
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
    tiling: Tiling | None,
    left_scale: Value | None = None,
) -> Sequence[Launch]:
    """The launches of a product that :func:`fits_tensor_cores`; see :class:`MmaKernel`.

    ``left_scale`` has an element for each batch and place in the depth, by which the left operand
    is multiplied first, or is None.
    """
    sizes = (np.int32(product.rows), np.int32(product.columns), np.int32(product.depth))
    kernel = MmaKernel(
        "ops/matmul/mma_gemm.cu",
        "mma_gemm",
        (left, right),
        (left_scale, *sizes, *batch_arguments(product)),
        (("LEFT_SCALE", str(int(left_scale is not None))),),
    )
    return kernel.launches(product, y, epilogue, arithmetic, tiling)
