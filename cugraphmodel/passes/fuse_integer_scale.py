"""Integer products that give floats themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cugraphmodel.ir import Graph, Node
from cugraphmodel.passes.rewrite import Uses, replace_nodes

__all__ = ["fuse_integer_scale"]

FUSED = {"MatMulInteger": "FusedMatMulInteger", "ConvInteger": "FusedConvInteger"}
FLOAT32_CODE = 1


def fuse_integer_scale(graph: Graph) -> Graph:
    """Fuse what a dynamically quantised layer does with its int32 sums into the product.

    Takes: a MatMulInteger or ConvInteger whose sums only a Cast to float32 reads, whose result only
    a Mul by a scale reads: one number, or for a MatMul one for each column. Where the scale is
    itself a product of two that only this Mul reads, that Mul too. Then, if there is one, an Add of
    one number for each column or filter, if nothing else reads the Mul's result.

    Gives: one FusedMatMulInteger or FusedConvInteger in the place of the last of them, with the
    bits that they would give, and the index of the product.
    """
    uses = Uses(graph)
    makers = {name: node for node in graph.nodes for name in node.outputs if name}
    replacements: dict[int, tuple[Sequence[Node], Node]] = {}
    for node in graph.nodes:
        if node.domain or node.op_type not in FUSED:
            continue
        cast = _reader(uses, node, "Cast")
        if cast is None or cast.attributes.get("to") != FLOAT32_CODE:
            continue
        scaling = _reader(uses, cast, "Mul")
        scale = _other(scaling, cast) if scaling else ""
        if scaling is None or not _is_scale(graph, node, scale, scaling):
            continue
        scales, chain = ("", scale), [node, cast, scaling]
        maker = makers.get(scale)
        if maker is not None and _multiplies_scales(graph, uses, node, maker, scaling):
            scales = _ordered(graph, maker)
            chain.insert(0, maker)
        bias, last = "", scaling
        adding = _reader(uses, scaling, "Add")
        if adding is not None and _is_bias(graph, node, _other(adding, scaling), adding):
            bias, last = _other(adding, scaling), adding
            chain.append(adding)
        zero_points = (*node.inputs[2:], "", "")[:2]
        fused = replace(
            node,
            op_type=FUSED[node.op_type],
            domain="cugraphmodel",
            version=1,
            inputs=(*node.inputs[:2], *scales, *zero_points, bias),
            outputs=last.outputs,
        )
        replacements[id(last)] = (chain, fused)
    return replace_nodes(graph, replacements)


def _reader(uses: Uses, node: Node, op_type: str) -> Node | None:
    """The only reader of a node's output, if it is this standard operator and reads it once."""
    reader = uses.only_reader(node.outputs[0])
    if reader is None or (reader.domain, reader.op_type) != ("", op_type):
        return None
    return reader if reader.inputs.count(node.outputs[0]) == 1 else None


def _other(node: Node, operand: Node) -> str:
    """The input of a node with two that does not come from ``operand``."""
    return node.inputs[1] if node.inputs[0] == operand.outputs[0] else node.inputs[0]


def _is_scale(graph: Graph, product: Node, name: str, reader: Node) -> bool:
    """Whether a Mul by it, or by something of its shape, scales the product's columns."""
    scale, result = graph.values[name], graph.values[reader.outputs[0]]
    if scale.dtype != np.float32 or len(scale.shape) > len(result.shape):
        return False
    return scale.size == 1 or (
        product.op_type == "MatMulInteger"
        and len(graph.values[product.inputs[1]].shape) > 1
        and scale.shape == result.shape[-1:]
    )


def _multiplies_scales(graph: Graph, uses: Uses, product: Node, maker: Node, scaling: Node) -> bool:
    """Whether the scale is one number times another, or times one for each column."""
    return (
        (maker.domain, maker.op_type) == ("", "Mul")
        and uses.only_reader(maker.outputs[0]) is scaling
        and all(_is_scale(graph, product, name, scaling) for name in maker.inputs)
        and any(graph.values[name].size == 1 for name in maker.inputs)
    )


def _ordered(graph: Graph, maker: Node) -> tuple[str, str]:
    """Its two scales, the one for each column last."""
    first, second = maker.inputs
    return (first, second) if graph.values[first].size == 1 else (second, first)


def _is_bias(graph: Graph, product: Node, name: str, adding: Node) -> bool:
    bias, result = graph.values[name], graph.values[adding.outputs[0]]
    if bias.dtype != np.float32 or not bias.shape or len(bias.shape) > len(result.shape):
        return False
    axis = -1
    if product.op_type == "ConvInteger":
        axis = 1 - len(result.shape)
    elif len(graph.values[product.inputs[1]].shape) < 2:
        return False
    return len(bias.shape) >= -axis and bias.shape[axis] == bias.size == result.shape[axis]
