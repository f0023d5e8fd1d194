"""Sums of products of one or two labelled tensors: what Einsum is made of.

A contraction that is a matrix product, or becomes one by a copy that pays, takes the kernels of
MatMul; any other takes a kernel that reads tensors in place under whatever strides they have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from cugraphmodel.dtypes import c_type, kind_of
from cugraphmodel.ir import Value
from cugraphmodel.ops.arguments import FLOATS
from cugraphmodel.ops.elementwise.elementwise import elementwise_launch, operand
from cugraphmodel.ops.launch import Argument, Launch, ceil_div, dims, index_type
from cugraphmodel.ops.matmul.matmul import DTYPES as PRODUCT_DTYPES
from cugraphmodel.ops.matmul.product import Epilogue, Product, launch_product
from cugraphmodel.ops.movement.strided_copy import Copy, launch_copy
from cugraphmodel.ops.reduce.reduce import Reduction, reduce_launches
from cugraphmodel.ops.spec import Unsupported
from cugraphmodel.ops.strides import contiguous_strides, merge_axes

__all__ = ["Labels", "Lowering", "Tensor", "contract_tensors", "held_as", "reduce_tensor"]

Labels = tuple[str, ...]
THREADS = 256
WARPS_A_BLOCK = 4
FEW_OUTPUTS = 2**15
MANY_SUMMANDS = 64
FEW_SUMS = 16
LONG_SUM = 2**14
WORTH_A_COPY = 2**18
"""Multiplications from which on operands are copied to become matrices."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value seen through labels, each once, with its stride along each in elements."""

    value: Value
    strides: dict[str, int]

    @property
    def labels(self) -> frozenset[str]:
        """What its dimensions are called."""
        return frozenset(self.strides)

    def of(self, labels: Iterable[str]) -> tuple[int, ...]:
        """Strides along some labels; 0 along one that it lacks."""
        return tuple(self.strides.get(label, 0) for label in labels)


@dataclass
class Lowering:
    """The lowering of one equation, as far as it has come.

    Attributes:
        sizes: label -> size.
        output: the labels of the whole equation's output.
        launches: so far.
        scratch: placeholders in them, each to become scratch memory.
    """

    sizes: dict[str, int]
    output: Labels
    launches: list[Launch] = field(default_factory=list)
    scratch: list[Value] = field(default_factory=list)

    def size(self, labels: Iterable[str]) -> int:
        """Elements of a tensor with these labels."""
        return math.prod(self.sizes[label] for label in labels)

    def shape(self, labels: Iterable[str]) -> tuple[int, ...]:
        """Shape of a tensor with these labels."""
        return tuple(self.sizes[label] for label in labels)

    def placeholder(self, dtype: np.dtype, labels: Labels) -> Tensor:
        """A new scratch tensor, contiguous."""
        value = Value(dtype, self.shape(labels), f"scratch {len(self.scratch)}")
        self.scratch.append(value)
        return self.contiguous(value, labels)

    def contiguous(self, value: Value, labels: Labels) -> Tensor:
        """A value whose dimensions have these labels, in order."""
        strides = contiguous_strides(self.shape(labels))
        return Tensor(value, dict(zip(labels, strides, strict=True)))

    def copy(self, source: Tensor, target: Tensor, labels: Labels) -> None:
        """All elements, along labels that are all those of the target."""
        copy = Copy(self.shape(labels), source.of(labels), target.of(labels))
        self.launches += launch_copy(source.value, target.value, copy)

    def arranged(self, tensor: Tensor, labels: Labels) -> Tensor:
        """The tensor, or a copy, with these labels in this order in memory."""
        if self.is_contiguous(tensor, labels):
            return tensor
        target = self.placeholder(tensor.value.dtype, labels)
        self.copy(tensor, target, labels)
        return target

    def is_contiguous(self, tensor: Tensor, labels: Labels) -> bool:
        """Whether these labels, in this order, are one run of memory."""
        strides = contiguous_strides(self.shape(labels))
        return all(
            self.sizes[label] == 1 or tensor.strides[label] == stride
            for label, stride in zip(labels, strides, strict=True)
        )


