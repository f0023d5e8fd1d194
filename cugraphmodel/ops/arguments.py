"""Reading a node's arguments: inputs that must be there, their dtypes, axes, attributes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cugraphmodel.dtypes import BFLOAT16
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.spec import Unsupported

__all__ = [
    "ANY",
    "BOOL",
    "FLOATS",
    "INTEGERS",
    "NUMBERS",
    "SIGNED",
    "check_dtype",
    "float_attributes",
    "ints_of",
    "normalize_axes",
    "normalize_axis",
    "operands_of_one_dtype",
    "optional",
    "required",
    "residual_of",
]

BOOL = (np.dtype("bool"),)
FLOATS = (np.dtype("float16"), BFLOAT16, *map(np.dtype, ("float32", "float64")))
SIGNED = tuple(map(np.dtype, ("int8", "int16", "int32", "int64")))
INTEGERS = (*SIGNED, *map(np.dtype, ("uint8", "uint16", "uint32", "uint64")))
NUMBERS = FLOATS + INTEGERS
ANY = NUMBERS + BOOL


def required(values: Sequence[Value | None], position: int = 0) -> Value:
    """The input or output at a position.

    Raises:
        Unsupported: it is left out.
    """
    value = optional(values, position)
    if value is None:
        raise Unsupported(f"Input or output {position} is left out, but the operator needs it.")
    return value


def optional(values: Sequence[Value | None], position: int) -> Value | None:
    """The input or output at a position, or None if it is left out."""
    return values[position] if position < len(values) else None


def check_dtype(value: Value, dtypes: Iterable[np.dtype]) -> None:
    """Reject an input that the operator's kernels do not take.

    Raises:
        Unsupported: its dtype is not among ``dtypes``.
    """
    taken = tuple(dtypes)
    if value.dtype not in taken:
        names = ", ".join(dtype.name for dtype in taken)
        raise Unsupported(f"Input {value.name!r} is {value.dtype.name}; the kernels take {names}.")


def operands_of_one_dtype(
    inputs: Sequence[Value | None], dtypes: Iterable[np.dtype]
) -> tuple[Value, Value, Value | None]:
    """Two inputs and a third that may be left out, all of one dtype.

    Raises:
        Unsupported: that dtype is not among ``dtypes``, or they differ.
    """
    first, second, third = required(inputs), required(inputs, 1), optional(inputs, 2)
    check_dtype(first, dtypes)
    for other in filter(None, (second, third)):
        check_dtype(other, (first.dtype,))
    return first, second, third


def residual_of(inputs: Sequence[Value | None], result: TensorType) -> Value | None:
    """Input 3 of a fused node, which is added to its sums, or None if it is left out.

    Raises:
        Unsupported: it has not exactly the result's dtype and shape.
    """
    residual = optional(inputs, 3)
    if residual is not None and (residual.dtype, residual.shape) != (result.dtype, result.shape):
        raise Unsupported(f"A residual {residual} does not fit a result {result}.")
    return residual


def float_attributes(node: Node, defaults: Sequence[tuple[str, float]]) -> tuple[float, ...]:
    """Attributes of a node, by name, each with its default."""
    return tuple(float(node.attributes.get(name, default)) for name, default in defaults)


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
        raise Unsupported(f"Axis {axis} is outside a tensor of rank {rank}.")
    return axis % rank


def normalize_axes(axes: Sequence[int], rank: int) -> list[int]:
    """Axes counted from the front, in the order given.

    Raises:
        Unsupported: one is outside the tensor, or stands twice.
    """
    normalized = [normalize_axis(axis, rank) for axis in axes]
    if len(set(normalized)) != len(normalized):
        raise Unsupported(f"Axes {list(axes)} name a dimension twice.")
    return normalized
