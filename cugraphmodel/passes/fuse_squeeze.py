"""Squeeze-and-excite: a mean over positions and the two small products after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cugraphmodel.dtypes import kind_of
from cugraphmodel.ir import Graph, Node
from cugraphmodel.ops.arguments import ints_of
from cugraphmodel.ops.spec import find
from cugraphmodel.ops.squeeze.squeeze_excite import squeeze_fits
from cugraphmodel.passes.rewrite import Uses, add_constant, replace_nodes, transposed

__all__ = ["fuse_squeeze"]

PRODUCTS = (
    ("cugraphmodel", "ChannelsLastConv"),
    *(
        (domain, f"{prefix}{name}")
        for domain, prefix in (("", ""), ("cugraphmodel", "Fused"))
        for name in ("Gemm", "MatMul")
    ),
)


@dataclass(frozen=True)
class _Layer:
    """A product of a row for each image with constant weights.

    Attributes:
        nodes: views before the product, and the product.
        weights: name of [rows, 1.., depth], or of [depth, rows] if ``is_transposed``.
        bias: name of [rows], or ``""``.
    """

    nodes: tuple[Node, ...]
    weights: str
    bias: str
    is_transposed: bool


def fuse_squeeze(graph: Graph) -> Graph:
    """Fuse the mean of channels-last images and two products of it.

    Takes: a ReduceMean of floats [N, *spatial, C] over all axes but the first and the last, and two
    layers after it, each a 1x1 ChannelsLastConv, Gemm or MatMul with constant weights and with or
    without activation. Nothing else may read a value between them, and they may be views of each
    other. The first layer has few outputs (``squeeze_fits``).

    Gives: one SqueezeExcite in the place of the second layer, with the index of the mean.
    """
    uses = Uses(graph)
    replacements: dict[int, tuple[Sequence[Node], Node]] = {}
    for mean in graph.nodes:
        layers = _layers_after(graph, uses, mean) if _is_mean_of_positions(graph, mean) else None
        if layers is None:
            continue
        graph, fused = _fused(graph, mean, layers)
        chain = (mean, *layers[0].nodes, *layers[1].nodes)
        replacements[id(chain[-1])] = (chain, fused)
    return replace_nodes(graph, replacements)


def _is_mean_of_positions(graph: Graph, node: Node) -> bool:
    if (node.domain, node.op_type) != ("", "ReduceMean"):
        return False
    x = graph.values[node.inputs[0]]
    rank = len(x.shape)
    axes = ints_of(node, "axes", 1) or []
    over_positions = sorted(axis % rank for axis in axes) == list(range(1, rank - 1))
    return rank > 2 and x.size > 0 and kind_of(x.dtype) == "f" and over_positions


def _layers_after(graph: Graph, uses: Uses, mean: Node) -> tuple[_Layer, _Layer] | None:
    """The two layers that make a scale of a mean, if SqueezeExcite covers them."""
    images, *positions, channels = graph.values[mean.inputs[0]].shape
    first = _layer_after(graph, uses, mean.outputs[0], images, channels)
    if first is None:
        return None
    hidden = first.nodes[-1].outputs[0]
    squeezed = graph.values[hidden].shape[-1]
    second = _layer_after(graph, uses, hidden, images, squeezed)
    if second is None:
        return None
    scale = graph.values[second.nodes[-1].outputs[0]]
    weights = [graph.values[layer.weights] for layer in (first, second)]
    keeps_rank = scale.shape[1:-1] in ((), (1,) * len(positions))
    return (first, second) if keeps_rank and squeeze_fits(images, squeezed, *weights) else None


def _layer_after(graph: Graph, uses: Uses, name: str, images: int, depth: int) -> _Layer | None:
    """The layer that alone reads a value, of ``depth`` elements for each image."""
    views: list[Node] = []
    while (node := uses.only_reader(name)) is not None and _is_view(node):
        views.append(node)
        name = node.outputs[0]
    if node is None or (node.domain, node.op_type) not in PRODUCTS or node.inputs[0] != name:
        return None
    x, y = graph.values[name].shape, graph.values[node.outputs[0]].shape
    weights, bias, residual = (*node.inputs[1:], "", "")[:3]
    is_row_each = x == (images, *(1,) * (len(x) - 2), depth) and y == (*x[:-1], y[-1])
    if not is_row_each or residual or weights not in graph.constants:
        return None
    if bias and graph.values[bias].shape != y[-1:]:
        return None
    nodes, shape = (*views, node), graph.values[weights].shape
    if node.op_type == "ChannelsLastConv":
        is_plain = graph.values[weights].size == depth * y[-1]
        return _Layer(nodes, weights, bias, is_transposed=False) if is_plain else None
    scales = [float(node.attributes.get(key, 1.0)) for key in ("alpha", "beta")]
    if len(x) != 2 or len(shape) != 2 or node.attributes.get("transA") or scales != [1.0, 1.0]:
        return None
    return _Layer(nodes, weights, bias, is_transposed=not node.attributes.get("transB"))


def _is_view(node: Node) -> bool:
    spec = find(node.domain, node.op_type, node.version)
    return spec is not None and spec.is_view and not any(node.outputs[1:])


def _fused(graph: Graph, mean: Node, layers: tuple[_Layer, _Layer]) -> tuple[Graph, Node]:
    """The node that stands for a mean and two layers."""
    inputs, attributes = [mean.inputs[0]], {}
    for half, layer in zip(("squeeze", "excite"), layers, strict=True):
        weights = layer.weights
        if layer.is_transposed:
            constant = transposed(graph.constants[weights])
            graph, weights = add_constant(graph, f"{weights}/transposed", constant)
        inputs += [weights, layer.bias]
        for key, default in (("", "cg_act_none"), ("_alpha", 0.0), ("_beta", 0.0)):
            given = layer.nodes[-1].attributes.get(f"activation{key}", default)
            attributes[f"{half}_activation{key}"] = given
    scale = layers[1].nodes[-1].outputs
    attributes["keepdims"] = int(len(graph.values[scale[0]].shape) > 2)
    return graph, Node(
        "SqueezeExcite",
        tuple(inputs),
        scale,
        domain="cugraphmodel",
        attributes=attributes,
        name=mean.name,
        index=mean.index,
    )
