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
    try:
        return compose(Composer(tracer, node))
    except Refused:  # reported with the part that cannot run
        tracer.unknown.update(filter(None, node.outputs))
        return node.outputs


COMPOSED: Mapping[tuple[str, str], Callable[[Tracer, Node, Scope], Sequence[str]]] = {
    key: partial(_follow, compose)
    for module in (attention, grouped_attention, layers, products, quantized)
    for key, compose in module.OPERATORS.items()
}
"""Domain and operator -> how to go on inside it."""
