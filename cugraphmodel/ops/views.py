"""Operators that change a shape alone: the output has the input's bytes, so nothing runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import ints_of, normalize_axes, optional, required
from cugraphmodel.ops.launch import Launch
from cugraphmodel.ops.movement.fill import fill_launch
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__ = ["zip_map_labels"]

Inputs = Sequence[Value | None]


def _infer_reshape(node: Node, inputs: Inputs) -> list[TensorType]:
    """Reshape: 0 copies the input's dimension (unless ``allowzero``), one -1 takes the rest."""
    data = required(inputs)
    wanted = ints_of(node, "shape", 1)
    if wanted is None:
        raise Unsupported("The new shape is left out.")
    shape = list(wanted)
    if not node.attributes.get("allowzero", 0):
        for position, size in enumerate(shape):
            if size == 0 and position >= len(data.shape):
                raise Unsupported(
                    f"Shape {wanted} copies dimension {position} of {data}: none there."
                )
            if size == 0:
                shape[position] = data.shape[position]
    if shape.count(-1) > 1 or any(size < -1 for size in shape):
        raise Unsupported(f"Shape {wanted} is not a shape.")
    if -1 in shape:
        known = math.prod(size for size in shape if size != -1)
        if known == 0 or data.size % known:
            raise Unsupported(f"{data} cannot be reshaped to {wanted}.")
        shape[shape.index(-1)] = data.size // known
    if math.prod(shape) != data.size:
        raise Unsupported(f"{data} cannot be reshaped to {wanted}.")
    return [TensorType(data.dtype, tuple(shape))]


def _infer_flatten(node: Node, inputs: Inputs) -> list[TensorType]:
    """Flatten: a matrix of the dimensions before ``axis`` and those from it on."""
    data = required(inputs)
    axis = int(node.attributes.get("axis", 1))
    rank = len(data.shape)
    if not -rank <= axis <= rank:
        raise Unsupported(f"Axis {axis} is outside a tensor of rank {rank}.")
    axis += rank if axis < 0 else 0
    rows, columns = math.prod(data.shape[:axis]), math.prod(data.shape[axis:])
    return [TensorType(data.dtype, (rows, columns))]


def _infer_squeeze(node: Node, inputs: Inputs) -> list[TensorType]:
    """Squeeze: without the named dimensions of size 1, or without all of them."""
    data = required(inputs)
    named = ints_of(node, "axes", 1)
    if named is None:
        axes = [axis for axis, size in enumerate(data.shape) if size == 1]
    else:
        axes = normalize_axes(named, len(data.shape))
    if any(data.shape[axis] != 1 for axis in axes):
        raise Unsupported(f"Axes {named} of {data} are not all of size 1.")
    shape = tuple(size for axis, size in enumerate(data.shape) if axis not in axes)
    return [TensorType(data.dtype, shape)]


def _infer_unsqueeze(node: Node, inputs: Inputs) -> list[TensorType]:
    """Unsqueeze: dimensions of size 1 at ``axes``, which count in the output."""
    data = required(inputs)
    named = ints_of(node, "axes", 1)
    if named is None:
        raise Unsupported("The axes are left out.")
    rank = len(data.shape) + len(named)
    axes = normalize_axes(named, rank)
    sizes = iter(data.shape)
    shape = tuple(1 if axis in axes else next(sizes) for axis in range(rank))
    return [TensorType(data.dtype, shape)]


def _infer_identity(_node: Node, inputs: Inputs) -> list[TensorType]:
    data = required(inputs)
    return [TensorType(data.dtype, data.shape)]


def _infer_dropout(node: Node, inputs: Inputs) -> list[TensorType]:
    """Dropout at inference: the input itself, and a mask that keeps every element."""
    data = required(inputs)
    if 2 in node.host_values and node.host_values[2].any():
        raise Unsupported("Dropout in training mode is random; set training_mode to false.")
    mask_dtype = data.dtype if node.version < 10 else np.dtype("bool")
    types = [TensorType(data.dtype, data.shape), TensorType(mask_dtype, data.shape)]
    return types[: len(node.outputs)]


def _lower_dropout(_node: Node, _inputs: Inputs, outputs: Inputs) -> list[Launch]:
    mask = optional(outputs, 1)
    return [] if mask is None else [fill_launch(mask, np.ones((), mask.dtype))]


def zip_map_labels(node: Node) -> tuple[str | int, ...]:
    """The class labels of a ZipMap, one for each column of its output."""
    found = node.attributes.get("classlabels_strings") or node.attributes.get("classlabels_int64s")
    return tuple(found or ())


def _infer_zip_map(node: Node, inputs: Inputs) -> list[TensorType]:
    """ZipMap: the scores themselves, (N, C); the labels are kept beside the graph."""
    data = required(inputs)
    shape = data.shape if len(data.shape) == 2 else (1, *data.shape)
    labels = zip_map_labels(node)
    if len(shape) != 2 or shape[1] != len(labels) or data.dtype != np.float32:
        raise Unsupported(f"{data} is not float32 scores for {len(labels)} class labels.")
    return [TensorType(data.dtype, shape)]


def _lower_view(_node: Node, _inputs: Inputs, _outputs: Inputs) -> list[Launch]:
    return []


def _view(
    op_type: str,
    since_version: int,
    infer: Callable[[Node, Inputs], list[TensorType]],
    host_inputs: tuple[int, ...] = (),
) -> OpSpec:
    return OpSpec(op_type, since_version, infer, _lower_view, host_inputs, is_view=True)


register(
    _view("Reshape", 5, _infer_reshape, host_inputs=(1,)),
    _view("Flatten", 1, _infer_flatten),
    _view("Squeeze", 1, _infer_squeeze, host_inputs=(1,)),
    _view("Unsqueeze", 1, _infer_unsqueeze, host_inputs=(1,)),
    _view("Identity", 1, _infer_identity),
    OpSpec("Dropout", 7, _infer_dropout, _lower_dropout, host_inputs=(2,), is_view=True),
    OpSpec("ZipMap", 1, _infer_zip_map, _lower_view, is_view=True, domain="ai.onnx.ml"),
)
