"""A short way to write an operator as others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.spec import Unsupported

if TYPE_CHECKING:
    from cugraphmodel.front.tracer import Tracer
    from cugraphmodel.ir import Node, Value

__all__ = ["FLOAT", "INT32", "INT64", "MICROSOFT", "Composer", "Refused"]

Array = npt.NDArray[Any]
MICROSOFT = "com.microsoft"
FLOAT, INT32, INT64 = 1, 6, 7  # of onnx.TensorProto
OPSET = 24
"""Of the standard's operators that the compositions are written in."""


class Refused(Exception):
    """A part of a composition cannot run; the tracer has noted why."""


class Composer:
    """Reads one node and emits what stands for it. Values go by name, ``""`` for none."""

    def __init__(self, tracer: Tracer, node: Node) -> None:
        self.node = node
        self._tracer = tracer
        self._like = replace(node, domain="", version=OPSET)
        self._turned: dict[str, tuple[str, tuple[int, ...]]] = {}

    # ---- What the node says

    def optional(self, position: int) -> str:
        """The input at a position, or ``""``."""
        return self.node.inputs[position] if position < len(self.node.inputs) else ""

    def required(self, position: int) -> str:
        """The input at a position.

        Raises:
            Unsupported: it is left out.
        """
        name = self.optional(position)
        if not name:
            raise Unsupported(f"Input {position} is left out, but the operator needs it.")
        return name

    def refuse_inputs(self, *positions: int) -> None:
        """Raises Unsupported if one of these is given."""
        for position in positions:
            if self.optional(position):
                raise Unsupported(f"Input {position} ({self.optional(position)!r}) is not covered.")

    def refuse_attributes(self, **allowed: Any) -> None:
        """Raises Unsupported if an attribute is given and is not what stands here."""
        for name, value in allowed.items():
            if self.attribute(name, value) != value:
                found = self.node.attributes[name]
                raise Unsupported(f"{name}={found!r} is not covered; only {value!r} is.")

    def wants(self, position: int) -> bool:
        """Whether anyone reads that output."""
        return position < len(self.node.outputs) and bool(self.node.outputs[position])

    def attribute(self, name: str, default: Any) -> Any:
        """An attribute, or its default."""
        return self.node.attributes.get(name, default)

    def known(self, position: int, reason: str) -> Array:
        """The value of an input that must be known at capture.

        Raises:
            Unsupported: it is computed in the run.
        """
        name = self.required(position)
        array = self._tracer.known(name)
        if array is None:
            raise Unsupported(
                f"input {position} ({name!r}) {reason} and must be known at capture. If it hangs "
                "on an input, fix that input with constant_inputs."
            )
        return array

    # ---- Values

    def value(self, name: str) -> Value:
        """The dtype and shape of a value."""
        return self._tracer.value(name)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a value."""
        return self.value(name).shape

    def constant(self, array: Any, dtype: Any = np.int64) -> str:
        """A new constant."""
        return self._tracer.literal(
            np.asarray(array, dtype), f"{self._tracer.label(self.node)}::constant"
        )

    # ---- Nodes

    def emit(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of the standard; its output."""
        return self.emit_several(1, op_type, *inputs, **attributes)[0]

    def emit_several(self, count: int, op_type: str, *inputs: str, **attributes: Any) -> list[str]:
        """Add a node of several outputs."""
        outputs = self._tracer.emit_several(count, op_type, inputs, self._like, **attributes)
        if self._tracer.unknown.intersection(outputs):
            raise Refused
        return outputs

    def sum(self, *names: str) -> str:
        """The sum of those that are given, from the left; at least one is."""
        first, *others = filter(None, names)
        for other in others:
            first = self.emit("Add", first, other)
        return first

    def sum_or_none(self, *names: str) -> str:
        """Like :meth:`sum`, or ``""`` if none is given."""
        return self.sum(*names) if any(names) else ""

    def scaled(self, name: str, factor: float) -> str:
        """A value times a number."""
        if factor == 1:
            return name
        return self.emit("Mul", name, self.constant(factor, self.value(name).dtype))

    def reshape(self, name: str, *shape: int) -> str:
        """Another shape of the same elements."""
        return self.emit("Reshape", name, self.constant(shape), allowzero=1)

    def transpose(self, name: str, *axes: int) -> str:
        """The axes in another order; one node for two that follow each other."""
        source, first = self._turned.get(name, (name, tuple(range(len(axes)))))
        axes = tuple(first[axis] for axis in axes)
        result = self.emit("Transpose", source, perm=axes)
        self._turned[result] = source, axes
        return result

    def unsqueeze(self, name: str, *axes: int) -> str:
        """New axes of size 1."""
        return self.emit("Unsqueeze", name, self.constant(axes))

    def split(self, name: str, sizes: Sequence[int], axis: int = -1) -> list[str]:
        """The parts of a value along an axis; those of size 0 are ``""``."""
        wanted = [size for size in sizes if size]
        if len(wanted) == 1:
            parts = iter([name])
        else:
            parts = iter(
                self.emit_several(len(wanted), "Split", name, self.constant(wanted), axis=axis)
            )
        return [next(parts) if size else "" for size in sizes]

    def concat(self, *names: str, axis: int) -> str:
        """The values that are given, one after the other along an axis."""
        given = tuple(filter(None, names))
        return given[0] if len(given) == 1 else self.emit("Concat", *given, axis=axis)

    def cast_like(self, name: str, other: str) -> str:
        """The value in the dtype of another."""
        if self.value(name).dtype == self.value(other).dtype:
            return name
        return self.emit("CastLike", name, other)

    def fits(self, name: str, *shape: int) -> None:
        """Raises Unsupported unless the value has that shape."""
        if self.shape(name) != shape:
            raise Unsupported(f"{self.value(name)} should have the shape {list(shape)}.")

    def heads(self, name: str, num_heads: int) -> str:
        """[batch, length, hidden] as [batch, head, length, element]."""
        batch, length, hidden = self.shape(name)
        if num_heads < 1 or hidden % num_heads:
            raise Unsupported(f"{hidden} elements do not split into {num_heads} heads.")
        parts = self.reshape(name, batch, length, num_heads, hidden // num_heads)
        return self.transpose(parts, 0, 2, 1, 3)

    def joined(self, name: str) -> str:
        """[batch, head, length, element] as [batch, length, hidden]."""
        batch, num_heads, length, size = self.shape(name)
        return self.reshape(self.transpose(name, 0, 2, 1, 3), batch, length, num_heads * size)

    def scale(self, size: int) -> float:
        """The attribute ``scale`` of an attention with heads of that size."""
        given = float(self.attribute("scale", 0.0))
        return given or 1 / math.sqrt(size)
