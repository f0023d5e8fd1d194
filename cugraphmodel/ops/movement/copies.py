"""Operators that are strided copies: Transpose, Slice, Expand, Tile, and kin."""

from __future__ import annotations

from collections.abc import Sequence

from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import ints_of, normalize_axes, required
from cugraphmodel.ops.launch import Launch
from cugraphmodel.ops.movement.strided_copy import Copy, launch_copy
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.strides import broadcast_shapes, broadcast_strides, contiguous_strides

__all__: list[str] = []

Values = Sequence[Value | None]


def _permutation(node: Node, rank: int) -> list[int]:
    given = node.attributes.get("perm")
    permutation = [int(axis) for axis in given] if given is not None else [*range(rank)][::-1]
    if sorted(permutation) != list(range(rank)):
        raise Unsupported(f"perm {permutation} is not a permutation of {rank} dimensions.")
    return permutation


def _infer_transpose(node: Node, inputs: Values) -> list[TensorType]:
    data = required(inputs)
    permutation = _permutation(node, len(data.shape))
    return [TensorType(data.dtype, tuple(data.shape[axis] for axis in permutation))]


def _lower_transpose(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, output = required(inputs), required(outputs)
    return _permuted_copy(data, output, data.shape, _permutation(node, len(data.shape)))


def _permuted_copy(
    source: Value, target: Value, source_shape: Sequence[int], permutation: Sequence[int]
) -> list[Launch]:
    """Launches of a transpose of ``source`` seen as ``source_shape``."""
    strides = contiguous_strides(source_shape)
    shape = tuple(source_shape[axis] for axis in permutation)
    copy = Copy(shape, tuple(strides[axis] for axis in permutation), contiguous_strides(shape))
    return launch_copy(source, target, copy)


def _slices(node: Node, shape: Sequence[int]) -> list[range]:
    """For every dimension the range of source coordinates, in output order."""
    starts, ends = ints_of(node, "starts", 1), ints_of(node, "ends", 2)
    if starts is None or ends is None:
        raise Unsupported("starts or ends is left out.")
    axes = ints_of(node, "axes", 3)
    steps = ints_of(node, "steps", 4)
    axes = normalize_axes(list(range(len(starts))) if axes is None else axes, len(shape))
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Unsupported(
            f"starts {starts}, ends {ends}, axes {axes} and steps {steps} do not match."
        )
    if 0 in steps:
        raise Unsupported("A step of Slice is 0.")
    ranges = [range(size) for size in shape]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        ranges[axis] = range(*_clamped(start, end, step, shape[axis]))
    return ranges


def _clamped(start: int, end: int, step: int, size: int) -> tuple[int, int, int]:
    """Bounds of a range over a dimension, as the Slice operator's text defines them.

    A start before a dimension that is walked backwards means its first element; a Python slice is
    empty there.
    """
    start += size if start < 0 else 0
    end += size if end < 0 else 0
    if step > 0:
        return min(max(start, 0), size), min(max(end, 0), size), step
    return min(max(start, 0), size - 1), min(max(end, -1), size - 1), step


def _infer_slice(node: Node, inputs: Values) -> list[TensorType]:
    data = required(inputs)
    shape = tuple(len(coordinates) for coordinates in _slices(node, data.shape))
    return [TensorType(data.dtype, shape)]


def _lower_slice(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, output = required(inputs), required(outputs)
    strides = contiguous_strides(data.shape)
    ranges = list(zip(_slices(node, data.shape), strides, strict=True))
    copy = Copy(
        output.shape,
        tuple(coordinates.step * stride for coordinates, stride in ranges),
        contiguous_strides(output.shape),
        source_offset=sum(coordinates.start * stride for coordinates, stride in ranges),
    )
    return launch_copy(data, output, copy)


def _infer_expand(node: Node, inputs: Values) -> list[TensorType]:
    data = required(inputs)
    wanted = ints_of(node, "shape", 1)
    if wanted is None:
        raise Unsupported("The shape is left out.")
    return [TensorType(data.dtype, broadcast_shapes([data.shape, tuple(wanted)]))]


def _lower_expand(_node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, output = required(inputs), required(outputs)
    strides = broadcast_strides(data.shape, len(output.shape))
    copy = Copy(output.shape, strides, contiguous_strides(output.shape))
    return launch_copy(data, output, copy)


def _infer_tile(node: Node, inputs: Values) -> list[TensorType]:
    data = required(inputs)
    repeats = ints_of(node, "repeats", 1)
    if repeats is None or len(repeats) != len(data.shape) or min(repeats, default=0) < 0:
        raise Unsupported(f"repeats {repeats} does not give a count for every dimension of {data}.")
    shape = tuple(size * times for size, times in zip(data.shape, repeats, strict=True))
    return [TensorType(data.dtype, shape)]


def _lower_tile(_node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    """The output seen as (repeat 0, size 0, repeat 1, size 1, ...)."""
    data, output = required(inputs), required(outputs)
    shape: list[int] = []
    source_strides: list[int] = []
    strides = contiguous_strides(data.shape)
    for size, stride, out_size in zip(data.shape, strides, output.shape, strict=True):
        shape += [out_size // size, size]
        source_strides += [0, stride]
    copy = Copy(tuple(shape), tuple(source_strides), contiguous_strides(shape))
    return launch_copy(data, output, copy)


def _block_size(node: Node, inputs: Values) -> tuple[Value, int]:
    data, block = required(inputs), int(node.attributes["blocksize"])
    if len(data.shape) != 4 or block < 1:
        raise Unsupported(
            f"{data} with a block size of {block}: (N, C, H, W) and 1 or more is needed."
        )
    return data, block


def _block_mode(node: Node) -> str:
    """The order of depth (D) and the rows and columns of blocks (R, C) among the channels."""
    mode = str(node.attributes.get("mode", "DCR"))
    if mode not in ("DCR", "CRD"):
        raise Unsupported(f"mode {mode!r} is neither 'DCR' nor 'CRD'.")
    return mode


def _infer_depth_to_space(node: Node, inputs: Values) -> list[TensorType]:
    data, block = _block_size(node, inputs)
    batch, channels, height, width = data.shape
    if channels % (block * block):
        raise Unsupported(f"{channels} channels are not a multiple of {block} * {block}.")
    _block_mode(node)
    shape = (batch, channels // (block * block), height * block, width * block)
    return [TensorType(data.dtype, shape)]


def _lower_depth_to_space(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, block = _block_size(node, inputs)
    output = required(outputs)
    batch, _, height, width = data.shape
    depth = output.shape[1]
    if _block_mode(node) == "DCR":
        split, permutation = (batch, block, block, depth, height, width), (0, 3, 4, 1, 5, 2)
    else:
        split, permutation = (batch, depth, block, block, height, width), (0, 1, 4, 2, 5, 3)
    return _permuted_copy(data, output, split, permutation)


def _infer_space_to_depth(node: Node, inputs: Values) -> list[TensorType]:
    data, block = _block_size(node, inputs)
    batch, channels, height, width = data.shape
    if height % block or width % block:
        raise Unsupported(f"{data} does not divide into blocks of {block} x {block}.")
    _block_mode(node)
    shape = (batch, channels * block * block, height // block, width // block)
    return [TensorType(data.dtype, shape)]


def _lower_space_to_depth(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, block = _block_size(node, inputs)
    output = required(outputs)
    batch, channels, height, width = data.shape
    split = (batch, channels, height // block, block, width // block, block)
    permutation = (0, 3, 5, 1, 2, 4) if _block_mode(node) == "DCR" else (0, 1, 3, 5, 2, 4)
    return _permuted_copy(data, output, split, permutation)


register(
    OpSpec("Transpose", 1, _infer_transpose, _lower_transpose),
    OpSpec("Slice", 1, _infer_slice, _lower_slice, host_inputs=(1, 2, 3, 4)),
    OpSpec("Expand", 8, _infer_expand, _lower_expand, host_inputs=(1,)),
    OpSpec("Tile", 6, _infer_tile, _lower_tile, host_inputs=(1,)),
    OpSpec("DepthToSpace", 1, _infer_depth_to_space, _lower_depth_to_space),
    OpSpec("SpaceToDepth", 1, _infer_space_to_depth, _lower_space_to_depth),
)
