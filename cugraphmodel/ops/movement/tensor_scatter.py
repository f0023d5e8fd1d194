"""TensorScatter: a cache with a run of its entries replaced, at a place of its own per sample."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, normalize_axis, optional, required
from cugraphmodel.ops.launch import ERROR_CODE, ERROR_WORD, Launch, ceil_div, index_type
from cugraphmodel.ops.movement.strided_copy import WORDS, widest_word
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    past, update, starts = required(inputs), required(inputs, 1), optional(inputs, 2)
    axis = _axis(node, past)
    check_dtype(update, (past.dtype,))
    length = update.shape[axis] if len(update.shape) == len(past.shape) else -1
    fits = update.shape == (*past.shape[:axis], length, *past.shape[axis + 1 :])
    if not fits or length > past.shape[axis]:
        raise Unsupported(f"{update} is no run of {past} along axis {axis}.")
    if starts is not None:
        check_dtype(starts, (np.dtype("int64"),))
        if starts.shape != past.shape[:1]:
            raise Unsupported(f"{starts} does not hold one index for each sample of {past}.")
    _is_circular(node)
    return [TensorType(past.dtype, past.shape)]


def _axis(node: Node, past: Value) -> int:
    axis = normalize_axis(int(node.attributes.get("axis", -2)), len(past.shape))
    if axis == 0:
        raise Unsupported("Axis 0 is that of the samples; entries lie along another.")
    return axis


def _is_circular(node: Node) -> bool:
    mode = node.attributes.get("mode", "linear")
    if mode not in ("linear", "circular"):
        raise Unsupported(f"mode {mode!r} is neither 'linear' nor 'circular'.")
    return bool(mode == "circular")


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    past, update = required(inputs), required(inputs, 1)
    axis = _axis(node, past)
    inner = math.prod(past.shape[axis + 1 :])
    factor = widest_word(past.dtype.itemsize, inner)
    count = past.size // factor
    launch = Launch(
        source="ops/movement/tensor_scatter.cu",
        entry="tensor_scatter",
        grid=(ceil_div(count, THREADS), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            *(past, update, optional(inputs, 2), required(outputs)),
            *(np.int64(count), np.int64(count // past.shape[0])),
            *(np.int64(past.shape[axis]), np.int64(update.shape[axis])),
            np.int64(inner // factor),
            np.int32(_is_circular(node)),
            ERROR_WORD,
            ERROR_CODE,
        ),
        macros=(("WORD", WORDS[past.dtype.itemsize * factor]), ("INDEX", index_type(count))),
    )
    return [launch]


register(OpSpec("TensorScatter", 24, _infer, _lower))
