"""Matrix products and convolutions that run on tensor cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cugraphmodel.ir import Graph, Node
from cugraphmodel.ops.conv.channels_last import conv_fits_tensor_cores
from cugraphmodel.ops.matmul.matmul import matrix_product
from cugraphmodel.ops.matmul.tensor_core import Arithmetic, fits_tensor_cores
from cugraphmodel.passes.rewrite import add_constant, replace_nodes, transposed

__all__ = ["use_tensor_cores"]

PRODUCTS = {
    ("", "MatMul"): "FusedMatMul",
    ("cugraphmodel", "FusedMatMul"): "FusedMatMul",
    ("", "Gemm"): "FusedGemm",
    ("cugraphmodel", "FusedGemm"): "FusedGemm",
}


def use_tensor_cores(graph: Graph, arithmetics: Mapping[str, Arithmetic]) -> Graph:
    """Give matrix products and convolutions to tensor cores.

    Takes: a MatMul or Gemm, fused or not, or a ChannelsLastConv, of a dtype that ``arithmetics``
    names, which the kernels cover. The right operand of a product must have the depth inside, or
    be a constant matrix.

    Gives: the fused form with the attribute ``arithmetic``, of the transposed constant where the
    depth was outside. Index and outputs stay.

    Args:
        graph: after all fusions.
        arithmetics: name of a dtype -> how its products are computed.
    """
    replacements: dict[int, tuple[Sequence[Node], Node]] = {}
    for node in graph.nodes:
        is_conv = (node.domain, node.op_type) == ("cugraphmodel", "ChannelsLastConv")
        if not is_conv and (node.domain, node.op_type) not in PRODUCTS:
            continue
        arithmetic = arithmetics.get(graph.values[node.inputs[0]].dtype.name)
        if arithmetic is None:
            continue
        graph, fitting = (_fitting_conv if is_conv else _fitting_product)(graph, node)
        if fitting is not None:
            attributes = {**fitting.attributes, "arithmetic": arithmetic}
            replacements[id(node)] = ((node,), replace(fitting, attributes=attributes))
    return replace_nodes(graph, replacements)


def _fitting_conv(graph: Graph, node: Node) -> tuple[Graph, Node | None]:
    inputs = [graph.values[name] if name else None for name in node.inputs]
    return graph, node if conv_fits_tensor_cores(node, inputs) else None


def _fitting_product(graph: Graph, node: Node) -> tuple[Graph, Node | None]:
    """The fused form of a product with the depth inside, if the kernel covers it."""
    left, right = (graph.values[name] for name in node.inputs[:2])
    if min(len(left.shape), len(right.shape)) < 2:
        return graph, None
    product = matrix_product(node, left, right)
    weights = graph.constants.get(right.name) if len(right.shape) == 2 else None
    inputs, attributes = node.inputs, {**node.attributes}
    if not product.transpose_right and weights is not None:
        product = replace(product, transpose_right=True)
        attributes["transB"] = 1
    if not fits_tensor_cores(product, left.dtype):
        return graph, None
    if weights is not None and attributes.get("transB") != node.attributes.get("transB"):
        graph, packed = add_constant(graph, f"{right.name}/transposed", transposed(weights))
        inputs = (inputs[0], packed, *inputs[2:])
    op_type = PRODUCTS[node.domain, node.op_type]
    fused = replace(
        node,
        op_type=op_type,
        domain="cugraphmodel",
        version=1,
        inputs=inputs,
        attributes=attributes,
    )
    return graph, fused
