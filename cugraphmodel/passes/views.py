"""Values as strided views of the tensors that they are copied from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cugraphmodel.dtypes import BFLOAT16
from cugraphmodel.ir import Graph, Node, Parameters, Value
from cugraphmodel.ops.arguments import ints_of
from cugraphmodel.ops.spec import find
from cugraphmodel.ops.strides import contiguous_strides

__all__ = ["Atom", "Axis", "Factors", "View", "Views", "merged", "refined"]

Atom = tuple[int, int]
"""Size, more than 1, and stride in elements."""

Axis = tuple[Atom, ...]
"""A dimension, in steps of several sizes: the last atom counts fastest."""

Factors = tuple[tuple[str, int], ...]
"""Names of constants of one element, multiplied by (1) or divided by (-1)."""


@dataclass(frozen=True)
class View:
    """A value whose elements lie in another one's memory, there possibly as 16-bit floats.

    Attributes:
        base: name of that value.
        offset: place of the first element, in elements.
        axes: one for each dimension; of size 1 if it is empty.
        factors: what every element is scaled by.
    """

    base: str
    offset: int
    axes: tuple[Axis, ...]
    factors: Factors = ()

    @staticmethod
    def of(value: Value) -> View:
        """The value itself."""
        sizes = zip(value.shape, contiguous_strides(value.shape), strict=True)
        return View(value.name, 0, tuple(((n, step),) if n != 1 else () for n, step in sizes))

    def transposed(self, order: Sequence[int]) -> View:
        """Its dimensions in another order."""
        return replace(self, axes=tuple(self.axes[axis] for axis in order))

    def turned(self) -> View:
        """Each of its matrices transposed."""
        rank = len(self.axes)
        return self.transposed([*range(rank - 2), rank - 1, rank - 2])

    def reshaped(self, shape: Sequence[int]) -> View | None:
        """The same elements in another shape; None if that cuts an atom unevenly."""
        atoms = merged(atom for axis in self.axes for atom in axis)[::-1]
        axes: list[Axis] = []
        for wanted in shape:
            axis: list[Atom] = []
            while wanted > 1 and atoms:
                size, stride = atoms.pop()
                if wanted % size == 0:
                    axis.append((size, stride))
                elif size % wanted == 0:
                    axis.append((wanted, size // wanted * stride))
                    atoms.append((size // wanted, stride))
                    size = wanted
                else:
                    return None
                wanted //= size
            axes.append(tuple(axis))
        return None if atoms else replace(self, axes=tuple(axes))

    def expanded(self, shape: Sequence[int]) -> View:
        """Repeated along new dimensions in front, and along those of size 1."""
        axes = (*[()] * (len(shape) - len(self.axes)), *self.axes)
        return replace(
            self,
            axes=tuple(
                axis if axis or size == 1 else ((size, 0),)
                for axis, size in zip(axes, shape, strict=True)
            ),
        )

    def sliced(self, axis: int, start: int, size: int) -> View | None:
        """Some neighbours along a dimension of one atom."""
        if len(self.axes[axis]) != 1:
            return None
        ((_, stride),) = self.axes[axis]
        part: Axis = ((size, stride),) if size > 1 else ()
        axes = (*self.axes[:axis], part, *self.axes[axis + 1 :])
        return replace(self, offset=self.offset + start * stride, axes=axes)


def merged(atoms: Iterable[Atom]) -> list[Atom]:
    """Fewer atoms that visit the same elements in the same order."""
    result: list[Atom] = []
    for size, stride in atoms:
        if result and result[-1][1] == size * stride:
            size *= result.pop()[0]
        result.append((size, stride))
    return result


def refined(
    operands: Sequence[Sequence[Atom]],
) -> tuple[list[int], list[list[int]]] | None:
    """Steps that all operands share.

    Args:
        operands: atoms of each, of the same size in all.

    Returns:
        Sizes, and each operand's strides; None if one cuts another's atom unevenly.
    """
    stacks = [list(atoms)[::-1] for atoms in operands]
    sizes: list[int] = []
    strides: list[list[int]] = [[] for _ in operands]
    while any(stacks):
        size = min(stack[-1][0] for stack in stacks)
        sizes.append(size)
        for stack, steps in zip(stacks, strides, strict=True):
            whole, stride = stack.pop()
            if whole % size:
                return None
            steps.append(whole // size * stride)
            if whole > size:
                stack.append((whole // size, stride))
    return sizes, strides


class Views:
    """Finds what a graph's values are views of."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._producers = {name: node for node in graph.nodes for name in node.outputs if name}

    def producer(self, name: str) -> Node | None:
        """The node that computes a value, if one does."""
        return self._producers.get(name)

    def of(self, name: str) -> Iterator[View]:
        """The value as a view: first of what lies farthest back, last of itself."""
        value = self._graph.values[name]
        node = self._producers.get(name)
        source = None if node is None else self._source(node)
        if node is not None and source is not None and value.size:
            for view in self.of(source):
                stepped = self._step(node, name, view)
                if stepped is not None:
                    yield stepped
        yield View.of(value)

    def _source(self, node: Node) -> str | None:
        """The input that a node copies, if it is such a node."""
        if node.domain or not node.inputs:
            return None
        if node.op_type in ("Mul", "Div"):
            side = self._scaled_side(node)
            return None if side is None else node.inputs[side]
        dtype = self._graph.values[node.inputs[0]].dtype
        target = self._graph.values[node.outputs[0]].dtype
        widens = dtype in (np.float16, BFLOAT16) and target == np.float32
        return node.inputs[0] if dtype == target or widens else None

    def _scaled_side(self, node: Node) -> int | None:
        """The position of what a Mul or Div scales by a constant of one element."""
        output = self._graph.values[node.outputs[0]]
        for side in (0, 1) if node.op_type == "Mul" else (0,):
            other = self._graph.constants.get(node.inputs[1 - side])
            scaled = self._graph.values[node.inputs[side]]
            if other is not None and other.type.size == 1 and scaled.shape == output.shape:
                return side
        return None

    def _step(self, node: Node, name: str, view: View) -> View | None:
        """The output ``name`` of a node whose source is a view; None if it is no view of that."""
        shape = self._graph.values[name].shape
        match node.op_type:
            case "Transpose":
                return view.transposed(
                    node.attributes.get("perm") or [*range(len(view.axes))][::-1]
                )
            case "Expand":
                return view.expanded(shape)
            case "Cast" | "CastLike":
                return view
            case "Mul" | "Div":
                constant = node.inputs[1 - (self._scaled_side(node) or 0)]
                power = 1 if node.op_type == "Mul" else -1
                return replace(view, factors=(*view.factors, (constant, power)))
            case "Split":
                return self._split(node, name, view)
            case "Slice":
                return self._slice(node, shape, view)
            case "Gather":
                return self._gather(node, view)
        spec = find(node.domain, node.op_type, node.version)
        is_view = spec is not None and spec.is_view and name == node.outputs[0]
        return view.reshaped(shape) if is_view else None

    def _split(self, node: Node, name: str, view: View) -> View | None:
        axis = int(node.attributes.get("axis", 0)) % len(view.axes)
        sizes = [self._graph.values[output].shape[axis] for output in node.outputs if output]
        if len(sizes) < len(node.outputs):
            return None
        position = node.outputs.index(name)
        return view.sliced(axis, sum(sizes[:position]), sizes[position])

    def _slice(self, node: Node, shape: Sequence[int], view: View) -> View | None:
        starts = ints_of(node, "starts", 1)
        if starts is None or any(step != 1 for step in ints_of(node, "steps", 4) or ()):
            return None
        axes = ints_of(node, "axes", 3)
        source = self._graph.values[node.inputs[0]].shape
        result: View | None = view
        for axis, start in zip(range(len(starts)) if axes is None else axes, starts, strict=True):
            size = source[axis]
            first = min(max(start + size if start < 0 else start, 0), size)
            if result is not None and shape[axis] != size:
                result = result.sliced(axis % len(shape), first, shape[axis])
        return result

    def _gather(self, node: Node, view: View) -> View | None:
        """One place along a dimension, which goes."""
        index = self._graph.constants.get(node.inputs[1])
        if index is None or index.params or index.type.shape != ():
            return None
        axis = int(node.attributes.get("axis", 0)) % len(view.axes)
        size = math.prod(size for size, _ in view.axes[axis])
        place = int(index.compute(Parameters({})))
        if not -size <= place < size:
            return None
        part = view.sliced(axis, place % size, 1)
        if part is None:
            return None
        return replace(part, axes=(*part.axes[:axis], *part.axes[axis + 1 :]))
