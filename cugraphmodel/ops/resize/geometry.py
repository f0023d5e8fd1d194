"""What Resize makes of its sizes, scales and coordinate modes: one line of numbers a dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cugraphmodel.ir import Node
from cugraphmodel.ops.arguments import ints_of, normalize_axes
from cugraphmodel.ops.spec import Unsupported

__all__ = ["Dimension", "resized_dimensions"]


@dataclass(frozen=True)
class Dimension:
    """How one dimension is resized: ``x(c) = (c + shift) * multiplier / divisor + offset``.

    Attributes:
        source_size, target_size: elements before and after.
        scale: as asked for; not exactly their quotient where a scale made the size.
        shift, multiplier, divisor, offset: from a target coordinate c to a source coordinate x.
        is_identity: whether the dimension stays as it is.
    """

    source_size: int
    target_size: int
    scale: float
    shift: float
    multiplier: float
    divisor: float
    offset: float
    is_identity: bool = False

    @classmethod
    def unchanged(cls, size: int) -> Dimension:
        """A dimension that stays as it is."""
        return cls(size, size, 1.0, 0.0, 1.0, 1.0, 0.0, is_identity=True)


def resized_dimensions(node: Node, shape: Sequence[int]) -> list[Dimension]:
    """How every dimension of the input is resized.

    Raises:
        Unsupported: the node's sizes, scales or modes do not fit the input.
    """
    rank = len(shape)
    axes = normalize_axes(ints_of(node, "axes", -1) or range(rank), rank)
    mode = _coordinate_mode(node)
    scales, sizes = _scales_and_sizes(node, [shape[axis] for axis in axes])
    roi = _region(node, len(axes)) if mode == "tf_crop_and_resize" else [(0.0, 1.0)] * len(axes)
    dimensions = [Dimension.unchanged(size) for size in shape]
    for position, axis in enumerate(axes):
        source_size, scale, (start, end) = shape[axis], scales[position], roi[position]
        target_size = sizes[position] if sizes else math.floor(source_size * (end - start) * scale)
        if scale == 1.0 and (start, end) == (0.0, 1.0) and target_size == source_size:
            continue
        line = _line(mode, source_size, target_size, scale, start, end)
        dimensions[axis] = Dimension(source_size, target_size, scale, *line)
    return dimensions


def _coordinate_mode(node: Node) -> str:
    if node.op_type == "Upsample" or node.version < 11:
        return "asymmetric"
    return str(node.attributes.get("coordinate_transformation_mode", "half_pixel"))


def _scales_and_sizes(node: Node, shape: Sequence[int]) -> tuple[list[float], list[int] | None]:
    """The scale of every axis and, where sizes are given, the output's size."""
    scales = _scales(node)
    sizes = ints_of(node, "sizes", 3)
    if bool(scales) == bool(sizes):
        raise Unsupported("Exactly one of scales and sizes must be given.")
    if sizes is None or not sizes:
        if len(scales) != len(shape) or min(scales) <= 0:
            raise Unsupported(
                f"scales {scales} do not give a positive scale for {len(shape)} axes."
            )
        return scales, None
    if len(sizes) != len(shape) or min(sizes) < 0 or 0 in shape:
        raise Unsupported(f"sizes {sizes} do not fit an input of {list(shape)}.")
    quotients = [size / source for size, source in zip(sizes, shape, strict=True)]
    policy = node.attributes.get("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return quotients, sizes
    if policy not in ("not_larger", "not_smaller"):
        raise Unsupported(f"keep_aspect_ratio_policy {policy!r} is unknown.")
    scale = min(quotients) if policy == "not_larger" else max(quotients)
    return [scale] * len(shape), [math.floor(scale * source + 0.5) for source in shape]


def _scales(node: Node) -> list[float]:
    position = 1 if node.op_type == "Upsample" or node.version < 11 else 2
    if position in node.host_values:
        return [float(scale) for scale in node.host_values[position].ravel()]
    return [float(scale) for scale in node.attributes.get("scales", [])]


def _region(node: Node, num_axes: int) -> list[tuple[float, float]]:
    """(start, end) of every axis, as parts of its length."""
    given = [float(bound) for bound in node.host_values[1].ravel()] if 1 in node.host_values else []
    if len(given) != 2 * num_axes:
        raise Unsupported(f"roi {given} does not give a start and an end for {num_axes} axes.")
    return list(zip(given[:num_axes], given[num_axes:], strict=True))


def _line(
    mode: str, source_size: int, target_size: int, scale: float, start: float, end: float
) -> tuple[float, float, float, float]:
    """shift, multiplier, divisor and offset: the formulas of the Resize operator's text.

    Sizes are whole numbers as in that text; ``onnx.reference`` takes the unrounded product of size
    and scale for "align_corners", so that corners do not meet corners there.
    """
    last = source_size - 1
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and target_size > 1):
        return 0.5, 1.0, scale, -0.5
    if mode == "half_pixel_symmetric":
        adjustment = target_size / (scale * source_size)
        return 0.5, 1.0, scale, source_size / 2 * (1 - adjustment) - 0.5
    if mode == "asymmetric":
        return 0.0, 1.0, scale, 0.0
    if mode == "tf_half_pixel_for_nn":
        return 0.5, 1.0, scale, 0.0
    if mode in ("align_corners", "pytorch_half_pixel"):
        return 0.0, float(last if target_size > 1 else 0), float(max(target_size - 1, 1)), 0.0
    if mode == "tf_crop_and_resize":
        if target_size > 1:
            return 0.0, (end - start) * last, float(target_size - 1), start * last
        return 0.0, 0.0, 1.0, 0.5 * (start + end) * last
    raise Unsupported(f"coordinate_transformation_mode {mode!r} is unknown.")
