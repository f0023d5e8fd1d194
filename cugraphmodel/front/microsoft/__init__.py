"""Operators of ONNX Runtime (domain ``com.microsoft``), each written as operators of the standard.

Exporters and ONNX Runtime's optimizer leave these in files. A composition has no kernel of its own;
the passes that fuse what a model writes out fuse what is written out here too. An operator with a
kernel of its own never comes here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cugraphmodel.front.microsoft import attention, grouped_attention, layers, products, quantized
from cugraphmodel.front.microsoft.composer import MICROSOFT, Composer, Refused

if TYPE_CHECKING:
    from cugraphmodel.front.tracer import Scope, Tracer
    from cugraphmodel.ir import Node

__all__ = ["COMPOSED", "MICROSOFT"]


def _follow(
    compose: Callable[[Composer], Sequence[str]], tracer: Tracer, node: Node, _scope: Scope
) -> Sequence[str]:
    start = len(tracer.nodes)
    try:
        results = compose(Composer(tracer, node))
    except Refused:  # reported with the part that cannot run
        tracer.unknown.update(filter(None, node.outputs))
        return node.outputs
    asked = zip(node.outputs, results, strict=False)
    _drop_unread(tracer.nodes, start, {result for name, result in asked if name})
    return results


def _drop_unread(nodes: list[Node], start: int, wanted: set[str]) -> None:
    """Take out what nobody reads among the nodes from ``start`` on."""
    for position in range(len(nodes) - 1, start - 1, -1):
        if wanted.intersection(nodes[position].outputs):
            wanted.update(nodes[position].inputs)
        else:
            del nodes[position]


COMPOSED: Mapping[tuple[str, str], Callable[[Tracer, Node, Scope], Sequence[str]]] = {
    key: partial(_follow, compose)
    for module in (attention, grouped_attention, layers, products, quantized)
    for key, compose in module.OPERATORS.items()
}
"""Domain and operator -> how to go on inside it."""
