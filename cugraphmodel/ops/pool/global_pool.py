"""GlobalAveragePool, GlobalMaxPool and GlobalLpPool."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, check_dtype, required
from cugraphmodel.ops.launch import Argument, Launch
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

LONG_PLANE = 1024
"""From so many positions on, a block of 256 threads rather than one warp reduces a plane."""


def _infer_global_pool(_node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """[N, C, 1, ...] for an input [N, C, ...]."""
    x = required(inputs)
    check_dtype(x, FLOATS)
    if len(x.shape) < 2:
        raise Unsupported(f"An input of shape {x.shape} has no channels.")
    if not 1 <= math.prod(x.shape[2:]) < 2**31:
        raise Unsupported(
            f"An input of shape {x.shape} has no positions, or 2^31 or more a channel."
        )
    return [TensorType(x.dtype, (*x.shape[:2], *[1] * (len(x.shape) - 2)))]


def _launch(
    entry: str,
    inputs: Sequence[Value | None],
    outputs: Sequence[Value | None],
    *more: Argument,
) -> Sequence[Launch]:
    """One block a plane."""
    x = required(inputs)
    size = math.prod(x.shape[2:])
    return [
        Launch(
            "ops/pool/global_pool.cu",
            entry,
            (x.shape[0] * x.shape[1], 1, 1),
            (256 if size >= LONG_PLANE else 32, 1, 1),
            (x, *outputs, np.int32(size), *more),
            (("SCALAR", c_type(x.dtype)),),
        )
    ]


def _lower_global_average_pool(
    _node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    return _launch("global_average_pool", inputs, outputs)


def _lower_global_max_pool(
    _node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    return _launch("global_max_pool", inputs, outputs)


def _lower_global_lp_pool(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    return _launch("global_lp_pool", inputs, outputs, np.int32(node.attributes.get("p", 2)))


register(
    OpSpec("GlobalAveragePool", 1, _infer_global_pool, _lower_global_average_pool),
    OpSpec("GlobalMaxPool", 1, _infer_global_pool, _lower_global_max_pool),
    OpSpec("GlobalLpPool", 2, _infer_global_pool, _lower_global_lp_pool),
)
