"""Resize and Upsample: nearest in one launch, linear and cubic one dimension after the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import BFLOAT16, c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import ANY, check_dtype, required
from cugraphmodel.ops.launch import Argument, Launch, Workspace, ceil_div, dims, index_type
from cugraphmodel.ops.movement.strided_copy import WORDS, copy_all
from cugraphmodel.ops.resize.geometry import Dimension, resized_dimensions
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.strides import contiguous_strides

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256
NEAREST_MODES = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
SUPPORT = {"linear": 1, "cubic": 2}
"""Half the width of each filter, in samples of the source."""


def _mode(node: Node) -> str:
    mode = str(node.attributes.get("mode", "nearest"))
    mode = "linear" if mode == "bilinear" else mode  # Upsample 1's word, still found in files
    if mode not in ("nearest", *SUPPORT):
        raise Unsupported(f"mode {mode!r} is none of nearest, linear and cubic.")
    return mode


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    data = required(inputs)
    mode = _mode(node)
    if mode != "nearest":
        check_dtype(data, ANY)
    if mode != "nearest" and data.dtype == np.bool_:
        raise Unsupported(f"mode {mode!r} of bool has no meaning.")
    if mode == "nearest" and node.attributes.get("antialias", 0):
        raise Unsupported("antialias takes a linear or cubic mode.")
    _nearest_mode(node)
    shape = tuple(dimension.target_size for dimension in resized_dimensions(node, data.shape))
    if data.size == 0 and 0 not in shape:
        raise Unsupported(f"{data} is empty and cannot be resized to {list(shape)}.")
    return [TensorType(data.dtype, shape)]


def _nearest_mode(node: Node) -> str:
    """How to round; versions before 11 know only the floor."""
    if node.op_type == "Upsample" or node.version < 11:
        return "floor"
    mode = str(node.attributes.get("nearest_mode", "round_prefer_floor"))
    if mode not in NEAREST_MODES:
        raise Unsupported(f"nearest_mode {mode!r} is none of {', '.join(NEAREST_MODES)}.")
    return mode


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, output = required(inputs), required(outputs)
    dimensions = resized_dimensions(node, data.shape)
    if all(dimension.is_identity for dimension in dimensions):
        return copy_all(data, output)
    if _mode(node) == "nearest":
        return [_launch_nearest(node, data, output, dimensions)]
    return _launch_axes(node, data, output, dimensions)


def _merged(dimensions: Sequence[Dimension]) -> list[Dimension]:
    """Neighbours that stay as they are, joined."""
    merged: list[Dimension] = []
    for dimension in dimensions:
        if merged and merged[-1].is_identity and dimension.is_identity:
            merged[-1] = Dimension.unchanged(merged[-1].source_size * dimension.source_size)
        else:
            merged.append(dimension)
    return merged


def _launch_nearest(
    node: Node, data: Value, output: Value, dimensions: Sequence[Dimension]
) -> Launch:
    walked = _merged(dimensions)
    if len(walked) > 8:
        raise Unsupported(f"Resize of {data} takes more than 8 dimensions.")
    extrapolated = np.array(node.attributes.get("extrapolation_value", 0.0)).astype(data.dtype)
    pattern = int.from_bytes(extrapolated.tobytes(), "little", signed=True)
    source_shape = [dimension.source_size for dimension in walked]
    return Launch(
        source="ops/resize/nearest.cu",
        entry="resize_nearest",
        grid=(ceil_div(output.size, THREADS), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            data,
            output,
            np.int64(output.size),
            np.int32(len(walked)),
            np.int32(sum(1 << d for d, dim in enumerate(walked) if not dim.is_identity)),
            dims(*(dimension.target_size for dimension in walked)),
            dims(*source_shape),
            dims(*contiguous_strides(source_shape)),
            _reals(dimension.shift for dimension in walked),
            _reals(dimension.multiplier for dimension in walked),
            _reals(dimension.divisor for dimension in walked),
            _reals(dimension.offset for dimension in walked),
            np.int32(_extrapolates(node)),
            np.int64(pattern),
        ),
        macros=(
            ("WORD", WORDS[data.dtype.itemsize]),
            ("NEAREST", f"nearest_{_nearest_mode(node)}"),
            ("INDEX", index_type(output.size)),
        ),
    )


def _reals(numbers: Iterable[float]) -> npt.NDArray[np.float64]:
    """A ``Reals`` struct of ``nearest.cu``."""
    given = list(numbers)
    return np.array([*given, *[0.0] * (8 - len(given))])


def _extrapolates(node: Node) -> bool:
    return node.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize"


@dataclass(frozen=True)
class _Stage:
    """A tensor on the way from input to output: where it is, its C++ type and its shape."""

    argument: Argument
    scalar: str
    shape: tuple[int, ...]


def _launch_axes(
    node: Node, data: Value, output: Value, dimensions: Sequence[Dimension]
) -> list[Launch]:
    """One launch a resized dimension, those that shrink most first."""
    accumulate = "float" if data.dtype in (np.float16, BFLOAT16, np.float32) else "double"
    axes = [axis for axis, dimension in enumerate(dimensions) if not dimension.is_identity]
    axes.sort(key=lambda axis: dimensions[axis].target_size / dimensions[axis].source_size)
    stage = _Stage(data, c_type(data.dtype), data.shape)
    launches: list[Launch] = []
    for axis in axes:
        shape = (*stage.shape[:axis], dimensions[axis].target_size, *stage.shape[axis + 1 :])
        if axis == axes[-1]:
            following = _Stage(output, c_type(output.dtype), shape)
        else:
            num_bytes = math.prod(shape) * (4 if accumulate == "float" else 8)
            following = _Stage(Workspace(num_bytes), accumulate, shape)
        launches.append(_launch_axis(node, stage, following, axis, dimensions[axis], accumulate))
        stage = following
    return launches


def _launch_axis(
    node: Node, source: _Stage, target: _Stage, axis: int, dimension: Dimension, accumulate: str
) -> Launch:
    mode = _mode(node)
    antialias = bool(node.attributes.get("antialias", 0))
    exclude_outside = bool(node.attributes.get("exclude_outside", 0))
    filter_scale = min(dimension.scale, 1.0) if antialias else 1.0
    count = math.prod(target.shape)
    return Launch(
        source="ops/resize/resize.cu",
        entry="resize_axis",
        grid=(ceil_div(count, THREADS), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            source.argument,
            target.argument,
            np.int64(count),
            np.int64(dimension.target_size),
            np.int64(dimension.source_size),
            np.int64(math.prod(target.shape[axis + 1 :])),
            np.float64(dimension.shift),
            np.float64(dimension.multiplier),
            np.float64(dimension.divisor),
            np.float64(dimension.offset),
            np.int32(2 * math.ceil(SUPPORT[mode] / filter_scale)),
            np.float64(filter_scale),
            np.float64(node.attributes.get("cubic_coeff_a", -0.75)),
            np.int32(exclude_outside),
            np.int32(antialias or exclude_outside),
            np.int32(_extrapolates(node)),
            np.float64(node.attributes.get("extrapolation_value", 0.0)),
        ),
        macros=(
            ("SOURCE", source.scalar),
            ("TARGET", target.scalar),
            ("ACCUMULATE", accumulate),
            ("FILTER", f"filter_{mode}"),
        ),
    )


register(
    OpSpec("Upsample", 7, _infer, _lower, host_inputs=(1,)),
    OpSpec("Resize", 10, _infer, _lower, host_inputs=(1,)),
    OpSpec("Resize", 11, _infer, _lower, host_inputs=(1, 2, 3)),
)
