"""Finding layers that a file spells out in many small nodes.

A pattern is read from its last value backwards. Products and sums match in any order and nesting,
because every exporter writes its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from cugraphmodel.dtypes import kind_of
from cugraphmodel.ir import Graph, Node

__all__ = [
    "Call",
    "Found",
    "Makers",
    "Pattern",
    "Plus",
    "Product",
    "Times",
    "X",
    "clip_bounds",
    "number_of",
]

MAX_DEPTH = 8
"""Nodes one behind another through which a product is followed."""


@dataclass(frozen=True)
class Product:
    """``coefficient * factors / divisors``.

    Attributes:
        coefficient: product of all numbers among the factors.
        factors, divisors: names of the other values; one may stand several times.
        nodes: that multiply and divide.
    """

    coefficient: float = 1.0
    factors: tuple[str, ...] = ()
    divisors: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()

    def __mul__(self, other: Product) -> Product:
        return Product(
            self.coefficient * other.coefficient,
            self.factors + other.factors,
            self.divisors + other.divisors,
            self.nodes + other.nodes,
        )


class Makers:
    """Who makes each value of a graph, and who reads it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._maker = {name: node for node in graph.nodes for name in node.outputs if name}
        self._readers = graph.consumers()
        self._kept = frozenset(graph.kept)
        self._numbers: dict[str, float | None] = {}

    def maker(self, name: str, *op_types: str) -> Node | None:
        """The node that makes a value, if it is one of these standard operators."""
        node = self._maker.get(name)
        return node if node is not None and not node.domain and node.op_type in op_types else None

    def is_inner(self, name: str) -> bool:
        """Whether a value has one reader and is not needed after it."""
        return len(self._readers[name]) == 1 and name not in self._kept

    def can_become_one(self, nodes: Sequence[Node], inputs: Sequence[str]) -> bool:
        """Whether one node that reads ``inputs`` can take the place of several.

        None of these may make an input, and nothing else read what they make, but for the first
        one's output.
        """
        members = set(map(id, nodes))
        if any(id(self._maker.get(name)) in members for name in inputs):
            return False
        return all(
            name not in self._kept and all(id(reader) in members for reader in self._readers[name])
            for node in nodes[1:]
            for name in node.outputs
            if name
        )

    def number(self, name: str) -> float | None:
        """The value of a constant of one element, or None."""
        if name not in self._numbers:
            self._numbers[name] = number_of(self.graph, name)
        return self._numbers[name]

    def is_close(self, number: float, wanted: float, name: str) -> bool:
        """Whether a number that acts on a value stands for ``wanted``, rounded to its type.

        Single precision: to 1e-6, as exporters compute their constants in several ways.
        """
        dtype = self.graph.values[name].dtype
        unit = {2: 2.0**-8 if dtype.name == "bfloat16" else 2.0**-11, 4: 1e-6}
        return math.isclose(number, wanted, rel_tol=unit.get(dtype.itemsize, 2.0**-52))

    def product(self, name: str) -> Product:
        """A value as a product: followed back through those that only the product reads."""
        return self._product(name, self.graph.values[name].shape, 0)

    def _product(self, name: str, shape: tuple[int, ...], depth: int) -> Product:
        number = self.number(name)
        if number is not None:
            return Product(number)
        node = self.maker(name, "Mul", "Div", "Pow", "Reciprocal")
        is_followed = depth == 0 or (depth < MAX_DEPTH and self.is_inner(name))
        if node is None or not is_followed:
            return Product(factors=(name,))
        own = Product(nodes=(node,))
        if node.op_type == "Reciprocal":
            return own * Product(divisors=node.inputs)
        left, right = node.inputs
        number = self.number(right)
        if node.op_type == "Pow":
            if number in (2.0, 3.0):
                return own * Product(factors=(left,) * int(number))
            return Product(factors=(name,))
        if node.op_type == "Mul" and self.graph.values[name].shape == shape:
            parts = [self._product(operand, shape, depth + 1) for operand in (left, right)]
            return own * parts[0] * parts[1]
        if node.op_type == "Div" and number:
            return own * self._product(left, shape, depth + 1) * Product(1 / number)
        if node.op_type == "Div" and number is None:
            return own * self._product(left, shape, depth + 1) * Product(divisors=(right,))
        return Product(factors=(name,))

    def sum(self, name: str) -> tuple[float, tuple[str, ...], tuple[Node, ...]]:
        """A value as ``number + terms``, and the node that adds them, if there is one."""
        node = self.maker(name, "Add")
        if node is None:
            return 0.0, (name,), ()
        numbers = [self.number(term) for term in node.inputs]
        terms = tuple(t for t, n in zip(node.inputs, numbers, strict=True) if n is None)
        return sum(n for n in numbers if n is not None), terms, (node,)


