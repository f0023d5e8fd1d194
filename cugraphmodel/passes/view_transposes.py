"""Transposes that move no byte."""

from __future__ import annotations

from dataclasses import replace

from cugraphmodel.ir import Graph, Node
from cugraphmodel.passes.twins import reshape

__all__ = ["view_transposes"]


def view_transposes(graph: Graph) -> Graph:
    """Make a Reshape, which is a view, of each Transpose that keeps the order of the elements.

    Takes: a Transpose that only moves axes of size 1, as where a model puts the batch second.

    Gives: a Reshape that has its output and its index.
    """
    nodes = tuple(
        _as_view(graph, node) if _moves_nothing(graph, node) else node for node in graph.nodes
    )
    return graph.replace(nodes=nodes)


def _moves_nothing(graph: Graph, node: Node) -> bool:
    if (node.domain, node.op_type) != ("", "Transpose"):
        return False
    shape = graph.values[node.inputs[0]].shape
    order = node.attributes.get("perm") or range(len(shape))[::-1]
    long_axes = [axis for axis in order if shape[axis] != 1]
    return long_axes == sorted(long_axes)


def _as_view(graph: Graph, node: Node) -> Node:
    view = reshape(node.inputs[0], node.outputs[0], graph.values[node.outputs[0]].shape)
    return replace(view, name=node.name, index=node.index)
