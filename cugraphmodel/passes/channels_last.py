"""Regions around convolutions whose tensors lie channels-last: [N, *spatial, C] in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cugraphmodel.ir import Constant, Graph, Node, Value
from cugraphmodel.passes.channels_last_rules import RULES
from cugraphmodel.passes.twins import (
    Conversion,
    Twins,
    from_last,
    is_same_bytes,
    reshape,
    to_last,
)

__all__ = ["channels_last"]


def channels_last(graph: Graph) -> Graph:
    """Convert regions of a graph to channels-last.

    Takes: a Conv or FusedConv with constant weights, and what follows from it by nodes that have a
    rule (``channels_last_rules.py``).

    Gives: for each such node one on the twins of its tensors, values [N, *spatial, C] of their own.
    Whatever else reads such a tensor, and the graph's outputs, get it from its twin by one
    Transpose, or a Reshape where the bytes are the same; likewise a twin of a tensor that no
    converted node makes. Names, shapes and values of outputs stay. Weights are permuted constants
    derived from the same parameters.

    A region, all nodes that twins connect, is converted if its convolutions of at least 4 channels
    a group are more than the transposes it takes and move more bytes than these.
    """
    twins = Twins(graph)
    conversions: dict[int, Conversion] = {}
    for node in graph.nodes:
        rule = RULES.get((node.domain, node.op_type))
        conversion = rule(twins, node) if rule is not None else None
        if conversion is not None:
            twins.add((*conversion.reads, *conversion.makes))
            conversions[id(node)] = conversion
    worthwhile = _worthwhile(graph, twins, conversions)
    return _Rewriting(graph, twins, worthwhile).run() if worthwhile else graph


def _needed(graph: Graph, twins: Twins, conversions: Mapping[int, Conversion]) -> list[Node]:
    """The nodes without those whose results only nodes read that no longer do when converted."""
    read = set(graph.kept)
    needed: list[Node] = []
    for node in reversed(graph.nodes):
        if read.isdisjoint(node.outputs):
            continue
        needed.append(node)
        conversion = conversions.get(id(node))
        if conversion is not None:
            read.update(twins.source(name) or name for name in conversion.reads)
        read.update(_plain_inputs(node, conversion))
    return needed[::-1]


def _plain_inputs(node: Node, conversion: Conversion | None) -> set[str]:
    """What a node, or what stands for it, reads; twins and its own inner values are among it."""
    parts = (node,) if conversion is None else conversion.nodes
    return {name for part in parts for name in part.inputs if name}


@dataclass
class _Region:
    """What speaks for converting a region, and what against it."""

    num_convs: int = 0
    conv_bytes: int = 0
    num_transposes: int = 0
    transpose_bytes: int = 0

    @property
    def pays(self) -> bool:
        return self.num_convs > self.num_transposes and self.conv_bytes > self.transpose_bytes


def _worthwhile(
    graph: Graph, twins: Twins, conversions: Mapping[int, Conversion]
) -> dict[int, Conversion]:
    """The conversions of the regions that pay."""
    region_of = _regions(conversions)
    made = {name for conversion in conversions.values() for name in conversion.makes}
    read_plain = set(graph.kept)
    for node in _needed(graph, twins, conversions):
        read_plain |= _plain_inputs(node, conversions.get(id(node)))
    regions: dict[str, _Region] = {root: _Region() for root in region_of.values()}
    for conversion in conversions.values():
        if conversion.conv_bytes:
            region = regions[region_of[(*conversion.makes, *conversion.reads)[0]]]
            region.num_convs += 1
            region.conv_bytes += conversion.conv_bytes
    for name, root in region_of.items():
        is_entry = name not in made
        is_free = is_same_bytes(twins.shape(name)) or (is_entry and twins.source(name) is not None)
        if (is_entry or name in read_plain) and not is_free:
            regions[root].num_transposes += 1
            regions[root].transpose_bytes += 2 * graph.values[name].num_bytes
    return {
        number: conversion
        for number, conversion in conversions.items()
        if regions[region_of[(*conversion.makes, *conversion.reads)[0]]].pays
    }


def _regions(conversions: Mapping[int, Conversion]) -> dict[str, str]:
    """Name of each tensor with a twin -> one name for all of its region."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for conversion in conversions.values():
        first, *others = (*conversion.makes, *conversion.reads)
        for other in others:
            parent[root(other)] = root(first)
        root(first)
    return {name: root(name) for name in list(parent)}


@dataclass
class _Rewriting:
    """A graph on its way from plain tensors to twins.

    Attributes:
        nodes, values, constants: those of the new graph, so far.
    """

    graph: Graph
    twins: Twins
    conversions: Mapping[int, Conversion]
    nodes: list[Node] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)

    def run(self) -> Graph:
        """The new graph."""
        self.values.update(self.graph.values)
        self.constants.update(self.graph.constants)
        self._made = {name for conversion in self.conversions.values() for name in conversion.makes}
        for node in _needed(self.graph, self.twins, self.conversions):
            conversion = self.conversions.get(id(node))
            if conversion is None:
                self._need_plain(node.inputs)
                self.nodes.append(node)
            else:
                self._convert(conversion)
        self._need_plain(self.graph.kept)
        used = {*self.graph.inputs, *self.graph.kept, *self.graph.state, *self.constants}
        used.update(name for node in self.nodes for name in (*node.inputs, *node.outputs))
        values = {name: value for name, value in self.values.items() if name in used}
        return self.graph.replace(nodes=tuple(self.nodes), values=values, constants=self.constants)

    def _convert(self, conversion: Conversion) -> None:
        for name in conversion.reads:
            self._need_twin(name)
        for node in conversion.nodes:
            self._need_plain(node.inputs)
        for name, constant in conversion.constants.items():
            self.constants[name] = constant
            self.values[name] = Value(constant.type.dtype, constant.type.shape, name)
        for name, inner in conversion.inner.items():
            self.values[name] = Value(inner.dtype, inner.shape, name)
        for name in conversion.makes:
            self._add_twin(name)
        self.nodes += conversion.nodes

    def _add_twin(self, name: str) -> str:
        """Declare the twin of a value; its name."""
        value, twin = self.graph.values[name], self.twins.name(name)
        self.values[twin] = Value(value.dtype, to_last(value.shape), twin)
        return twin

    def _need_twin(self, name: str) -> None:
        """See that a value has a twin from here on."""
        if self.twins.name(name) in self.values:
            return
        twin, source = self._add_twin(name), self.twins.source(name)
        shape = self.graph.values[name].shape
        self._need_plain([source or name])
        if source is not None:
            self.nodes.append(Node("Identity", (source,), (twin,), version=13))
        elif is_same_bytes(shape):
            self.nodes.append(reshape(name, twin, to_last(shape)))
        else:
            self.nodes.append(_transpose(name, twin, to_last(range(len(shape)))))

    def _need_plain(self, names: Iterable[str]) -> None:
        """See that values which had only twins are there themselves from here on."""
        for name in names:
            if name not in self._made:
                continue
            self._made.remove(name)
            shape, twin = self.graph.values[name].shape, self.twins.name(name)
            if is_same_bytes(shape):
                self.nodes.append(reshape(twin, name, shape))
            else:
                self.nodes.append(_transpose(twin, name, from_last(range(len(shape)))))


def _transpose(source: str, target: str, permutation: Iterable[int]) -> Node:
    return Node("Transpose", (source,), (target,), version=13, attributes={"perm": [*permutation]})
