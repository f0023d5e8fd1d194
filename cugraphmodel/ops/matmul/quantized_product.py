"""How a product of 8-bit integers is launched, and what becomes of its exact sums."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Value
from cugraphmodel.ops.arguments import check_dtype
from cugraphmodel.ops.launch import Argument, Launch, ceil_div, dims
from cugraphmodel.ops.matmul.product import WAVE_BLOCKS, Product, vector_width
from cugraphmodel.ops.spec import Unsupported

__all__ = ["BYTES", "Outcome", "Quantized", "QuantizedTile", "choose_tile", "launch_quantized"]

FLOAT32 = np.dtype("float32")
MAX_GEMV_ROWS = 4
GEMV_DOT_COLUMNS = 4
BYTES = (np.dtype("int8"), np.dtype("uint8"))


@dataclass(frozen=True)
class Quantized:
    """An operand: its bytes, and how they stand for numbers.

    Attributes:
        source: where the bytes lie.
        dtype: int8 or uint8.
        zero_point, scale: of that dtype, and floating-point; None if there is none.
        zero_point_count, scale_count: 1, or as many as a left operand has rows, or a right one
            columns, in one matrix or in all.
    """

    source: Argument
    dtype: np.dtype
    zero_point: Argument = None
    scale: Argument = None
    zero_point_count: int = 1
    scale_count: int = 1

    @staticmethod
    def of(
        value: Value, zero_point: Value | None, scale: Value | None, *, axis: int | None
    ) -> Quantized:
        """An operand with its parameters, if their shapes fit.

        Args:
            value: the bytes.
            zero_point: one, or one for each of the operand's rows or columns.
            scale: likewise.
            axis: the one, counted from the back, along which parameters may differ, if any.
        """
        check_dtype(value, BYTES)
        if zero_point is not None:
            check_dtype(zero_point, (value.dtype,))
        return Quantized(
            value,
            value.dtype,
            zero_point,
            scale,
            _parameter_count(value, zero_point, axis),
            _parameter_count(value, scale, axis),
        )

    @property
    def has_zero_point(self) -> bool:
        """Whether its signed bytes, as the kernels see them, have a zero point that is not 0."""
        return self.dtype.kind == "u" or self.zero_point is not None


def _parameter_count(value: Value, parameter: Value | None, axis: int | None) -> int:
    """How many scales or zero points an operand has; see :class:`Quantized`."""
    if parameter is None or parameter.size == 1:
        return 1
    if axis is not None and len(value.shape) > 1:
        allowed: list[tuple[int, ...]] = [(value.shape[axis],)]
        if axis in (-1, -2):
            whole = list(value.shape)
            whole[-3 - axis] = 1
            allowed.append(tuple(whole))
        if parameter.shape in allowed:
            return parameter.size
    raise Unsupported(
        f"Scales or zero points of shape {parameter.shape} do not fit an operand of {value.shape}."
    )


@dataclass(frozen=True)
class Outcome:
    """What becomes of a sum, by the output's dtype.

    int32: ``sum + bias``. A byte: ``saturate(round((sum + bias) * factor / scale) + zero_point)``.
    Floating-point: ``(sum + bias) * factor`` with an integer bias, else ``sum * factor + bias``.
    The factor is ``alpha`` times both operands' scales.

    Attributes:
        bias: the tensor added, or None.
        bias_strides: its strides in elements over rows and columns; 0 where it is broadcast.
        scale, zero_point: of a quantised output.
    """

    bias: Value | None = None
    bias_strides: tuple[int, int] = (0, 0)
    scale: Value | None = None
    zero_point: Value | None = None
    alpha: float = 1.0

    def arguments(self, left: Quantized, right: Quantized) -> tuple[Argument, ...]:
        """Pointers of ``struct Epilogue`` of ``quantized_product.cuh``, in its order."""
        return (
            *(left.zero_point, right.zero_point, left.scale, right.scale),
            *(self.scale, self.zero_point, self.bias),
        )

    def counts(self, left: Quantized, right: Quantized) -> npt.NDArray[np.int32]:
        """``struct Counts``."""
        counts = (
            *(left.zero_point_count, right.zero_point_count, left.scale_count, right.scale_count),
            *self.bias_strides,
        )
        if max(counts) >= 2**31:
            raise Unsupported("It has 2^31 or more scales, or a bias as large.")
        return np.array(counts, np.int32)

    def macros(
        self, left: Quantized, right: Quantized, y: np.dtype, scale: np.dtype
    ) -> tuple[tuple[str, str], ...]:
        """What ``quantized_product.cuh`` wants to know."""
        return (
            ("LEFT", c_type(left.dtype)),
            ("RIGHT", c_type(right.dtype)),
            ("SCALE", c_type(scale)),
            ("BIAS", "int" if self.bias is None else c_type(self.bias.dtype)),
            ("OUT", c_type(y)),
        )


@dataclass(frozen=True)
class QuantizedTile:
    """Outputs of a block and of one of its threads, and the depth of a step in words of 4 bytes."""

    rows: int
    columns: int
    words: int
    thread_rows: int
    thread_columns: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.rows // self.thread_rows * (self.columns // self.thread_columns)

    @property
    def macros(self) -> tuple[tuple[str, str], ...]:
        """What ``quantized_tile.cuh`` wants to know."""
        return (
            ("TILE_ROWS", str(self.rows)),
            ("TILE_COLUMNS", str(self.columns)),
            ("TILE_WORDS", str(self.words)),
            ("THREAD_ROWS", str(self.thread_rows)),
            ("THREAD_COLUMNS", str(self.thread_columns)),
        )


LARGE_TILE = QuantizedTile(64, 64, 8, 8, 8)
SMALL_TILE = QuantizedTile(32, 32, 8, 4, 4)
FLAT_TILE = QuantizedTile(16, 64, 16, 4, 4)


def choose_tile(rows: int, columns: int, batches: int) -> QuantizedTile:
    """The largest tile that still gives every multiprocessor of a large GPU a block."""
    if rows <= FLAT_TILE.rows:
        return FLAT_TILE
    blocks = ceil_div(rows, LARGE_TILE.rows) * ceil_div(columns, LARGE_TILE.columns) * batches
    return LARGE_TILE if blocks >= WAVE_BLOCKS else SMALL_TILE


def launch_quantized(
    product: Product,
    left: Quantized,
    right: Quantized,
    y: Value,
    outcome: Outcome,
    scale_dtype: np.dtype = FLOAT32,
) -> Launch:
    """The launch of one product, by the kernel that suits its size.

    ``y`` is [*batch_shape, rows, columns], contiguous.
    """
    if math.prod((*product.batch_shape, max(product.rows, product.columns))) >= 2**31:
        raise Unsupported("All its matrices together have 2^31 or more rows or columns.")
    pointers = (left.source, right.source, y, *outcome.arguments(left, right))
    batch = (
        np.int32(len(product.batch_shape)),
        dims(*product.batch_shape),
        dims(*product.left_strides),
        dims(*product.right_strides),
        outcome.counts(left, right),
        np.float32(outcome.alpha),
    )
    macros = outcome.macros(left, right, y.dtype, scale_dtype)
    if product.rows <= MAX_GEMV_ROWS:
        return _launch_gemv(product, pointers, batch, macros)
    tile = choose_tile(product.rows, product.columns, product.num_batches)
    tiles = ceil_div(product.rows, tile.rows) * ceil_div(product.columns, tile.columns)
    left_inner = product.rows if product.transpose_left else product.depth
    right_inner = product.depth if product.transpose_right else product.columns
    return Launch(
        "ops/matmul/quantized_gemm.cu",
        "quantized_gemm",
        (tiles * product.num_batches, 1, 1),
        (tile.threads, 1, 1),
        (
            *pointers,
            *(np.int32(product.rows), np.int32(product.columns), np.int32(product.depth)),
            *batch,
        ),
        (
            *macros,
            ("LEFT_SUMS", str(int(right.has_zero_point))),
            ("RIGHT_SUMS", str(int(left.has_zero_point))),
            ("TRANSPOSE_LEFT", str(int(product.transpose_left))),
            ("TRANSPOSE_RIGHT", str(int(product.transpose_right))),
            ("VECTOR_LEFT", vector_width(left_inner)),
            ("VECTOR_RIGHT", vector_width(right_inner)),
            *tile.macros,
        ),
    )


def _launch_gemv(
    product: Product,
    pointers: tuple[Argument, ...],
    batch: tuple[Argument, ...],
    macros: tuple[tuple[str, str], ...],
) -> Launch:
    words = product.depth % 4 == 0
    columns, slices = 1, 32
    if product.transpose_right:
        entry, group, slices = "quantized_gemv_dot", GEMV_DOT_COLUMNS, GEMV_DOT_COLUMNS
    else:
        # A narrow matrix fills the GPU with blocks only if each makes few columns.
        blocks = ceil_div(product.columns, 4 * 32) * product.num_batches
        if product.columns % 4 == 0 and blocks >= WAVE_BLOCKS:
            columns, slices = 4, 8
        entry, group = "quantized_gemv_column", 32 * columns
    left_strides = (1, product.rows) if product.transpose_left else (product.depth, 1)
    return Launch(
        "ops/matmul/quantized_gemv.cu",
        entry,
        (ceil_div(product.columns, group) * product.num_batches, 1, 1),
        (32 * slices, 1, 1),
        (
            *pointers,
            *(np.int32(product.columns), np.int32(product.depth)),
            *(np.int64(left_strides[0]), np.int64(left_strides[1])),
            *batch,
        ),
        (
            *macros,
            ("NUM_ROWS", str(product.rows)),
            ("NUM_SLICES", str(slices)),
            ("COLUMNS", str(columns)),
            ("LEFT_WORDS", str(int(words and not product.transpose_left))),
            ("RIGHT_WORDS", str(int(words and product.transpose_right))),
        ),
    )