@dataclass(frozen=True)
class Found:
    """What a pattern matched.

    Attributes:
        x: name of the value that stands for :data:`X`, ``""`` as long as none does.
        number: what stands for the coefficient that the pattern leaves open.
        nodes: all nodes of the match, the last one first.
    """

    x: str = ""
    number: float | None = None
    nodes: tuple[Node, ...] = ()

    def plus(self, nodes: Sequence[Node]) -> Found:
        """The same with more nodes."""
        return Found(self.x, self.number, (*self.nodes, *nodes))


class Pattern:
    """What a value may be made of."""

    def match(self, makers: Makers, name: str, found: Found) -> Iterator[Found]:
        """All ways in which the value ``name`` fits, given what was found before it."""
        raise NotImplementedError


class _Variable(Pattern):
    def match(self, makers: Makers, name: str, found: Found) -> Iterator[Found]:
        if found.x in ("", name) and makers.number(name) is None:
            yield Found(name, found.number, found.nodes)


X = _Variable()
"""Any value, the same one wherever it stands."""


def _match_all(
    patterns: Sequence[Pattern], names: Sequence[str], makers: Makers, found: Found
) -> Iterator[Found]:
    """All ways in which values fit patterns, in any order."""
    if len(patterns) != len(names):
        return
    for order in dict.fromkeys(itertools.permutations(names)):
        ways = [found]
        for pattern, name in zip(patterns, order, strict=True):
            ways = [more for way in ways for more in pattern.match(makers, name, way)]
        yield from ways


@dataclass(frozen=True)
class Times(Pattern):
    """``coefficient * factors``; a coefficient of None is any number, which is found."""

    coefficient: float | None
    factors: tuple[Pattern, ...]

    def match(self, makers: Makers, name: str, found: Found) -> Iterator[Found]:
        """As :meth:`Pattern.match`."""
        product = makers.product(name)
        if product.divisors:
            return
        if self.coefficient is None:
            found = Found(found.x, product.coefficient, found.nodes)
        elif not makers.is_close(product.coefficient, self.coefficient, name):
            return
        yield from _match_all(self.factors, product.factors, makers, found.plus(product.nodes))


@dataclass(frozen=True)
class Plus(Pattern):
    """``number + terms``."""

    number: float
    terms: tuple[Pattern, ...]

    def match(self, makers: Makers, name: str, found: Found) -> Iterator[Found]:
        """As :meth:`Pattern.match`."""
        number, terms, nodes = makers.sum(name)
        if number == self.number or makers.is_close(number, self.number, name):
            yield from _match_all(self.terms, terms, makers, found.plus(nodes))


@dataclass(frozen=True)
class Call(Pattern):
    """An operator of one argument; ``fits`` says whether its other properties are right."""

    op_type: str
    argument: Pattern
    fits: Callable[[Makers, Node], bool] = field(default=lambda _makers, _node: True)

    def match(self, makers: Makers, name: str, found: Found) -> Iterator[Found]:
        """As :meth:`Pattern.match`."""
        node = makers.maker(name, self.op_type)
        if node is not None and self.fits(makers, node):
            yield from self.argument.match(makers, node.inputs[0], found.plus((node,)))


def number_of(graph: Graph, name: str) -> float | None:
    """The value of a constant number of one element, or None."""
    number = graph.known(name)
    if number is None or number.size != 1 or kind_of(number.dtype) not in "fiu":
        return None
    return float(number.item())


def clip_bounds(graph: Graph, node: Node) -> tuple[float, float] | None:
    """Bounds of a Clip that are constants, or None."""
    if node.version < 11:
        largest = float(np.finfo(np.float32).max)
        low, high = node.attributes.get("min", -largest), node.attributes.get("max", largest)
        return float(np.float32(low)), float(np.float32(high))
    bounds = [-np.inf, np.inf]
    for position, name in enumerate(node.inputs[1:3]):
        if name:
            bound = number_of(graph, name)
            if bound is None:
                return None
            bounds[position] = bound
    return bounds[0], bounds[1]
