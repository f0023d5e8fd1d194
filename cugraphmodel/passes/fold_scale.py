"""1x1 convolutions that multiply their input by a scale of its channels themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cugraphmodel.ir import Graph, Node
from cugraphmodel.ops.conv.channels_last import conv_takes_scale
from cugraphmodel.passes.rewrite import Uses, replace_nodes

__all__ = ["fold_scale"]


def fold_scale(graph: Graph) -> Graph:
    """Fold the Mul by a scale into the convolution after it.

    Takes: a Mul of images [N, *spatial, C] and a scale [N, 1.., C], whose result only a 1x1
    ChannelsLastConv on tensor cores reads (``conv_takes_scale``).

    Gives: the convolution with the scale as input 4. It rounds the product as the Mul did.
    """
    uses = Uses(graph)
    replacements: dict[int, tuple[Sequence[Node], Node]] = {}
    for mul in graph.nodes:
        operands = _images_and_scale(graph, mul)
        conv = uses.only_reader(mul.outputs[0]) if operands is not None else None
        if operands is None or conv is None or conv.op_type != "ChannelsLastConv":
            continue
        images, scale = operands
        inputs = (images, *(*conv.inputs[1:], "", "")[:3], scale)
        fused = replace(conv, inputs=inputs)
        values = [graph.values[name] if name else None for name in inputs]
        if mul.outputs[0] not in conv.inputs[1:] and conv_takes_scale(fused, values):
            replacements[id(conv)] = ((mul, conv), fused)
    return replace_nodes(graph, replacements)


def _images_and_scale(graph: Graph, node: Node) -> tuple[str, str] | None:
    """The operands of a Mul by a scale of channels."""
    if (node.domain, node.op_type) != ("", "Mul"):
        return None
    shape = graph.values[node.outputs[0]].shape
    if len(shape) < 3:
        return None
    scale_shape = (shape[0], *(1,) * (len(shape) - 2), shape[-1])
    for images, scale in (node.inputs, node.inputs[::-1]):
        if graph.values[images].shape == shape and graph.values[scale].shape == scale_shape:
            return images, scale
    return None
