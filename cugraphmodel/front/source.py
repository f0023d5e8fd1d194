"""A model as its file says it: nodes, open shapes and parameters, before any size is known."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ir import Node

__all__ = ["FileNode", "SourceModel", "Subgraph", "TensorInfo", "names_read"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class FileNode:
    """A node of the file's main graph, as it can be asked for.

    Attributes:
        index: position in ``graph.node``, before any pass; what ``capture_graph`` takes.
        name: possibly empty, not always unique.
        op_type, domain: operator.
        inputs, outputs: value names, ``""`` where one is left out.
    """

    index: int
    name: str
    op_type: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __str__(self) -> str:
        op = f"{self.domain}.{self.op_type}" if self.domain else self.op_type
        name = f"  {self.name!r}" if self.name else ""
        return f"{self.index:4d}  {', '.join(self.outputs)} = {op}({', '.join(self.inputs)}){name}"


@dataclass(frozen=True)
class TensorInfo:
    """An input, output or parameter of the model.

    Attributes:
        name: the ONNX value name.
        dtype: element type; None for one that this library has no kernels for.
        shape: sizes; a string is a named open dimension, None an unnamed one. None instead of
            the tuple where the file says nothing.
        type_name: the type in the file's words, for messages.
    """

    name: str
    dtype: np.dtype | None
    shape: tuple[int | str | None, ...] | None
    type_name: str = ""

    @property
    def size(self) -> int | None:
        """Number of elements; None if the file leaves it open."""
        if self.shape is None:
            return None
        sizes = [size for size in self.shape if isinstance(size, int)]
        return math.prod(sizes) if len(sizes) == len(self.shape) else None

    def __str__(self) -> str:
        dtype = self.type_name if self.dtype is None else self.dtype.name
        if self.shape is None:
            return f"{self.name}: {dtype}[...]"
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.name}: {dtype}[{sizes}]"


@dataclass(frozen=True, eq=False)
class Subgraph:
    """The body of a control flow node, as it stands in ``Node.attributes``, or of a function.

    Attributes:
        nodes: in the file's order.
        inputs, outputs: value names, local to the body.
        parameters: its initializers, by name; ``load_param`` does not reach these.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: Mapping[str, Array] = field(repr=False, default_factory=dict)

    @functools.cached_property
    def outer_reads(self) -> frozenset[str]:
        """Values of the graphs around it that the body reads by name."""
        local = {*self.inputs, *self.parameters}
        reads: set[str] = set()
        for node in self.nodes:
            reads |= names_read(node) - local
            local.update(node.outputs)
        return frozenset(reads | ({*self.outputs} - local))


def names_read(node: Node) -> frozenset[str]:
    """Every value that a node needs: its inputs, and what its subgraphs read from around them."""
    bodies = (value for value in node.attributes.values() if isinstance(value, Subgraph))
    inputs = frozenset(filter(None, node.inputs))
    return inputs.union(*(body.outer_reads for body in bodies))


@dataclass(frozen=True, eq=False)
class SourceModel:
    """Everything that a file holds, checked, and nothing of the protobuf it came in.

    Attributes:
        name: what messages call the model: the file's name, or "the model".
        file_nodes: the file's main graph, for addressing.
        nodes: the same with model-local functions inlined, without ``host_values``.
        versions: domain -> opset version that the file imports.
        inputs: in the file's order, without those that an initializer backs.
        outputs: the model's own outputs.
        parameters: the initializers, by name.
    """

    name: str
    file_nodes: tuple[FileNode, ...]
    nodes: tuple[Node, ...]
    versions: Mapping[str, int]
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    parameters: Mapping[str, Array] = field(repr=False)
