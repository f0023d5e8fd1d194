"""Copies that only repeat a tensor for nodes that repeat it themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from cugraphmodel.ir import Graph, Node, TensorType, Value
from cugraphmodel.ops.arguments import ints_of
from cugraphmodel.ops.spec import Unsupported, find
from cugraphmodel.passes.channels_last_rules import ELEMENTWISE, REDUCTIONS

__all__ = ["drop_expand"]


def drop_expand(graph: Graph) -> Graph:
    """Let nodes read what an Expand repeats, before it is repeated.

    Takes: an Expand, and after it elementwise nodes, which broadcast, and reductions over axes that
    it leaves as they are. A result that repeats as a whole is made once, and counts as the result
    of an Expand in its turn. A reduction adds the same numbers, if not always in the same order.

    Gives: the graph with an Expand only where something else needs the repeated tensor; as it was
    if that does not make it fewer nodes.
    """
    changed = _Rewriting(graph).run()
    return changed if len(changed.nodes) < len(graph.nodes) else graph


@dataclass
class _Rewriting:
    """A graph on its way to fewer copies.

    Attributes:
        nodes, values: those of the new graph, so far.
        small: name of a value that is repeated -> name of what it repeats.
    """

    graph: Graph
    nodes: list[Node] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    small: dict[str, str] = field(default_factory=dict)

    def run(self) -> Graph:
        """The new graph."""
        self.values.update(self.graph.values)
        self._suffix = " (not repeated)"
        while any(name.endswith(self._suffix) for name in self.values):
            self._suffix += " "
        self._missing: set[str] = set()
        for node in self.graph.nodes:
            if self._is_expand(node):
                self._defer(node.outputs[0], self.small.get(node.inputs[0], node.inputs[0]))
            elif not self._shrink(node):
                self._need(node.inputs)
                self.nodes.append(node)
        self._need(self.graph.kept)
        values = {name: value for name, value in self.values.items() if name not in self._missing}
        return self.graph.replace(nodes=tuple(self.nodes), values=values)

    def _is_expand(self, node: Node) -> bool:
        is_one = not node.domain and node.op_type == "Expand"
        return is_one and self.graph.values[node.outputs[0]].size > 0

    def _defer(self, name: str, source: str) -> None:
        """A value is not made, unless something needs it."""
        self.small[name] = source
        self._missing.add(name)

    def _need(self, names: Iterable[str]) -> None:
        """See that values are there from here on."""
        for name in names:
            if name in self._missing:
                self._missing.remove(name)
                shape = np.array(self.values[name].shape, np.int64)
                source = self.small[name]
                self.nodes.append(
                    Node("Expand", (source, ""), (name,), version=13, host_values={1: shape})
                )

    def _shrink(self, node: Node) -> bool:
        """Add a node that reads what its inputs repeat, if there is one that does as well."""
        if node.domain or not any(name in self.small for name in node.inputs):
            return False
        inputs = tuple(self.small.get(name, name) for name in node.inputs)
        result = self._result(node, inputs)
        if result is None:
            return False
        (name,) = node.outputs
        if result.shape == self.values[name].shape:
            self.nodes.append(replace(node, inputs=inputs))
            return True
        smaller = name + self._suffix
        self.values[smaller] = Value(result.dtype, result.shape, smaller)
        self.nodes.append(replace(node, inputs=inputs, outputs=(smaller,)))
        self._defer(name, smaller)
        return True

    def _result(self, node: Node, inputs: tuple[str, ...]) -> TensorType | None:
        """What the node makes of these inputs, if its own result is that, repeated."""
        if node.op_type in REDUCTIONS:
            axes = ints_of(node, "axes", 1)
            small, full = (self.values[name].shape for name in (inputs[0], node.inputs[0]))
            if not axes or len(small) != len(full):
                return None
            if any(small[axis] != full[axis] for axis in axes):
                return None
        elif node.op_type not in ELEMENTWISE:
            return None
        spec = find(node.domain, node.op_type, node.version)
        assert spec is not None  # the front let only known operators pass
        try:
            values = [self.values[name] if name else None for name in inputs]
            (result,) = spec.infer(replace(node, inputs=inputs), values)
        except Unsupported:  # the slope of a PRelu does not repeat its input
            return None
        return result
