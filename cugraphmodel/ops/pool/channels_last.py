"""Pools of channels-last tensors [N, *input, C], which only the pass ``channels_last`` makes.

``ChannelsLastMaxPool`` and ``ChannelsLastAveragePool`` take the attributes of MaxPool and
AveragePool and give [N, *output, C].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, check_dtype, required
from cugraphmodel.ops.launch import Argument, Launch, ceil_div, index_type
from cugraphmodel.ops.matmul.product import vector_width
from cugraphmodel.ops.pool.pool import MAX_POOL_DTYPES
from cugraphmodel.ops.spec import OpSpec, register
from cugraphmodel.ops.window import Window, output_window

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 128


def _window(node: Node, x: Value) -> Window:
    return output_window(node.attributes, x.shape[1:-1], node.attributes["kernel_shape"])


def _infer_as(dtypes: Iterable[np.dtype]) -> Callable[[Node, Values], list[TensorType]]:
    def infer(node: Node, inputs: Values) -> list[TensorType]:
        """[N, *output, C]."""
        x = required(inputs)
        check_dtype(x, dtypes)
        shape = (x.shape[0], *_window(node, x).output, x.shape[-1])
        return [TensorType(x.dtype, shape)]

    return infer


def _launch(entry: str, node: Node, inputs: Values, outputs: Values, *more: Argument) -> Launch:
    """One thread an output, or four neighbouring channels of one position."""
    x, y = required(inputs), required(outputs)
    channels = x.shape[-1]
    vector = vector_width(channels)
    num_packs = y.size // int(vector)
    return Launch(
        "ops/pool/channels_last_pool.cu",
        entry,
        (ceil_div(num_packs, THREADS), 1, 1),
        (THREADS, 1, 1),
        (x, y, _window(node, x).struct(), np.int32(channels), np.int64(num_packs), *more),
        (
            ("SCALAR", c_type(x.dtype)),
            ("VECTOR", vector),
            ("INDEX", index_type(max(x.size, y.size))),
        ),
    )


def _lower_max_pool(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    return [_launch("channels_last_max_pool", node, inputs, outputs)]


def _lower_average_pool(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    counts = np.int32(node.attributes.get("count_include_pad", 0))
    return [_launch("channels_last_average_pool", node, inputs, outputs, counts)]


register(
    OpSpec(
        "ChannelsLastMaxPool",
        1,
        _infer_as(MAX_POOL_DTYPES),
        _lower_max_pool,
        domain="cugraphmodel",
    ),
    OpSpec(
        "ChannelsLastAveragePool",
        1,
        _infer_as(FLOATS),
        _lower_average_pool,
        domain="cugraphmodel",
    ),
)
