"""AffineGrid: the sampling grid of an affine map, as GridSample reads it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, check_dtype, required
from cugraphmodel.ops.launch import Launch, ceil_div, dims
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    theta = required(inputs)
    check_dtype(theta, FLOATS)
    size = tuple(int(number) for number in node.host_values[1].ravel())
    rank = len(size) - 2
    if rank not in (2, 3) or min(size) < 0:
        raise Unsupported(f"size {size} is neither (N, C, H, W) nor (N, C, D, H, W).")
    if theta.shape != (size[0], rank, rank + 1):
        raise Unsupported(f"{theta} does not hold {size[0]} matrices of {rank} x {rank + 1}.")
    return [TensorType(theta.dtype, (size[0], *size[2:], rank))]


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    theta, grid = required(inputs), required(outputs)
    shape = grid.shape[1:-1]
    count = grid.shape[0] * math.prod(shape)
    launch = Launch(
        source="ops/resize/affine_grid.cu",
        entry="affine_grid",
        grid=(ceil_div(count, THREADS), 1, 1),
        block=(THREADS, 1, 1),
        args=(theta, grid, np.int64(count), np.int64(math.prod(shape)), dims(*shape)),
        macros=(
            ("SCALAR", c_type(theta.dtype)),
            ("COMPUTE", "double" if theta.dtype == np.float64 else "float"),
            ("RANK", str(len(shape))),
            ("ALIGN_CORNERS", str(int(bool(node.attributes.get("align_corners", 0))))),
        ),
    )
    return [launch]


register(OpSpec("AffineGrid", 20, _infer, _lower, host_inputs=(1,)))
