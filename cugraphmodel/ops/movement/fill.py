"""Operators whose output follows from shapes and numbers known at capture.

A model rarely reaches these kernels: what depends on shapes alone is folded before. They are here
so that nothing hangs on that. Shape, Size and EyeLike do not read their input's elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cugraphmodel.dtypes import c_type, from_onnx, kind_of
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import ANY, NUMBERS, check_dtype, required
from cugraphmodel.ops.launch import Argument, Launch, ceil_div, dims
from cugraphmodel.ops.movement.strided_copy import WORDS
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__ = ["fill_launch"]

Values = Sequence[Value | None]
THREADS = 256
MAX_SHAPE_RANK = 8


def _launch(entry: str, output: Value, scalar: str, *numbers: Argument) -> Launch:
    return Launch(
        source="ops/movement/fill.cu",
        entry=entry,
        grid=(ceil_div(output.size, THREADS), 1, 1),
        block=(THREADS, 1, 1),
        args=(output, np.int64(output.size), *numbers),
        macros=(("SCALAR", scalar),),
    )


def fill_launch(target: Value, element: np.ndarray[Any, np.dtype[np.generic]]) -> Launch:
    """A launch that gives all elements of a tensor, which is not empty, one value.

    Args:
        target: the tensor.
        element: of rank 0 and the tensor's dtype.
    """
    pattern = int.from_bytes(element.tobytes(), "little", signed=True)
    return _launch("fill", target, WORDS[target.dtype.itemsize], np.int64(pattern))


def _fill_value(node: Node) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """The one element that ConstantOfShape repeats: float32 0 unless given."""
    return np.asarray(node.attributes.get("value", np.zeros(1, np.float32))).reshape(())


def _infer_constant_of_shape(node: Node, _inputs: Values) -> list[TensorType]:
    shape = tuple(int(size) for size in node.host_values[0].ravel())
    if min(shape, default=0) < 0:
        raise Unsupported(f"Shape {shape} is not a shape.")
    return [TensorType(_fill_value(node).dtype, shape)]


def _lower_constant_of_shape(node: Node, _inputs: Values, outputs: Values) -> list[Launch]:
    return [fill_launch(required(outputs), _fill_value(node))]


def _range_bounds(node: Node) -> list[int] | list[float]:
    """start, limit, delta as exact Python numbers."""
    bounds = [node.host_values[position].reshape(()) for position in range(3)]
    if bounds[2] == 0:
        raise Unsupported("The delta of Range is 0.")
    return [bound.item() for bound in bounds]


def _infer_range(node: Node, inputs: Values) -> list[TensorType]:
    check_dtype(required(inputs), NUMBERS)
    start, limit, delta = _range_bounds(node)
    dtype = required(inputs).dtype
    exact = kind_of(dtype) in "iu"
    count = (
        ceil_div(int(limit - start), int(delta)) if exact else math.ceil((limit - start) / delta)
    )
    return [TensorType(dtype, (max(count, 0),))]


def _lower_range(node: Node, _inputs: Values, outputs: Values) -> list[Launch]:
    output = required(outputs)
    start, _, delta = _range_bounds(node)
    scalar = c_type(output.dtype)
    if kind_of(output.dtype) == "f":
        return [_launch("fill_range", output, scalar, np.float64(start), np.float64(delta))]
    return [_launch("fill_integer_range", output, scalar, np.int64(start), np.int64(delta))]


def _infer_shape(node: Node, inputs: Values) -> list[TensorType]:
    return [TensorType(np.dtype(np.int64), (len(_shape_part(node, required(inputs))),))]


def _shape_part(node: Node, data: Value) -> tuple[int, ...]:
    """The dimensions from ``start`` to ``end``, which clamp as in a Python slice (opset 15)."""
    part = data.shape[node.attributes.get("start", 0) : node.attributes.get("end")]
    if len(part) > MAX_SHAPE_RANK:
        raise Unsupported(f"{data} has more than {MAX_SHAPE_RANK} dimensions.")
    return part


def _lower_shape(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    part = _shape_part(node, required(inputs))
    return [_launch("fill_numbers", required(outputs), "long long", dims(*part))]


def _infer_size(_node: Node, inputs: Values) -> list[TensorType]:
    required(inputs)
    return [TensorType(np.dtype(np.int64), ())]


def _lower_size(_node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    size = required(inputs).size
    return [_launch("fill_numbers", required(outputs), "long long", dims(size))]


def _infer_eye_like(node: Node, inputs: Values) -> list[TensorType]:
    data = required(inputs)
    code = node.attributes.get("dtype")
    dtype = data.dtype if code is None else from_onnx(int(code))
    if dtype is None or dtype not in ANY:
        raise Unsupported(f"Element type {code or data.dtype.name} has no kernels.")
    if len(data.shape) != 2:
        raise Unsupported(f"{data} is not a matrix.")
    return [TensorType(dtype, data.shape)]


def _lower_eye_like(node: Node, _inputs: Values, outputs: Values) -> list[Launch]:
    output = required(outputs)
    columns, diagonal = output.shape[1], int(node.attributes.get("k", 0))
    scalar = c_type(output.dtype)
    return [_launch("fill_diagonal", output, scalar, np.int64(columns), np.int64(diagonal))]


register(
    OpSpec(
        "ConstantOfShape", 9, _infer_constant_of_shape, _lower_constant_of_shape, host_inputs=(0,)
    ),
    OpSpec("Range", 11, _infer_range, _lower_range, host_inputs=(0, 1, 2)),
    OpSpec("Shape", 1, _infer_shape, _lower_shape),
    OpSpec("Size", 1, _infer_size, _lower_size),
    OpSpec("EyeLike", 9, _infer_eye_like, _lower_eye_like),
)
