"""MaxPool, AveragePool and LpPool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, check_dtype, optional, required
from cugraphmodel.ops.launch import Argument, Launch
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.window import Window, output_window

MAX_POOL_DTYPES = (*FLOATS, np.dtype("int8"), np.dtype("uint8"))


def _window(node: Node, inputs: Sequence[Value | None], dtypes: Iterable[np.dtype]) -> Window:
    x = required(inputs)
    check_dtype(x, dtypes)
    if "kernel_shape" not in node.attributes:
        raise Unsupported("The attribute kernel_shape is left out.")
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
    grid, block = window.grid_and_block(x.shape[0] * x.shape[1])
    return [
        Launch(
            f"ops/pool/{entry}.cu",
            entry,
            grid,
            block,
            (x, *outputs, window.struct(), np.int32(mode)),
            (("SCALAR", c_type(x.dtype)), *macros),
        )
    ]


def _output_type(x: Value, window: Window) -> TensorType:
    return TensorType(x.dtype, (*x.shape[:2], *window.output))


def _infer_max_pool(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """[N, C, *output], and its int64 indices if they are asked for."""
    window = _window(node, inputs, MAX_POOL_DTYPES)
    x = required(inputs)
    values = _output_type(x, window)
    return [values, TensorType(np.dtype(np.int64), values.shape)][: len(node.outputs)]


def _lower_max_pool(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    window = _window(node, inputs, MAX_POOL_DTYPES)
    x = required(inputs)
    y, indices = required(outputs), optional(outputs, 1)
    macros = (("WITH_INDICES", str(int(indices is not None))),)
    column_major = node.attributes.get("storage_order", 0)
    return _launch("max_pool", x, window, (y, indices), column_major, macros)


def _infer_average_pool(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """[N, C, *output]."""
    window = _window(node, inputs, FLOATS)
    x = required(inputs)
    return [_output_type(x, window)]


def _lower_average_pool(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    window = _window(node, inputs, FLOATS)
    x = required(inputs)
    mode = node.attributes.get("count_include_pad", 0)
    return _launch("average_pool", x, window, outputs, mode)


def _lower_lp_pool(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    window = _window(node, inputs, FLOATS)
    x = required(inputs)
    return _launch("lp_pool", x, window, outputs, node.attributes.get("p", 2))


register(
    OpSpec("MaxPool", 1, _infer_max_pool, _lower_max_pool),
    OpSpec("AveragePool", 1, _infer_average_pool, _lower_average_pool),
    OpSpec("LpPool", 2, _infer_average_pool, _lower_lp_pool),
)
