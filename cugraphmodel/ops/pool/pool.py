"""MaxPool, AveragePool and LpPool."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import optional, required
from cugraphmodel.ops.launch import Argument, Launch, ceil_div
from cugraphmodel.ops.spec import OpSpec, register, reject
from cugraphmodel.ops.window import Window, output_window

FLOATS = frozenset(np.dtype(name) for name in ("float32", "float64", "float16"))
MAX_POOL_DTYPES = FLOATS | {np.dtype("int8"), np.dtype("uint8")}


def _window(node: Node, inputs: Sequence[Value | None], dtypes: frozenset[np.dtype]) -> Window:
    x = required(inputs)
    if x.dtype not in dtypes:
        raise reject(
            f"dtype {x.dtype} is not supported; use {', '.join(sorted(map(str, dtypes)))}."
        )
    if "kernel_shape" not in node.attributes:
        raise reject("the attribute kernel_shape is left out.")
    return output_window(node.attributes, x.shape[2:], node.attributes["kernel_shape"])


def _launch(
    entry: str,
    x: Value,
    window: Window,
    outputs: Sequence[Argument],
    mode: int,
    macros: tuple[tuple[str, str], ...] = (),
) -> Sequence[Launch]:
    """One thread an output."""
    threads = min(256, 32 * ceil_div(window.num_outputs, 32))
    planes = x.shape[0] * x.shape[1]
    return [
        Launch(
            f"ops/pool/{entry}.cu",
            entry,
            (ceil_div(window.num_outputs, threads) * planes, 1, 1),
            (threads, 1, 1),
            (x, *outputs, window.struct(), np.int32(mode)),
            (("SCALAR", c_type(x.dtype)), *macros),
        )
    ]


def _output_type(x: Value, window: Window) -> TensorType:
    return TensorType(x.dtype, (*x.shape[:2], *window.output))


def infer_max_pool(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """[N, C, *output], and its int64 indices if they are asked for."""
    window = _window(node, inputs, MAX_POOL_DTYPES)
    x = required(inputs)
    values = _output_type(x, window)
    return [values, TensorType(np.dtype(np.int64), values.shape)][: len(node.outputs)]


def lower_max_pool(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """One launch."""
    window = _window(node, inputs, MAX_POOL_DTYPES)
    x = required(inputs)
    y, indices = required(outputs), optional(outputs, 1)
    macros = (("WITH_INDICES", str(int(indices is not None))),)
    column_major = node.attributes.get("storage_order", 0)
    return _launch("max_pool", x, window, (y, indices), column_major, macros)


def infer_average_pool(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """[N, C, *output]."""
    window = _window(node, inputs, FLOATS)
    x = required(inputs)
    return [_output_type(x, window)]


def lower_average_pool(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """One launch."""
    window = _window(node, inputs, FLOATS)
    x = required(inputs)
    mode = node.attributes.get("count_include_pad", 0)
    return _launch("average_pool", x, window, outputs, mode)


def lower_lp_pool(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """One launch."""
    window = _window(node, inputs, FLOATS)
    x = required(inputs)
    return _launch("lp_pool", x, window, outputs, node.attributes.get("p", 2))


register(
    OpSpec("MaxPool", 1, infer_max_pool, lower_max_pool),
    OpSpec("AveragePool", 1, infer_average_pool, lower_average_pool),
    OpSpec("LpPool", 2, infer_average_pool, lower_lp_pool),
)
