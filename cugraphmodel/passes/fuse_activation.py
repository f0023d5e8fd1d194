"""Convolutions and matrix products that apply an activation themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cugraphmodel.dtypes import kind_of
from cugraphmodel.ir import Graph, Node, Parameters
from cugraphmodel.passes.rewrite import Uses, attribute_float, replace_nodes

__all__ = ["fuse_activation"]

FUSED_OPS = {
    ("", "Conv"): "FusedConv",
    ("", "Gemm"): "FusedGemm",
    ("", "MatMul"): "FusedMatMul",
    ("cugraphmodel", "FusedMatMul"): "FusedMatMul",
}


@dataclass(frozen=True)
class _Activation:
    """A function of ``activations.cuh`` with its two parameters."""

    function: str
    alpha: float = 0.0
    beta: float = 0.0


def fuse_activation(graph: Graph) -> Graph:
    """Fuse an activation into the Conv, Gemm or MatMul before it.

    Takes: a Conv, Gemm, MatMul, or FusedMatMul without activation, of floats, whose result only one
    activation reads and is no output of the graph. Clip counts if its bounds depend on
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
    match node.op_type:
        case "Relu":
            return _Activation("cg_act_relu")
        case "LeakyRelu":
            return _Activation("cg_act_leaky_relu", attribute_float(node, "alpha", 0.01))
        case "Sigmoid":
            return _Activation("cg_act_sigmoid")
        case "Tanh":
            return _Activation("cg_act_tanh")
        case "HardSigmoid":
            alpha, beta = attribute_float(node, "alpha", 0.2), attribute_float(node, "beta", 0.5)
            return _Activation("cg_act_hard_sigmoid", alpha, beta)
        case "HardSwish":
            return _Activation("cg_act_hard_swish")
        case "Clip":
            return _clip(graph, node)
    return None


def _clip(graph: Graph, node: Node) -> _Activation | None:
    """A Clip whose bounds are known and exact in single precision."""
    if node.version < 11:
        largest = float(np.finfo(np.float32).max)
        low, high = attribute_float(node, "min", -largest), attribute_float(node, "max", largest)
        return _Activation("cg_act_clip", low, high)
    bounds = [-np.inf, np.inf]
    for position, name in enumerate(node.inputs[1:3]):
        if not name:
            continue
        constant = graph.constants.get(name)
        if constant is None or constant.params:
            return None
        bounds[position] = float(constant.compute(Parameters({})).item())
        if float(np.float32(bounds[position])) != bounds[position]:
            return None
    return _Activation("cg_act_clip", bounds[0], bounds[1])
