"""Activations that a file spells out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cugraphmodel.dtypes import kind_of
from cugraphmodel.ir import Graph, Node
from cugraphmodel.passes.pattern import Call, Found, Makers, Pattern, Plus, Times, X, clip_bounds
from cugraphmodel.passes.rewrite import attribute_float, replace_nodes

__all__ = ["recognize_activations"]


@dataclass(frozen=True)
class _Spelling:
    """One way to write an activation.

    Attributes:
        op_type, version: the operator it is.
        pattern: how it is spelled.
        attributes: of that operator.
        open_attribute: the one whose value is the number that the pattern leaves open.
    """

    op_type: str
    version: int
    pattern: Pattern
    attributes: dict[str, Any] = field(default_factory=dict)
    open_attribute: str = ""


def _is_sixth_ramp(makers: Makers, node: Node) -> bool:
    x = node.inputs[0]
    alpha, beta = attribute_float(node, "alpha", 0.2), attribute_float(node, "beta", 0.5)
    return makers.is_close(alpha, 1 / 6, x) and beta == 0.5


def _is_zero_to_six(makers: Makers, node: Node) -> bool:
    return clip_bounds(makers.graph, node) == (0.0, 6.0)


def _gelu_tanh(inner: Pattern) -> Pattern:
    return Times(0.5, (X, Plus(1.0, (Call("Tanh", inner),))))


_ERF = Call("Erf", Times(math.sqrt(0.5), (X,)))
_CUBIC, _SQUARE = Times(0.044715, (X, X, X)), Times(0.044715, (X, X))
_SLOPE = math.sqrt(2 / math.pi)
_TANH = {"approximate": "tanh"}

SPELLINGS = (
    _Spelling("Gelu", 20, Times(0.5, (X, Plus(1.0, (_ERF,))))),
    _Spelling("Gelu", 20, _gelu_tanh(Times(_SLOPE, (Plus(0.0, (X, _CUBIC)),))), _TANH),
    _Spelling("Gelu", 20, _gelu_tanh(Times(_SLOPE, (X, Plus(1.0, (_SQUARE,))))), _TANH),
    _Spelling("HardSwish", 14, Times(1.0, (X, Call("HardSigmoid", X, _is_sixth_ramp)))),
    _Spelling("HardSwish", 14, Times(1 / 6, (X, Call("Clip", Plus(3.0, (X,)), _is_zero_to_six)))),
    _Spelling("Mish", 18, Times(1.0, (X, Call("Tanh", Call("Softplus", X))))),
    _Spelling("Swish", 24, Times(1.0, (X, Call("Sigmoid", X)))),
    _Spelling("Swish", 24, Times(1.0, (X, Call("Sigmoid", Times(None, (X,))))), {}, "alpha"),
)


def recognize_activations(graph: Graph) -> Graph:
    """Put one node in the place of an activation that is spelled out.

    Takes: a product of floats that is one of :data:`SPELLINGS`, whose numbers depend on no
    parameter, and between whose nodes nothing else reads and no value is an output of the graph.

    Gives: one node of the standard operator with that meaning, in the place and with the index of
    the last one.
    """
    makers = Makers(graph)
    replacements: dict[int, tuple[Sequence[Node], Node]] = {}
    taken: set[int] = set()
    for node in reversed(graph.nodes):
        if node.domain or node.op_type not in ("Mul", "Div") or id(node) in taken:
            continue
        if kind_of(graph.values[node.outputs[0]].dtype) != "f":
            continue
        match = _match(makers, node)
        if match is not None:
            found, fused = match
            replacements[id(node)] = (found.nodes[::-1], fused)
            taken.update(map(id, found.nodes))
    return replace_nodes(graph, replacements)


def _match(makers: Makers, last: Node) -> tuple[Found, Node] | None:
    y = makers.graph.values[last.outputs[0]]
    for spelling in SPELLINGS:
        for found in spelling.pattern.match(makers, last.outputs[0], Found()):
            x = makers.graph.values[found.x]
            if (x.dtype, x.shape) != (y.dtype, y.shape):
                continue
            if not makers.can_become_one(found.nodes, (found.x,)):
                continue
            attributes = dict(spelling.attributes)
            if spelling.open_attribute:
                number = found.number or 0.0
                if y.dtype == np.float64 and float(np.float32(number)) != number:
                    continue  # an attribute is a single
                attributes[spelling.open_attribute] = number
            fused = replace(
                last,
                op_type=spelling.op_type,
                version=spelling.version,
                inputs=(found.x,),
                attributes=attributes,
                host_values={},
            )
            return found, fused
    return None
