"""Nodes that only rename a value."""

from __future__ import annotations

from dataclasses import replace

from cugraphmodel.ir import Graph, Node

__all__ = ["drop_identity"]


def drop_identity(graph: Graph) -> Graph:
    """Let readers of an Identity read what it reads.

    Takes: an Identity, or a Dropout (at inference) without mask, whose output is not needed after
    the last node. It launches nothing, but stands between nodes that other passes make one of.

    Gives: the graph without it.
    """
    kept = set(graph.kept)
    source_of: dict[str, str] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = tuple(source_of.get(name, name) for name in node.inputs)
        if _is_identity(node) and node.outputs[0] not in kept:
            source_of[node.outputs[0]] = inputs[0]
        else:
            nodes.append(node if inputs == node.inputs else replace(node, inputs=inputs))
    values = {name: value for name, value in graph.values.items() if name not in source_of}
    return graph.replace(nodes=tuple(nodes), values=values)


def _is_identity(node: Node) -> bool:
    is_one = not node.domain and node.op_type in ("Identity", "Dropout")
    return is_one and not any(node.outputs[1:])
