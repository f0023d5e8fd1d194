"""ONNX Runtime's MatMulNBits: weights of 2, 4 or 8 bits, quantised in blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cugraphmodel.dtypes import BFLOAT16, c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, optional, required
from cugraphmodel.ops.launch import Launch, ceil_div
from cugraphmodel.ops.matmul.product import vector_width
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

UINT8 = np.dtype("uint8")
REAL = (np.dtype("float16"), np.dtype("float32"), BFLOAT16)
BITS = (2, 4, 8)
MAX_ROWS = 4
"""Rows that a warp makes at once; more read the weights again."""
WARPS = 4


@dataclass(frozen=True)
class _Weights:
    """Geometry of the packed weights: [columns, num_blocks, block_size] of so many bits."""

    columns: int
    depth: int
    block_size: int
    bits: int

    @staticmethod
    def of(node: Node, inputs: Sequence[Value | None]) -> _Weights:
        """Checks the attributes, and all inputs against them."""
        columns, depth, block_size, bits = (
            int(node.attributes.get(name, default))
            for name, default in (("N", 0), ("K", 0), ("block_size", 0), ("bits", 4))
        )
        if bits not in BITS:
            raise Unsupported(f"bits={bits} has no kernel; 2, 4 and 8 have.")
        if block_size < 16 or block_size & (block_size - 1):
            raise Unsupported(f"block_size={block_size} is not a power of two from 16 up.")
        if node.attributes.get("weight_prepacked", 0):
            raise Unsupported("Its weights are packed for one GPU; export it without prepacking.")
        if optional(inputs, 4) is not None:
            raise Unsupported("g_idx, an order of the blocks, has no kernel; it is deprecated.")
        weights = _Weights(columns, depth, block_size, bits)
        weights.check(inputs)
        return weights

    @property
    def num_blocks(self) -> int:
        """Blocks of one column."""
        return ceil_div(self.depth, self.block_size)

    def check(self, inputs: Sequence[Value | None]) -> None:
        """Reject inputs whose types or sizes do not fit."""
        x, packed, scales = required(inputs), required(inputs, 1), required(inputs, 2)
        zeros, bias = optional(inputs, 3), optional(inputs, 5)
        check_dtype(x, REAL)
        check_dtype(packed, (UINT8,))
        check_dtype(scales, (x.dtype,))
        if not x.shape or x.shape[-1] != self.depth:
            raise Unsupported(f"An input of shape {x.shape} does not fit K={self.depth}.")
        blocks = self.columns * self.num_blocks
        sizes = [(packed, blocks * self.block_size * self.bits // 8), (scales, blocks)]
        if zeros is not None:
            check_dtype(zeros, (UINT8, x.dtype))
            row = ceil_div(self.num_blocks * self.bits, 8)
            sizes.append((zeros, self.columns * row if zeros.dtype == UINT8 else blocks))
        if bias is not None:
            check_dtype(bias, (x.dtype,))
            sizes.append((bias, self.columns))
        for value, size in sizes:
            if value.size != size:
                raise Unsupported(
                    f"{value.name!r} has shape {value.shape}; N={self.columns}, K={self.depth}, "
                    f"block_size={self.block_size}, bits={self.bits} ask for {size} elements."
                )


def _infer(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """[..., N] for an input [..., K]."""
    weights, x = _Weights.of(node, inputs), required(inputs)
    return [TensorType(x.dtype, (*x.shape[:-1], weights.columns))]


def _lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """One launch, which unpacks the weights on the way into registers."""
    weights, x, zeros = _Weights.of(node, inputs), required(inputs), optional(inputs, 3)
    rows = math.prod(x.shape[:-1])
    row_groups = ceil_div(rows, MAX_ROWS)
    zeros_kind = 0 if zeros is None else 1 if zeros.dtype == UINT8 else 2
    return [
        Launch(
            "ops/matmul/block_quantized.cu",
            "block_quantized",
            (ceil_div(weights.columns, WARPS) * row_groups, 1, 1),
            (32 * WARPS, 1, 1),
            (
                *(x, required(inputs, 1), required(inputs, 2), zeros, optional(inputs, 5)),
                required(outputs),
                *(np.int32(rows), np.int32(weights.columns), np.int32(weights.depth)),
                *(np.int32(weights.block_size), np.int32(weights.num_blocks)),
            ),
            (
                ("SCALAR", c_type(x.dtype)),
                ("BITS", str(weights.bits)),
                ("ZEROS", str(zeros_kind)),
                ("NUM_ROWS", str(min(rows, MAX_ROWS))),
                ("VECTOR", vector_width(weights.depth)),
            ),
        )
    ]


register(OpSpec("MatMulNBits", 1, _infer, _lower, domain="com.microsoft"))
