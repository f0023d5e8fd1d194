"""Normalisation over contiguous rows: Layer, RMS, Instance and GroupNormalization.

AddLayerNormalization and AddRMSNormalization in the domain ``cugraphmodel`` normalise the sum of
their inputs 0 and 1, and give that sum as output 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import (
    FLOATS,
    check_dtype,
    float_attributes,
    normalize_axis,
    optional,
    required,
)
from cugraphmodel.ops.elementwise.elementwise import Operand, elementwise_launch
from cugraphmodel.ops.launch import Launch, Workspace
from cugraphmodel.ops.reduce.geometry import MAX_HELD_ROW, row_plan
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.strides import broadcast_shapes

__all__: list[str] = []

FLOAT32 = np.dtype("float32")
Shape = tuple[int, ...]


def _launch(
    node: Node,
    x: Value,
    outputs: Sequence[Value | None],
    num_rows: int,
    affine: Sequence[Value | Workspace | None],
    affine_index: str,
    period: int = 1,
    inner: int = 1,
    residual: Value | None = None,
) -> Launch:
    """A launch of the kernel on ``x`` as ``[num_rows, row_size]``.

    Args:
        node: for ``epsilon``.
        x: the tensor.
        outputs: the normalised tensor; mean and inverse deviation of each row, or None.
        num_rows: rows of ``x``.
        affine: scale, and bias or None, of the dtype of ``x``.
        affine_index: C++ for the element of scale and bias, from ``row``, ``i`` (the position in
            the row), ``row_size``, ``period`` and ``inner``.
        period: for that.
        inner: for that.
        residual: a tensor as ``x`` that is added to it first; then ``outputs`` are the normalised
            tensor, and the sum or None.
    """
    row_size = x.size // num_rows
    rows = row_plan(num_rows, row_size)
    (epsilon,) = float_attributes(node, [("epsilon", 1e-5)])
    sizes = (num_rows, row_size, period, inner)
    return Launch(
        source="ops/norm/row_norm.cu",
        entry="row_norm",
        grid=rows.grid,
        block=rows.block,
        args=(
            *(required(outputs), x, residual, None if residual is None else optional(outputs, 1)),
            *affine,
            *((optional(outputs, 1), optional(outputs, 2)) if residual is None else (None, None)),
            *map(np.int64, sizes),
            np.float32(epsilon),
        ),
        macros=(
            ("SCALAR", c_type(x.dtype)),
            ("COMPUTE", "double" if x.dtype == np.float64 else "float"),
            ("STAT", "float"),
            ("CENTERED", str(int(not node.op_type.endswith("RMSNormalization")))),
            ("AFFINE_INDEX", affine_index),
            *rows.macros,
        ),
    )


def _add_norm_infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    """The normalised sum, and the sum; rows must fit into registers."""
    x, residual = required(inputs), required(inputs, 1)
    plain = replace(node, outputs=node.outputs[:1])
    (normalized,) = _layer_norm_infer(plain, (x, *inputs[2:]))
    if (residual.dtype, residual.shape) != (x.dtype, x.shape):
        raise Unsupported(f"A residual {residual} does not fit {x}.")
    axis = normalize_axis(int(node.attributes.get("axis", -1)), len(x.shape))
    if math.prod(x.shape[axis:]) > MAX_HELD_ROW:
        raise Unsupported(f"Rows of more than {MAX_HELD_ROW} elements have no sum in one kernel.")
    return [normalized, normalized][: len(node.outputs)]


def _add_norm_lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    x, residual = required(inputs), required(inputs, 1)
    return _layer_norm_launches(node, x, inputs[2:], outputs, residual)


def _layer_norm_infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    x = required(inputs)
    check_dtype(x, FLOATS)
    axis = normalize_axis(int(node.attributes.get("axis", -1)), len(x.shape))
    stash_type = int(node.attributes.get("stash_type", 1))
    if stash_type != 1:
        raise Unsupported(f"stash_type={stash_type} is not supported; use 1 (float32).")
    for parameter in filter(None, (required(inputs, 1), optional(inputs, 2))):
        check_dtype(parameter, (x.dtype,))
        if broadcast_shapes([x.shape, parameter.shape]) != x.shape:
            raise Unsupported(f"{parameter} does not broadcast to the input's {list(x.shape)}.")
    statistics = TensorType(FLOAT32, x.shape[:axis] + (1,) * (len(x.shape) - axis))
    return [TensorType(x.dtype, x.shape), statistics, statistics][: len(node.outputs)]


def _layer_norm_lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    return _layer_norm_launches(node, required(inputs), inputs[1:], outputs)


def _layer_norm_launches(
    node: Node,
    x: Value,
    affine_inputs: Sequence[Value | None],
    outputs: Sequence[Value | None],
    residual: Value | None = None,
) -> list[Launch]:
    """Scale and bias are mostly one row, or a number for each index of the axis before the rows.

    Of any other shape they are spread out first.
    """
    parameters = (required(affine_inputs), optional(affine_inputs, 1))
    axis = normalize_axis(int(node.attributes.get("axis", -1)), len(x.shape))
    num_rows, row_shape = math.prod(x.shape[:axis]), x.shape[axis:]
    given = [parameter for parameter in parameters if parameter is not None]
    if _are_per_channel(given, x.shape, axis):
        channels = x.shape[axis - 1]
        index = "row % period"
        return [_launch(node, x, outputs, num_rows, parameters, index, channels, residual=residual)]
    of_one_row = all(math.prod(parameter.shape[: -len(row_shape)]) == 1 for parameter in given)
    shape, index = (row_shape, "i") if of_one_row else (x.shape, "row * row_size + i")
    launches: list[Launch] = []
    affine = [
        None if parameter is None else _spread(parameter, shape, launches)
        for parameter in parameters
    ]
    norm = _launch(node, x, outputs, num_rows, affine, index, residual=residual)
    return [*launches, norm]


def _are_per_channel(parameters: Sequence[Value], x_shape: Shape, axis: int) -> bool:
    """Whether each has one element for each index of the axis before ``axis``, more than one."""
    before = len(x_shape) - axis + 1
    return (
        axis > 0
        and x_shape[axis - 1] > 1
        and all(
            parameter.shape[-before : len(parameter.shape) - before + 1] == x_shape[axis - 1 : axis]
            and parameter.size == x_shape[axis - 1]
            for parameter in parameters
        )
    )


def _spread(parameter: Value, shape: Shape, launches: list[Launch]) -> Value | Workspace:
    """The parameter with all the elements of ``shape``; adds the launch that makes them."""
    size = math.prod(shape)
    if parameter.size == size:
        return parameter
    workspace = Workspace(size * parameter.dtype.itemsize)
    leading = len(parameter.shape) - len(shape)
    source = Operand(parameter, parameter.dtype, parameter.shape[max(leading, 0) :])
    target = Operand(workspace, parameter.dtype, shape)
    launches.append(elementwise_launch("x0", [source], target))
    return workspace


def _channel_norm_infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    x = required(inputs)
    check_dtype(x, FLOATS)
    if len(x.shape) < 2:
        raise Unsupported(f"The input {x} has no channels.")
    num_affine = num_channels = x.shape[1]
    if node.op_type == "GroupNormalization":
        num_groups = int(node.attributes["num_groups"])
        if num_groups < 1 or num_channels % num_groups:
            raise Unsupported(f"{num_channels} channels do not split into {num_groups} groups.")
        if node.version < 21:
            num_affine = num_groups
    for parameter in (required(inputs, 1), required(inputs, 2)):
        check_dtype(parameter, (x.dtype,))
        if parameter.shape != (num_affine,):
            raise Unsupported(f"{parameter} should have the shape [{num_affine}].")
    return [TensorType(x.dtype, x.shape)]


def _channel_norm_lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    x, affine = required(inputs), (required(inputs, 1), required(inputs, 2))
    num_groups = int(node.attributes.get("num_groups", x.shape[1]))
    spatial = math.prod(x.shape[2:])
    per_channel = node.op_type == "GroupNormalization" and node.version >= 21
    index = "row % period * (row_size / inner) + i / inner" if per_channel else "row % period"
    num_rows = x.shape[0] * num_groups
    return [_launch(node, x, outputs, num_rows, affine, index, period=num_groups, inner=spatial)]


register(
    OpSpec("GroupNormalization", 18, _channel_norm_infer, _channel_norm_lower),
    OpSpec("InstanceNormalization", 6, _channel_norm_infer, _channel_norm_lower),
    OpSpec("LayerNormalization", 17, _layer_norm_infer, _layer_norm_lower),
    OpSpec("RMSNormalization", 23, _layer_norm_infer, _layer_norm_lower),
    OpSpec("AddLayerNormalization", 1, _add_norm_infer, _add_norm_lower, domain="cugraphmodel"),
    OpSpec("AddRMSNormalization", 1, _add_norm_infer, _add_norm_lower, domain="cugraphmodel"),
)
