"""Chains of elementwise nodes as one node."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from cugraphmodel.ir import Graph, Node, Parameters
from cugraphmodel.ops.elementwise.elementwise import MAX_OPERANDS
from cugraphmodel.ops.elementwise.fused import compose, is_one_step, literal_of
from cugraphmodel.passes.channels_last_rules import ELEMENTWISE
from cugraphmodel.passes.rewrite import replace_nodes

__all__ = ["fuse_elementwise"]

MAX_STEPS = 16
QUANTIZATION = ("QuantizeLinear", "DequantizeLinear")
MAX_RANK = 8
"""Axes that the kernel takes."""

OPERATORS = frozenset(
    {("", op_type) for op_type in ELEMENTWISE}
    | {(domain, name) for domain in ("", "com.microsoft") for name in QUANTIZATION}
    | {("cugraphmodel", "ChannelsLastBatchNormalization")}
)
"""Operators that may be one launch of the elementwise kernel, as (domain, name)."""

LOCAL_MEMORY = frozenset(("Cos", "Sin", "Tan"))
"""Operators whose functions need local memory for large angles."""

CHEAP = frozenset(
    """
    Abs Add And BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil Clip DequantizeLinear
    Div Equal Floor Greater GreaterOrEqual HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less
    LessOrEqual Max Mean Min Mul Neg Not Or PRelu QuantizeLinear Reciprocal Relu Round Shrink Sign
    Softsign Sqrt Sub Sum ThresholdedRelu Where Xor
    """.split()  # noqa: SIM905
)
"""Operators so cheap that each element of a larger tensor may compute again what it repeats."""


def fuse_elementwise(graph: Graph) -> Graph:
    """Fuse elementwise nodes into the one that reads their results.

    Takes: an elementwise node (``OPERATORS``) and, before it, further ones whose results only
    nodes of the chain read and no one needs after them. Such a result has the shape of the last
    one, or a smaller one if its operator is cheap. One of them, of the shape of the last one, may
    be needed by others too, if they come after the chain. A chain reads at most ``MAX_OPERANDS``
    tensors, not counting numbers that depend on no parameter, and has at most ``MAX_STEPS`` nodes.

    Gives: one FusedElementwise in the place of the last node and with its index. Each result is
    rounded to its type as before, so that the bits of what the chain gives are the same.
    """
    chains = _Chains(graph)
    replacements: dict[int, tuple[Sequence[Node], Node]] = {}
    taken: set[int] = set()
    for node in reversed(graph.nodes):
        if id(node) in taken or not chains.may_join(node):
            continue
        members = chains.ending_with(node)
        if len(members) > 1:
            taken.update(map(id, members))
            replacements[id(node)] = (members, chains.fused(members))
    return replace_nodes(graph, replacements)


class _Chains:
    """What may be one chain in a graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._readers = graph.consumers()
        self._kept = frozenset(graph.kept)
        self._place = {id(node): number for number, node in enumerate(graph.nodes)}
        self._position = {
            name: number for number, node in enumerate(graph.nodes) for name in node.outputs if name
        }
        self._may_join: dict[int, bool] = {}
        self._numbers: dict[str, np.generic] = {}

    def may_join(self, node: Node) -> bool:
        """Whether a node is one launch of the elementwise kernel that a chain can contain."""
        if id(node) not in self._may_join:
            self._may_join[id(node)] = self._is_step(node)
        return self._may_join[id(node)]

    def _is_step(self, node: Node) -> bool:
        if (node.domain, node.op_type) not in OPERATORS or node.op_type in LOCAL_MEMORY:
            return False
        shape = self._graph.values[node.outputs[0]].shape
        if len(shape) > MAX_RANK or 0 in shape:
            return False
        return is_one_step(node, self._graph.values)

    def ending_with(self, last: Node) -> list[Node]:
        """The nodes of the longest chain that is found, in order."""
        chains = [self._grown(last, patient=patient) for patient in (False, True)]
        return max(chains, key=len)[::-1]

    def fused(self, members: Sequence[Node]) -> Node:
        """The node that stands for a chain."""
        last = members[-1]
        literals = {
            (position, name): text
            for position, node in enumerate(members)
            for name in filter(None, node.inputs)
            if (text := self._literal(node, name)) is not None
        }
        member_ids = set(map(id, members))
        needed = [node.outputs[0] for node in members[:-1] if self._is_needed(node, member_ids)]
        inputs, chain = compose(members, self._graph.values, literals, *needed)
        return Node(
            "FusedElementwise",
            inputs,
            (*last.outputs, *needed),
            domain="cugraphmodel",
            attributes={"chain": chain},
            name=last.name,
            index=last.index,
        )

    def _grown(self, last: Node, *, patient: bool) -> list[Node]:
        """A chain in reverse order.

        Impatient, it leaves out each node with which it would read too many tensors. Patient, it
        goes on, and is cut off where it last read few enough.
        """
        members, member_ids, num_fitting, num_needed = [last], {id(last)}, 1, 0
        waiting = self._places_before(last)
        heapq.heapify(waiting)
        while waiting and len(members) < MAX_STEPS:
            place = heapq.heappop(waiting)
            node = self._graph.nodes[-place]
            if id(node) in member_ids or not self._fits(node, last):
                continue
            is_needed = self._is_needed(node, member_ids)
            if is_needed and (num_needed or not self._may_be_second(node, last, member_ids)):
                continue
            reads_few = self._num_inputs([*members, node]) <= MAX_OPERANDS
            if not reads_few and not patient:
                continue
            members.append(node)
            member_ids.add(id(node))
            num_needed += is_needed
            num_fitting = len(members) if reads_few else num_fitting
            for earlier in self._places_before(node):
                heapq.heappush(waiting, earlier)
        return members[:num_fitting]

    def _places_before(self, node: Node) -> list[int]:
        """Positions, negative, of the nodes whose results a node reads."""
        return [-self._position[name] for name in node.inputs if name in self._position]

    def _fits(self, node: Node, last: Node) -> bool:
        """Whether a node can be a step, and its elements are made once or are cheap."""
        return self.may_join(node) and (
            self._shape(node) == self._shape(last) or node.op_type in CHEAP
        )

    def _shape(self, node: Node) -> tuple[int, ...]:
        return self._graph.values[node.outputs[0]].shape

    def _is_needed(self, node: Node, member_ids: set[int]) -> bool:
        """Whether something outside the chain needs a node's result."""
        (result,) = node.outputs
        return result in self._kept or not all(
            id(reader) in member_ids for reader in self._readers[result]
        )

    def _may_be_second(self, node: Node, last: Node, member_ids: set[int]) -> bool:
        """Whether a chain can give a node's result as well, in time for those that need it."""
        outside = [r for r in self._readers[node.outputs[0]] if id(r) not in member_ids]
        return self._shape(node) == self._shape(last) and all(
            self._place[id(reader)] > self._place[id(last)] for reader in outside
        )

    def _num_inputs(self, members: Sequence[Node]) -> int:
        made = {name for node in members for name in node.outputs}
        read = {
            name
            for node in members
            for name in filter(None, node.inputs)
            if name not in made and self._literal(node, name) is None
        }
        return len(read)

    def _literal(self, node: Node, name: str) -> str | None:
        """What stands for a number that depends on no parameter.

        Not for those of a Pow, which a compiler that knows them computes in other ways; but squares
        are products in any case.
        """
        constant = self._graph.constants.get(name)
        if constant is None or constant.params or constant.type.size != 1:
            return None
        if all(read in self._graph.constants for read in filter(None, node.inputs)):
            return None
        if name not in self._numbers:
            self._numbers[name] = constant.compute(Parameters({})).reshape(1)[0]
        number = self._numbers[name]
        if node.op_type == "Pow" and not (node.inputs[1] == name and number == 2):
            return None
        return literal_of(number)
