"""Normalisations that add two tensors themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from cugraphmodel.ir import Graph, Node
from cugraphmodel.ops.reduce.geometry import MAX_HELD_ROW
from cugraphmodel.passes.rewrite import is_sum_of_a_shape, replace_nodes

__all__ = ["fuse_add_norm"]

FUSED = {
    "LayerNormalization": "AddLayerNormalization",
    "RMSNormalization": "AddRMSNormalization",
}


def fuse_add_norm(graph: Graph) -> Graph:
    """Fuse the Add of two tensors of one shape into the normalisation after it.

    Takes: an Add, or a Sum of two, of floats of one shape, whose result a LayerNormalization or
    RMSNormalization over its last axes reads, with constant scale and bias and no output but the
    first. Others may read the sum as well.

    Gives: one node with the normalisation's index in the place of the Add. It gives the sum as its
    output 1 if the sum is needed.
    """
    readers = graph.consumers()
    kept = frozenset(graph.kept)
    replacements: dict[int, tuple[Sequence[Node], Node]] = {}
    for add in graph.nodes:
        if not is_sum_of_a_shape(graph, add):
            continue
        (total,) = add.outputs
        norm = next((node for node in readers[total] if _takes_in(graph, node, total)), None)
        if norm is None:
            continue
        is_needed = total in kept or len(readers[total]) > 1
        fused = replace(
            norm,
            op_type=FUSED[norm.op_type],
            domain="cugraphmodel",
            version=1,
            inputs=(*add.inputs, *norm.inputs[1:]),
            outputs=(norm.outputs[0], total) if is_needed else norm.outputs[:1],
        )
        replacements[id(add)] = ((add, norm), fused)
    return replace_nodes(graph, replacements)


def _takes_in(graph: Graph, node: Node, total: str) -> bool:
    shape = graph.values[total].shape
    axis = int(node.attributes.get("axis", -1))
    return (
        not node.domain
        and node.op_type in FUSED
        and node.inputs[0] == total
        and not any(node.outputs[1:])
        and all(name in graph.constants for name in node.inputs[1:] if name)
        and math.prod(shape[axis:]) <= MAX_HELD_ROW
    )
