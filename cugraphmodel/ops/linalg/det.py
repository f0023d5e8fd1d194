"""Det and ONNX Runtime's Inverse: determinants and inverses of square matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, check_dtype, required
from cugraphmodel.ops.launch import MAX_SHARED_BYTES, Launch, Workspace
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
MAX_SIZE = 2**15
_KERNELS = {
    "Det": ("ops/linalg/det.cu", "determinant", 1),
    "Inverse": ("ops/linalg/inverse.cu", "inverse", 2),
}
"""Operator -> source, entry, and doubles of work memory per element."""


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    """Det has the leading dimensions of x."""
    x = required(inputs)
    check_dtype(x, FLOATS)
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2] or x.shape[-1] > MAX_SIZE:
        raise Unsupported(f"{x} does not hold square matrices of at most {MAX_SIZE} rows.")
    return [TensorType(x.dtype, x.shape[:-2] if node.op_type == "Det" else x.shape)]


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x, y = required(inputs), required(outputs)
    if y.size == 0:
        return []
    source, entry, width = _KERNELS[node.op_type]
    size, count = x.shape[-1], math.prod(x.shape[:-2])
    num_bytes = 8 * width * size * size
    in_shared = num_bytes <= MAX_SHARED_BYTES
    return [
        Launch(
            source=source,
            entry=entry,
            grid=(count, 1, 1),
            block=(next((n for n in (32, 128) if size * size <= 8 * n), 256), 1, 1),
            args=(x, y, None if in_shared else Workspace(count * num_bytes), np.int32(size)),
            macros=(("SCALAR", c_type(x.dtype)), ("IN_SHARED", str(int(in_shared)))),
            shared_bytes=num_bytes if in_shared else 0,
        )
    ]


register(
    OpSpec("Det", 11, _infer, _lower),
    OpSpec("Inverse", 1, _infer, _lower, domain="com.microsoft"),
)
