"""Convolutions and matrix products that add another tensor themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cugraphmodel.ir import Graph, Node
from cugraphmodel.passes.rewrite import FUSED_OPS, Uses, is_sum_of_a_shape, replace_nodes

__all__ = ["fuse_residual"]


def fuse_residual(graph: Graph) -> Graph:
    """Fuse the Add of a tensor of the same shape into the Conv, Gemm or MatMul before it.

    Takes: an Add, or a Sum of two, of floats of one shape, where one operand is the result of a
    Conv, Gemm or MatMul, fused or not, that has no residual and no activation, and nothing else
    needs that result. If both are, the later one takes in the other.

    Gives: one fused node with the other operand as its input 3, in the place of the Add and with
    the first one's index.
    """
    uses = Uses(graph)
    position = {name: i for i, node in enumerate(graph.nodes) for name in node.outputs if name}
    replacements: dict[int, tuple[Sequence[Node], Node]] = {}
    for add in graph.nodes:
        if not is_sum_of_a_shape(graph, add):
            continue
        for name in sorted(set(add.inputs), key=lambda name: -position.get(name, -1)):
            if name not in position or uses.only_reader(name) is not add:
                continue
            node = graph.nodes[position[name]]
            if _can_take_in(node):
                (other,) = (operand for operand in add.inputs if operand != name)
                fused = replace(
                    node,
                    op_type=FUSED_OPS[node.domain, node.op_type],
                    domain="cugraphmodel",
                    version=1,
                    inputs=(*(*node.inputs, "", "")[:3], other),
                    outputs=add.outputs,
                )
                replacements[id(add)] = ((node, add), fused)
                break
    return replace_nodes(graph, replacements)


def _can_take_in(node: Node) -> bool:
    return (
        (node.domain, node.op_type) in FUSED_OPS
        and "activation" not in node.attributes
        and not any(node.inputs[3:])
    )