def held_as(dtype: np.dtype) -> np.dtype:
    """What a result between two steps is held as."""
    is_narrow = dtype in FLOATS and dtype.itemsize == 2
    return np.dtype(np.float32) if is_narrow else dtype


# ---- One operand


def reduce_tensor(lowering: Lowering, tensor: Tensor, target: Tensor, labels: Labels) -> None:
    """``target``, contiguous with these labels, is the sum of a tensor over all its others."""
    summed = tuple(label for label in tensor.strides if label not in labels)
    if not summed:
        lowering.copy(tensor, target, labels)
        return
    order = tuple(sorted(tensor.strides, key=lambda label: -tensor.strides[label]))
    source = lowering.arranged(tensor, order)
    kept = tuple(label for label in order if label not in summed)
    in_order = kept == labels
    result = target if in_order else lowering.placeholder(target.value.dtype, kept)
    axes = frozenset(order.index(label) for label in summed)
    seen = replace(operand(source.value), shape=lowering.shape(order))
    out = replace(operand(result.value), shape=lowering.shape(kept))
    lowering.launches += reduce_launches(Reduction("Sum"), seen, axes, out)
    if not in_order:
        lowering.copy(result, target, labels)


# ---- Two operands


def contract_tensors(
    lowering: Lowering, left: Tensor, right: Tensor, target: Tensor, labels: Labels
) -> None:
    """``target``, contiguous with these labels, is the sum of products over all others."""
    left = _without_own_sums(lowering, left, right, labels)
    right = _without_own_sums(lowering, right, left, labels)
    summed = tuple(label for label in left.strides if label not in labels)
    if _is_dot(lowering, labels, summed):
        products = lowering.placeholder(held_as(target.value.dtype), (*labels, *summed))
        order = tuple(products.strides)
        lowering.launches.append(_contraction(lowering, left, right, products, order, ()))
        reduce_tensor(lowering, products, target, labels)
    elif _is_product(lowering, left, right, summed):
        _multiply(lowering, left, right, target, labels, summed)
    else:
        lowering.launches.append(_contraction(lowering, left, right, target, labels, summed))


def _without_own_sums(lowering: Lowering, tensor: Tensor, other: Tensor, labels: Labels) -> Tensor:
    """The tensor summed over the labels that it alone has and nothing needs."""
    kept = tuple(label for label in tensor.strides if label in other.strides or label in labels)
    if len(kept) == len(tensor.strides):
        return tensor
    target = lowering.placeholder(held_as(tensor.value.dtype), kept)
    reduce_tensor(lowering, tensor, target, kept)
    return target


def _is_dot(lowering: Lowering, labels: Labels, summed: Labels) -> bool:
    """Whether so few sums are so long that each should be shared by many blocks."""
    return lowering.size(labels) <= FEW_SUMS and lowering.size(summed) >= LONG_SUM


def _is_product(lowering: Lowering, left: Tensor, right: Tensor, summed: Labels) -> bool:
    """Whether the kernels of MatMul should do it."""
    if lowering.size(summed) <= 1 or left.value.dtype not in PRODUCT_DTYPES:
        return False
    if 0 in lowering.sizes.values():
        return False
    return lowering.size(left.labels | right.labels) >= WORTH_A_COPY


def _multiply(
    lowering: Lowering,
    left: Tensor,
    right: Tensor,
    target: Tensor,
    labels: Labels,
    summed: Labels,
) -> None:
    """A batched matrix product of the operands, copied where their layout does not fit."""
    if left.value.dtype != right.value.dtype:
        left, right = _widened(lowering, left), _widened(lowering, right)
    batch = tuple(label for label in labels if label in left.strides and label in right.strides)
    rows = tuple(label for label in labels if label not in right.strides)
    columns = tuple(label for label in labels if label not in left.strides)
    depth = tuple(sorted(summed, key=lambda label: -left.strides[label]))
    if labels == (*batch, *columns, *rows) and rows and columns:
        left, right, rows, columns = right, left, columns, rows
    left, transpose_left = _matrices(lowering, left, batch, rows, depth)
    right, transpose_right = _matrices(lowering, right, batch, depth, columns)
    batch_shape, (left_strides, right_strides) = merge_axes(
        lowering.shape(batch), (left.of(batch), right.of(batch))
    )
    product = Product(
        lowering.size(rows),
        lowering.size(columns),
        lowering.size(depth),
        batch_shape,
        left_strides,
        right_strides,
        transpose_left,
        transpose_right,
    )
    order = (*batch, *rows, *columns)
    result = target if order == labels else lowering.placeholder(target.value.dtype, order)
    dtype = result.value.dtype
    lowering.launches.append(
        launch_product(product, left.value, right.value, result.value, Epilogue(), dtype)
    )
    if result is not target:
        lowering.copy(result, target, labels)


