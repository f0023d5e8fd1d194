"""How a matrix product is launched: which kernel, which tile, which arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cugraphmodel.dtypes import c_type, kind_of
from cugraphmodel.ir import Value
from cugraphmodel.ops.launch import Argument, Launch, Workspace, ceil_div, dims
from cugraphmodel.ops.spec import Unsupported
from cugraphmodel.ops.strides import broadcast_strides, merge_axes

__all__ = [
    "Epilogue",
    "Product",
    "Tile",
    "choose_tile",
    "kernel_scalar",
    "launch_product",
    "vector_width",
]

MAX_GEMV_ROWS = 4
GEMV_DOT_COLUMNS = 4
WAVE_BLOCKS = 132
"""Blocks that a large GPU runs at once, one on each multiprocessor of an H200."""


@dataclass(frozen=True)
class Epilogue:
    """What becomes of a sum: ``activation(alpha * sum + beta * bias + residual)``.

    Attributes:
        bias: the tensor added, or None.
        bias_strides: its strides in elements over rows and columns; 0 where it is broadcast.
        activation: a function of ``activations.cuh``, with its two parameters.
        residual: a tensor that lies as the product does, or None.
    """

    bias: Value | None = None
    bias_strides: tuple[int, int] = (0, 0)
    alpha: float = 1.0
    beta: float = 1.0
    activation: str = "cg_act_none"
    activation_alpha: float = 0.0
    activation_beta: float = 0.0
    residual: Value | None = None

    def with_activation_of(self, attributes: Mapping[str, Any]) -> Epilogue:
        """The same, with the activation of a fused node."""
        return replace(
            self,
            activation=attributes.get("activation", "cg_act_none"),
            activation_alpha=attributes.get("activation_alpha", 0.0),
            activation_beta=attributes.get("activation_beta", 0.0),
        )


@dataclass(frozen=True)
class Tile:
    """Outputs of a block and of one of its threads, and the depth of a step."""

    rows: int
    columns: int
    depth: int
    thread_rows: int
    thread_columns: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.rows // self.thread_rows * (self.columns // self.thread_columns)

    @property
    def macros(self) -> tuple[tuple[str, str], ...]:
        """What ``gemm_tile.cuh`` wants to know."""
        return (
            ("TILE_ROWS", str(self.rows)),
            ("TILE_COLUMNS", str(self.columns)),
            ("TILE_DEPTH", str(self.depth)),
            ("THREAD_ROWS", str(self.thread_rows)),
            ("THREAD_COLUMNS", str(self.thread_columns)),
        )


LARGE_TILE = Tile(64, 64, 32, 8, 8)
SMALL_TILE = Tile(32, 32, 32, 4, 4)
FLAT_TILE = Tile(16, 64, 32, 4, 4)


def choose_tile(rows: int, columns: int, batches: int, dtype: np.dtype) -> Tile:
    """The largest tile that still gives every multiprocessor of a large GPU a block.

    The sums of 8-byte types would not fit into the registers of a thread of the largest.
    """
    if rows <= FLAT_TILE.rows:
        return FLAT_TILE
    if dtype.itemsize == 8:
        return SMALL_TILE
    blocks = ceil_div(rows, LARGE_TILE.rows) * ceil_div(columns, LARGE_TILE.columns) * batches
    return LARGE_TILE if blocks >= WAVE_BLOCKS else SMALL_TILE


@dataclass(frozen=True)
class Product:
    """``y[b] = left[b] @ right[b]``, row-major.

    Attributes:
        rows, columns, depth: of one product.
        batch_shape: axes of the batch, at most 8, none of size 1.
        left_strides, right_strides: of the batch axes, in elements; 0 where one is broadcast.
        transpose_left: ``left`` is [depth, rows] in memory rather than [rows, depth].
        transpose_right: ``right`` is [columns, depth] in memory rather than [depth, columns].
    """

    rows: int
    columns: int
    depth: int
    batch_shape: tuple[int, ...] = ()
    left_strides: tuple[int, ...] = ()
    right_strides: tuple[int, ...] = ()
    transpose_left: bool = False
    transpose_right: bool = False

    def __post_init__(self) -> None:
        if max(self.rows, self.columns, self.depth) >= 2**31:
            raise Unsupported("One of its matrices has 2^31 or more rows or columns.")

    @staticmethod
    def of_batches(
        left_shape: Sequence[int],
        right_shape: Sequence[int],
        batch_shape: Sequence[int],
    ) -> Product:
        """The product of two stacks of matrices whose leading axes broadcast to ``batch_shape``."""
        *left_batch, rows, depth = left_shape
        *right_batch, _, columns = right_shape
        if math.prod(right_batch) == 1 and math.prod(left_batch) == math.prod(batch_shape):
            return Product(math.prod(left_batch) * rows, columns, depth)
        shape, (left_strides, right_strides) = merge_axes(
            batch_shape,
            (
                _batch_strides(left_batch, len(batch_shape), rows * depth),
                _batch_strides(right_batch, len(batch_shape), depth * columns),
            ),
        )
        if len(shape) > 8:
            raise Unsupported(
                f"Its batch of shape {tuple(batch_shape)} has more than 8 axes that do not merge."
            )
        return Product(rows, columns, depth, shape, left_strides, right_strides)

    @property
    def num_batches(self) -> int:
        """Products in the batch."""
        return math.prod(self.batch_shape)

    def swapped(self) -> Product:
        """The product of the transposes in the other order: for one column, the same bytes."""
        return Product(
            self.columns,
            self.rows,
            self.depth,
            self.batch_shape,
            self.right_strides,
            self.left_strides,
            not self.transpose_right,
            not self.transpose_left,
        )


def _batch_strides(shape: Sequence[int], rank: int, matrix_size: int) -> tuple[int, ...]:
    """Strides of stacked matrices over the ``rank`` axes of the batch they broadcast to."""
    return tuple(matrix_size * stride for stride in broadcast_strides(shape, rank))


def kernel_scalar(dtype: np.dtype) -> str:
    """C++ type in which the kernels see a dtype: integers as unsigned, whose sums wrap."""
    return c_type(np.dtype(f"u{dtype.itemsize}") if kind_of(dtype) == "i" else dtype)


def vector_width(inner: int) -> str:
    """Elements that one load may take from rows of ``inner`` elements."""
    return "4" if inner % 4 == 0 else "1"


def launch_product(
    product: Product,
    left: Value,
    right: Value,
    y: Value | Workspace,
    epilogue: Epilogue,
    result: np.dtype | None = None,
) -> Launch:
    """The launch of one product, by the kernel that suits its size.

    ``y`` is [*batch_shape, rows, columns], contiguous, of the operands' dtype or of ``result``.
    """
    launch = _launch_by_size(product, left, right, y, epilogue)
    stored = kernel_scalar(left.dtype if result is None else result)
    return replace(launch, macros=(*launch.macros, ("RESULT", stored)))


def _launch_by_size(
    product: Product, left: Value, right: Value, y: Value | Workspace, epilogue: Epilogue
) -> Launch:
    is_float = kind_of(left.dtype) == "f"
    if is_float and product.columns == 1 and product.rows > MAX_GEMV_ROWS:
        row_stride, column_stride = epilogue.bias_strides
        swapped_epilogue = replace(epilogue, bias_strides=(column_stride, row_stride))
        return _launch_gemv(product.swapped(), right, left, y, swapped_epilogue)
    if is_float and product.rows <= MAX_GEMV_ROWS:
        return _launch_gemv(product, left, right, y, epilogue)
    return _launch_gemm(product, left, right, y, epilogue)


def _launch_gemm(
    product: Product, left: Value, right: Value, y: Value | Workspace, epilogue: Epilogue
) -> Launch:
    tile = choose_tile(product.rows, product.columns, product.num_batches, left.dtype)
    tiles = ceil_div(product.rows, tile.rows) * ceil_div(product.columns, tile.columns)
    return Launch(
        "ops/matmul/gemm.cu",
        "gemm",
        (tiles * product.num_batches, 1, 1),
        (tile.threads, 1, 1),
        (
            *(left, right, epilogue.bias, epilogue.residual, y),
            *(np.int32(product.rows), np.int32(product.columns), np.int32(product.depth)),
            *_batch_arguments(product),
            *_epilogue_arguments(epilogue),
        ),
        (
            ("SCALAR", kernel_scalar(left.dtype)),
            ("ACTIVATION", epilogue.activation),
            ("TRANSPOSE_LEFT", str(int(product.transpose_left))),
            ("TRANSPOSE_RIGHT", str(int(product.transpose_right))),
            (
                "VECTOR_LEFT",
                vector_width(product.rows if product.transpose_left else product.depth),
            ),
            (
                "VECTOR_RIGHT",
                vector_width(product.depth if product.transpose_right else product.columns),
            ),
            *tile.macros,
        ),
    )


def _launch_gemv(
    product: Product, left: Value, right: Value, y: Value | Workspace, epilogue: Epilogue
) -> Launch:
    if product.transpose_right:
        entry, group, num_slices = "gemv_dot", GEMV_DOT_COLUMNS, GEMV_DOT_COLUMNS
    else:
        # A narrow matrix fills the GPU with blocks only if many warps share the depth.
        wide = ceil_div(product.columns, 32) * product.num_batches >= WAVE_BLOCKS
        entry, group, num_slices = "gemv_column", 32, 8 if wide else 32
    left_strides = (1, product.rows) if product.transpose_left else (product.depth, 1)
    return Launch(
        "ops/matmul/gemv.cu",
        entry,
        (ceil_div(product.columns, group) * product.num_batches, 1, 1),
        (32 * num_slices, 1, 1),
        (
            *(left, right, epilogue.bias, epilogue.residual, y),
            *(np.int32(product.columns), np.int32(product.depth)),
            *(np.int64(left_strides[0]), np.int64(left_strides[1])),
            *_batch_arguments(product),
            *_epilogue_arguments(epilogue),
        ),
        (
            ("SCALAR", kernel_scalar(left.dtype)),
            ("ACTIVATION", epilogue.activation),
            ("NUM_ROWS", str(product.rows)),
            ("NUM_SLICES", str(num_slices)),
            ("VECTOR", vector_width(product.depth) if product.transpose_right else "1"),
        ),
    )


def _batch_arguments(product: Product) -> tuple[Argument, ...]:
    return (
        np.int32(len(product.batch_shape)),
        dims(*product.batch_shape),
        dims(*product.left_strides),
        dims(*product.right_strides),
    )


def _epilogue_arguments(epilogue: Epilogue) -> tuple[Argument, ...]:
    return (
        np.int64(epilogue.bias_strides[0]),
        np.int64(epilogue.bias_strides[1]),
        np.float32(epilogue.alpha),
        np.float32(epilogue.beta),
        np.float32(epilogue.activation_alpha),
        np.float32(epilogue.activation_beta),
    )
