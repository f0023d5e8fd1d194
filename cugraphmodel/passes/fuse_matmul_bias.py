"""Matrix products that add a constant row themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cugraphmodel.ir import Graph, Node
from cugraphmodel.passes.rewrite import Uses, replace_nodes

__all__ = ["fuse_matmul_bias"]


def fuse_matmul_bias(graph: Graph) -> Graph:
    """Fuse an Add of one constant for each column into the MatMul before it.

    Takes: a MatMul whose right operand is no vector and whose product only an Add reads, with a
    constant that has one element for each column, where the product is no output of the graph.

    Gives: one FusedMatMul that writes the sum and has the MatMul's index.
    """
    uses = Uses(graph)
    replacements: dict[int, tuple[Sequence[Node], Node]] = {}
    for node in graph.nodes:
        if (node.domain, node.op_type) != ("", "MatMul"):
            continue
        add = uses.only_reader(node.outputs[0])
        if add is None or (add.domain, add.op_type) != ("", "Add"):
            continue
        bias = add.inputs[1] if add.inputs[0] == node.outputs[0] else add.inputs[0]
        if bias in graph.constants and _is_row(graph, node, bias):
            fused = replace(
                node,
                op_type="FusedMatMul",
                domain="cugraphmodel",
                version=1,
                inputs=(*node.inputs, bias),
                outputs=add.outputs,
            )
            replacements[id(node)] = ((node, add), fused)
    return replace_nodes(graph, replacements)


def _is_row(graph: Graph, matmul: Node, bias: str) -> bool:
    right, product = graph.values[matmul.inputs[1]], graph.values[matmul.outputs[0]]
    value = graph.values[bias]
    return (
        len(right.shape) > 1
        and 1 <= len(value.shape) <= len(product.shape)
        and value.shape[-1] == value.size == right.shape[-1]
    )