def _widened(lowering: Lowering, tensor: Tensor) -> Tensor:
    """The tensor as float32; all of its labels in the order they have in memory."""
    if tensor.value.dtype == np.float32:
        return tensor
    order = tuple(sorted(tensor.strides, key=lambda label: -tensor.strides[label]))
    source = lowering.arranged(tensor, order)
    target = lowering.placeholder(np.dtype(np.float32), order)
    flat = (target.value.size,)
    launch = elementwise_launch(
        "x0",
        [replace(operand(source.value), shape=flat)],
        replace(operand(target.value), shape=flat),
    )
    lowering.launches.append(launch)
    return target


def _matrices(
    lowering: Lowering, tensor: Tensor, batch: Labels, first: Labels, second: Labels
) -> tuple[Tensor, bool]:
    """The tensor as a stack of [first, second] matrices, or (True) of [second, first] ones."""
    aligned = all(stride % 4 == 0 for stride in tensor.of(batch))
    for order, is_transposed in (((*first, *second), False), ((*second, *first), True)):
        if aligned and lowering.is_contiguous(tensor, order):
            return tensor, is_transposed
    return lowering.arranged(tensor, (*batch, *first, *second)), False


def _contraction(
    lowering: Lowering,
    left: Tensor,
    right: Tensor,
    target: Tensor,
    labels: Labels,
    summed: Labels,
) -> Launch:
    """The kernel that reads both operands where they are."""
    order = tuple(sorted(summed, key=lambda label: -left.strides[label] - right.strides[label]))
    kept_shape, kept = merge_axes(lowering.shape(labels), (left.of(labels), right.of(labels)))
    reduced_shape, reduced = merge_axes(lowering.shape(order), (left.of(order), right.of(order)))
    if max(len(kept_shape), len(reduced_shape)) > 8:
        raise Unsupported("Its equation takes more than 8 dimensions that do not merge.")
    count, num_summands = lowering.size(labels), lowering.size(summed)
    by_warp = count < FEW_OUTPUTS and num_summands >= MANY_SUMMANDS
    dtype = target.value.dtype
    is_float = kind_of(dtype) == "f"
    sum_type = "unsigned long long" if not is_float else c_type(held_as(dtype))
    outputs_a_block = WARPS_A_BLOCK if by_warp else THREADS
    more: tuple[Argument, ...] = (np.int64(num_summands),) if by_warp else ()
    return Launch(
        source=f"ops/linalg/einsum{'_warp' if by_warp else ''}.cu",
        entry=f"contract_by_{'warp' if by_warp else 'thread'}",
        grid=(ceil_div(count, outputs_a_block), 1, 1),
        block=(32 * WARPS_A_BLOCK if by_warp else THREADS, 1, 1),
        args=(
            *(left.value, right.value, target.value, np.int64(count)),
            np.stack([dims(*kept_shape), *(dims(*strides) for strides in kept)]),
            np.stack([dims(*reduced_shape), *(dims(*strides) for strides in reduced)]),
            *more,
        ),
        macros=(
            ("LEFT", c_type(left.value.dtype)),
            ("RIGHT", c_type(right.value.dtype)),
            ("RESULT", c_type(dtype)),
            ("SUM", sum_type),
            ("KEPT_RANK", str(len(kept_shape))),
            ("REDUCED_RANK", str(len(reduced_shape))),
            ("INDEX", index_type(max(count, num_summands))),
        ),
    )
