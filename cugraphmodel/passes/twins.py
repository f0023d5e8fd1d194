"""Twins: what ``channels_last`` puts beside tensors, and what it says of a node on them.

A tensor [N, C, *spatial] has a twin [N, *spatial, C]: another value, with a name of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cugraphmodel.front.fold import digest
from cugraphmodel.ir import Constant, Graph, Node, Parameters, TensorType

__all__ = [
    "Conversion",
    "Rule",
    "Shape",
    "Twins",
    "from_last",
    "is_same_bytes",
    "reshape",
    "to_last",
]

T = TypeVar("T")
Shape = tuple[int, ...]


def to_last(numbers: Sequence[T]) -> tuple[T, ...]:
    """What belongs to the axes (N, C, *spatial), in the order (N, *spatial, C)."""
    return (numbers[0], *numbers[2:], numbers[1])


def from_last(numbers: Sequence[T]) -> tuple[T, ...]:
    """The reverse of :func:`to_last`."""
    return (numbers[0], numbers[-1], *numbers[1:-1])


def is_same_bytes(shape: Shape) -> bool:
    """Whether a tensor [N, C, *spatial] and its twin hold the same bytes."""
    return shape[1] == 1 or math.prod(shape[2:]) == 1 or 0 in shape


def reshape(source: str, target: str, shape: Shape) -> Node:
    """A view of a value as a shape."""
    host_values = {1: np.array(shape, np.int64)}
    return Node(
        "Reshape",
        (source, ""),
        (target,),
        version=14,
        attributes={"allowzero": 1},
        host_values=host_values,
    )


@dataclass(frozen=True)
class Conversion:
    """A node in channels-last form.

    Attributes:
        nodes: what stands for it.
        reads, makes: names of the tensors whose twins the nodes read and make.
        constants: those that the nodes read and the graph has not.
        inner: values between the nodes.
        conv_bytes: of input and output, if it is a convolution of at least 4 channels a group.
    """

    nodes: tuple[Node, ...]
    reads: tuple[str, ...]
    makes: tuple[str, ...]
    constants: Mapping[str, Constant] = field(default_factory=dict)
    inner: Mapping[str, TensorType] = field(default_factory=dict)
    conv_bytes: int = 0


Rule = Callable[["Twins", Node], Conversion | None]


class Twins:
    """Which values of a graph have a twin so far."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.makers = {name: node for node in graph.nodes for name in node.outputs if name}
        self._have: set[str] = set()
        self._suffix = " (channels last)"
        while any(name.endswith(self._suffix) for name in graph.values):
            self._suffix += " "

    def add(self, names: Sequence[str]) -> None:
        """These have twins from now on."""
        self._have.update(names)

    def has(self, name: str) -> bool:
        """Whether a value has a twin."""
        return name in self._have

    def name(self, name: str, more: str = "") -> str:
        """What the twin of a value is called; with ``more``, another value derived from it."""
        return f"{name}{more}{self._suffix}"

    def shape(self, name: str) -> Shape:
        """The shape of a value of the graph, before it has a twin."""
        return self.graph.values[name].shape

    def source(self, name: str) -> str | None:
        """The value whose transpose a value without a twin is, where that is its twin."""
        maker = self.makers.get(name)
        if maker is None or (maker.domain, maker.op_type) != ("", "Transpose"):
            return None
        if self.has(maker.inputs[0]):
            return None
        rank = len(self.shape(name))
        permutation = maker.attributes.get("perm", range(rank)[::-1])
        is_twin = to_last(permutation) == tuple(range(rank))
        return maker.inputs[0] if is_twin and rank > 2 else None

    def is_at_hand(self, name: str) -> bool:
        """Whether a value has a twin, or gets one without a copy."""
        shape = self.shape(name)
        if self.has(name):
            return True
        if len(shape) < 3 or name in self.graph.constants:
            return False
        return is_same_bytes(shape) or self.source(name) is not None

    def moved(
        self, name: str, permutation: Sequence[int], rank: int | None = None
    ) -> tuple[str, Constant]:
        """A constant with its axes permuted, after leading axes of size 1 up to ``rank``."""
        constant = self.graph.constants[name]
        padding = [1] * ((rank or len(constant.type.shape)) - len(constant.type.shape))
        padded = (*padding, *constant.type.shape)
        shape = tuple(padded[axis] for axis in permutation)

        def compute(parameters: Parameters) -> npt.NDArray[Any]:
            array = constant.compute(parameters).reshape(padded).transpose(permutation)
            return np.ascontiguousarray(array)

        moved = Constant(
            f"transposed {digest(constant.key, padded, tuple(permutation))}",
            TensorType(constant.type.dtype, shape),
            constant.params,
            compute,
        )
        return self.name(name, f" as {list(permutation)}"), moved
