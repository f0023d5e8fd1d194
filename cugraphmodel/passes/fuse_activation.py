"""Convolutions and matrix products that apply an activation themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cugraphmodel.dtypes import kind_of
from cugraphmodel.ir import Graph, Node
from cugraphmodel.passes.pattern import clip_bounds
from cugraphmodel.passes.rewrite import FUSED_OPS, Uses, attribute_float, replace_nodes

__all__ = ["fuse_activation"]

ACTIVATIONS: dict[str, tuple[str, tuple[tuple[str, float], ...]]] = {
    "Celu": ("cg_act_celu", (("alpha", 1.0),)),
    "Elu": ("cg_act_elu", (("alpha", 1.0),)),
    "HardSigmoid": ("cg_act_hard_sigmoid", (("alpha", 0.2), ("beta", 0.5))),
    "HardSwish": ("cg_act_hard_swish", ()),
    "LeakyRelu": ("cg_act_leaky_relu", (("alpha", 0.01),)),
    "Mish": ("cg_act_mish", ()),
    "Relu": ("cg_act_relu", ()),
    "Selu": ("cg_act_selu", (("alpha", 1.6732632), ("gamma", 1.050701))),
    "Sigmoid": ("cg_act_sigmoid", ()),
    "Softplus": ("cg_act_softplus", ()),
    "Softsign": ("cg_act_softsign", ()),
    "Swish": ("cg_act_swish", (("alpha", 1.0),)),
    "Tanh": ("cg_act_tanh", ()),
    "ThresholdedRelu": ("cg_act_thresholded_relu", (("alpha", 1.0),)),
}
"""Operator -> function of ``activations.cuh``, and the attributes that are its parameters."""

GELU = {"none": "cg_act_gelu", "tanh": "cg_act_gelu_tanh"}


@dataclass(frozen=True)
class _Activation:
    """A function of ``activations.cuh`` with its two parameters."""

    function: str
    alpha: float = 0.0
    beta: float = 0.0


def fuse_activation(graph: Graph) -> Graph:
    """Fuse an activation into the Conv, Gemm or MatMul before it.

    Takes: a Conv, Gemm or MatMul, fused or not, without activation, of floats, whose result only
    one activation reads and is no output of the graph. Clip counts if its bounds depend on
    no parameter.

    Gives: one fused node that writes the activation's output and has the first one's index.
    """
    uses = Uses(graph)
    replacements: dict[int, tuple[Sequence[Node], Node]] = {}
    for node in graph.nodes:
        fused_op = FUSED_OPS.get((node.domain, node.op_type))
        if fused_op is None or "activation" in node.attributes:
            continue
        reader = uses.only_reader(node.outputs[0])
        if reader is None or kind_of(graph.values[node.outputs[0]].dtype) != "f":
            continue
        activation = _activation_of(graph, reader)
        if activation is None or reader.inputs[0] != node.outputs[0]:
            continue
        attributes = {
            **node.attributes,
            "activation": activation.function,
            "activation_alpha": activation.alpha,
            "activation_beta": activation.beta,
        }
        fused = replace(
            node,
            op_type=fused_op,
            domain="cugraphmodel",
            version=1,
            outputs=reader.outputs,
            attributes=attributes,
        )
        replacements[id(node)] = ((node, reader), fused)
    return replace_nodes(graph, replacements)


def _activation_of(graph: Graph, node: Node) -> _Activation | None:
    if node.domain:
        return None
    if node.op_type == "Clip":
        return _clip(graph, node)
    if node.op_type == "Gelu":
        return _Activation(GELU[node.attributes.get("approximate", "none")])
    if node.op_type not in ACTIVATIONS:
        return None
    function, parameters = ACTIVATIONS[node.op_type]
    return _Activation(function, *(attribute_float(node, *each) for each in parameters))


def _clip(graph: Graph, node: Node) -> _Activation | None:
    """A Clip whose bounds are known and exact in single precision."""
    bounds = clip_bounds(graph, node)
    if bounds is None or any(float(np.float32(bound)) != bound for bound in bounds):
        return None
    return _Activation("cg_act_clip", *bounds)
