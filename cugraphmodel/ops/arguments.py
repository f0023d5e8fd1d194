"""Reading a node's arguments: inputs that must be there, axes, values known at capture."""

from __future__ import annotations

from collections.abc import Sequence

from cugraphmodel.ir import Node, Value
from cugraphmodel.ops.spec import reject

__all__ = ["ints_of", "normalize_axes", "normalize_axis", "optional", "required"]


def required(values: Sequence[Value | None], position: int = 0) -> Value:
    """The input or output at a position.

    Raises:
        Unsupported: it is left out.
    """
    value = optional(values, position)
    if value is None:
        raise reject(f"Input or output {position} is left out, but the operator needs it.")
    return value


def optional(values: Sequence[Value | None], position: int) -> Value | None:
    """The input or output at a position, or None if it is left out."""
    return values[position] if position < len(values) else None


def ints_of(node: Node, attribute: str, position: int) -> list[int] | None:
    """Integers from an attribute or, in newer versions of an operator, from a host input.

    Returns:
        The integers, or None if neither is given.
    """
    if position in node.host_values:
        return [int(number) for number in node.host_values[position].ravel()]
    given = node.attributes.get(attribute)
    return None if given is None else [int(number) for number in given]


def normalize_axis(axis: int, rank: int) -> int:
    """An axis counted from the front.

    Raises:
        Unsupported: ``axis`` is not in ``[-rank, rank)``.
    """
    if not -rank <= axis < rank:
        raise reject(f"Axis {axis} is outside a tensor of rank {rank}.")
    return axis % rank


def normalize_axes(axes: Sequence[int], rank: int) -> list[int]:
    """Axes counted from the front, in the order given.

    Raises:
        Unsupported: one is outside the tensor, or stands twice.
    """
    normalized = [normalize_axis(axis, rank) for axis in axes]
    if len(set(normalized)) != len(normalized):
        raise reject(f"Axes {list(axes)} name a dimension twice.")
    return normalized
