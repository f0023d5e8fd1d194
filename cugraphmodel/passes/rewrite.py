"""What passes share: who reads a value, and putting one node in the place of several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import kind_of
from cugraphmodel.ir import Constant, Graph, Node, Parameters, TensorType, Value

__all__ = [
    "FUSED_OPS",
    "Uses",
    "add_constant",
    "attribute_float",
    "is_sum_of_a_shape",
    "newly_built_in",
    "replace_nodes",
    "transposed",
]

FUSED_OPS = {
    ("", "Conv"): "FusedConv",
    ("", "Gemm"): "FusedGemm",
    ("", "MatMul"): "FusedMatMul",
    ("cugraphmodel", "FusedConv"): "FusedConv",
    ("cugraphmodel", "FusedGemm"): "FusedGemm",
    ("cugraphmodel", "FusedMatMul"): "FusedMatMul",
}
"""Operators with an epilogue -> the form that says what it does, in the domain cugraphmodel."""


class Uses:
    """Who reads each value of a graph."""

    def __init__(self, graph: Graph) -> None:
        self._readers = graph.consumers()
        self._kept = frozenset(graph.kept)

    def only_reader(self, name: str) -> Node | None:
        """The one node that reads a value, or None if more do or it is needed after them."""
        readers = self._readers[name]
        return readers[0] if len(readers) == 1 and name not in self._kept else None


def replace_nodes(graph: Graph, replacements: Mapping[int, tuple[Sequence[Node], Node]]) -> Graph:
    """A graph with one node in the place of each chain.

    Args:
        graph: the graph.
        replacements: ``id`` of the node of a chain in whose place the new node goes -> (all of the
            chain's nodes, the new node). Nothing outside a chain may read its inner values, and
            what the new node reads must be there at that place.
    """
    gone = {id(node) for chain, _ in replacements.values() for node in chain}
    nodes = []
    for node in graph.nodes:
        if id(node) in replacements:
            nodes.append(replacements[id(node)][1])
        elif id(node) not in gone:
            nodes.append(node)
    inner = {
        name
        for chain, fused in replacements.values()
        for node in chain[:-1]
        for name in node.outputs
        if name not in fused.outputs
    }
    values = {name: value for name, value in graph.values.items() if name not in inner}
    built_in = graph.built_in.union(
        *(newly_built_in(graph, chain, [fused]) for chain, fused in replacements.values())
    )
    return graph.replace(nodes=tuple(nodes), values=values, built_in=built_in)


def newly_built_in(graph: Graph, gone: Iterable[Node], made: Iterable[Node]) -> frozenset[str]:
    """Parameters that nodes read and those in their place do not, nor anything derived of them."""

    def params(nodes: Iterable[Node]) -> frozenset[str]:
        read = {name for node in nodes for name in node.inputs if name in graph.constants}
        return frozenset[str]().union(*(graph.constants[name].params for name in read))

    return params(gone) - params(made)


def is_sum_of_a_shape(graph: Graph, node: Node) -> bool:
    """Whether a node is an Add, or a Sum, of two different tensors of floats of one shape."""
    if node.domain or node.op_type not in ("Add", "Sum") or len(node.inputs) != 2:
        return False
    result = graph.values[node.outputs[0]]
    return (
        kind_of(result.dtype) == "f"
        and node.inputs[0] != node.inputs[1]
        and all(graph.values[name].shape == result.shape for name in node.inputs)
    )


def add_constant(graph: Graph, name: str, constant: Constant) -> tuple[Graph, str]:
    """A graph with one constant more, and the name it got: ``name`` made unique."""
    while name in graph.values:
        name += "_"
    value = Value(constant.type.dtype, constant.type.shape, name)
    graph = graph.replace(
        values={**graph.values, name: value}, constants={**graph.constants, name: constant}
    )
    return graph, name


def attribute_float(node: Node, name: str, default: float) -> float:
    """A float attribute as ONNX stores it, in single precision."""
    return float(np.float32(node.attributes.get(name, default)))


def transposed(matrix: Constant) -> Constant:
    """The transpose of a constant matrix, derived from the same parameters."""
    rows, columns = matrix.type.shape

    def compute(parameters: Parameters) -> npt.NDArray[np.generic]:
        return np.ascontiguousarray(matrix.compute(parameters).T)

    kind = TensorType(matrix.type.dtype, (columns, rows))
    return Constant(f"transposed {matrix.key}", kind, matrix.params, compute)
