"""How a graph spells out attention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import BFLOAT16
from cugraphmodel.ir import Graph, Node
from cugraphmodel.passes.views import Factors, Views

__all__ = ["Probabilities", "Scores", "Search", "probabilities_of", "scores_of"]

Array = npt.NDArray[Any]
CAST_DTYPES = {np.dtype(np.float16), BFLOAT16, np.dtype(np.float32)}
MAX_BIASES = 2
VIEWS = ("Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Dropout")


@dataclass(frozen=True)
class Scores:
    """How the input of a softmax comes about, from a product of queries and keys.

    Attributes:
        product: the MatMul.
        factors: what its result is multiplied by.
        caps: if there is a tanh, what that is multiplied by.
        keep, keep_where, fill: a Where's condition, the value of it that keeps a score, and what
            takes the place of the others.
        keep_shape: of the scores where that is done.
        biases: what is added, first one, then the other, each with the shape of the scores there.
    """

    product: Node
    factors: Factors = ()
    caps: Factors | None = None
    keep: str = ""
    keep_where: bool = True
    fill: str = ""
    keep_shape: tuple[int, ...] = ()
    biases: tuple[tuple[str, tuple[int, ...]], ...] = ()


@dataclass(frozen=True)
class Probabilities:
    """What becomes of the output of a softmax.

    Attributes:
        product: the MatMul with the values.
        nan_to_zero: whether NaN is replaced by 0.
        zero_where: what says, or ``""``, which rows are replaced by 0.
        turned: whether that is the transpose, of values [width, keys] with [keys, rows].
    """

    product: Node
    nan_to_zero: bool
    zero_where: str
    turned: bool


@dataclass
class Search:
    """A graph, and who makes and reads its values."""

    graph: Graph
    views: Views = field(init=False)
    readers: dict[str, list[Node]] = field(init=False)

    def __post_init__(self) -> None:
        self.views = Views(self.graph)
        self.readers = self.graph.consumers()

    def only_reader(self, name: str) -> Node | None:
        """The one node that needs a value itself, not just its dtype."""
        found = [node for node in self.readers[name] if not self._wants_dtype(node, name)]
        return found[0] if len(found) == 1 and name not in self.graph.kept else None

    def is_needed(self, name: str) -> bool:
        """Whether a value is read, or given back."""
        return bool(self.readers[name]) or name in self.graph.kept

    def _wants_dtype(self, node: Node, name: str) -> bool:
        return node.op_type == "CastLike" and node.inputs[0] != name

    def is_passed_on(self, node: Node) -> bool:
        """Whether a node gives its input's elements in rows as long.

        A Cast between 16-bit floats and single precision counts.
        """
        others = [name for name in node.outputs[1:] if name]
        if node.domain or not node.inputs or any(map(self.is_needed, others)):
            return False
        source, target = (self.graph.values[name] for name in (node.inputs[0], node.outputs[0]))
        if node.op_type in ("Cast", "CastLike"):
            dtypes = {source.dtype, target.dtype}
            return len(dtypes) == 1 or (np.dtype(np.float32) in dtypes and dtypes <= CAST_DTYPES)
        return node.op_type in VIEWS and source.shape[-1:] == target.shape[-1:]

    def swaps_last(self, node: Node) -> bool:
        """Whether a node is a Transpose of each matrix."""
        rank = len(self.graph.values[node.inputs[0]].shape)
        order = node.attributes.get("perm") or [*range(rank)][::-1]
        swapped = [*range(rank - 2), rank - 1, rank - 2]
        return (node.domain, node.op_type) == ("", "Transpose") and [*order] == swapped

    def scalar(self, name: str) -> bool:
        """Whether a value is a constant of one element."""
        constant = self.graph.constants.get(name)
        return constant is not None and constant.type.size == 1

    def known(self, name: str) -> Array | None:
        """A constant that may be built into a node, possibly cast to the dtype of another value."""
        while (node := self.views.producer(name)) is not None:
            if node.op_type not in ("Cast", "CastLike", "Identity"):
                return None
            name = node.inputs[0]
        return self.graph.known(name)

    def is_known_as(self, name: str, number: float) -> bool:
        """Whether a value is known to be that number everywhere."""
        array = self.known(name)
        return array is not None and bool((array.astype(np.float64) == number).all())


# ---- The way from the first product to the softmax, backwards


def scores_of(search: Search, name: str) -> Iterator[Scores]:
    """The ways to read what makes the input of a softmax."""
    node = search.views.producer(name)
    if node is None or node.domain or search.only_reader(name) is None:
        return
    shape = search.graph.values[node.outputs[0]].shape
    if node.op_type == "MatMul":
        yield Scores(node)
    elif search.is_passed_on(node):
        yield from scores_of(search, node.inputs[0])
    elif node.op_type == "Add":
        for side in (0, 1):
            for found in _scores_on(search, node, side):
                if len(found.biases) < MAX_BIASES:
                    bias = (node.inputs[1 - side], shape)
                    yield replace(found, biases=(*found.biases, bias))
    elif node.op_type == "Where":
        for side in (1, 2):
            if search.scalar(node.inputs[3 - side]):
                for found in _scores_on(search, node, side):
                    if not found.biases and not found.keep:
                        yield replace(
                            found, keep=node.inputs[0], keep_where=side == 1,
                            fill=node.inputs[3 - side], keep_shape=shape,
                        )  # fmt: skip
    elif node.op_type == "Tanh":
        for found in scores_of(search, node.inputs[0]):
            if not found.biases and not found.keep and found.caps is None:
                yield replace(found, caps=())
    elif node.op_type in ("Mul", "Div"):
        for side in (0, 1) if node.op_type == "Mul" else (0,):
            if search.scalar(node.inputs[1 - side]):
                factor = (node.inputs[1 - side], 1 if node.op_type == "Mul" else -1)
                for found in _scores_on(search, node, side):
                    if found.biases or found.keep:
                        continue
                    if found.caps is None:
                        yield replace(found, factors=(*found.factors, factor))
                    else:
                        yield replace(found, caps=(*found.caps, factor))


def _scores_on(search: Search, node: Node, side: int) -> Iterator[Scores]:
    """The same for one input of a node whose other inputs do not make it larger."""
    values = search.graph.values
    if values[node.inputs[side]].shape == values[node.outputs[0]].shape:
        yield from scores_of(search, node.inputs[side])


# ---- The way from the softmax to the second product


def probabilities_of(search: Search, softmax: Node) -> Probabilities | None:
    """What becomes of the output of a softmax, if it weighs values in the end."""
    name, nan_to_zero, zero_where, turned = softmax.outputs[0], False, "", False
    while True:
        node = search.only_reader(name)
        if turned and (node is None or node.op_type != "MatMul"):
            return None
        if node is None:
            node = _nan_to_zero(search, name)
            if node is None:
                return None
            nan_to_zero = True
        elif (node.domain, node.op_type) == ("", "Where") and node.inputs[2] == name:
            if zero_where or not search.is_known_as(node.inputs[1], 0):
                return None
            zero_where = node.inputs[0]
        elif (node.domain, node.op_type) == ("", "MatMul"):
            fits = node.inputs[turned] == name and not (zero_where and nan_to_zero)
            return Probabilities(node, nan_to_zero, zero_where, turned) if fits else None
        elif search.swaps_last(node):
            turned = True
        elif not search.is_passed_on(node):
            return None
        name = node.outputs[0]


def _nan_to_zero(search: Search, name: str) -> Node | None:
    """``Where(IsNaN(x), 0, x)`` of a value that nothing else needs."""
    readers = {node.op_type: node for node in search.readers[name]}
    if len(search.readers[name]) != 2 or set(readers) != {"IsNaN", "Where"}:
        return None
    where = readers["Where"]
    fits = where.inputs[0] == readers["IsNaN"].outputs[0] and where.inputs[2] == name
    kept = name in search.graph.kept
    return where if fits and not kept and search.is_known_as(where.inputs[1], 0) else None
