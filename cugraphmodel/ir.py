"""The graph as the rest of the library sees it: frozen values, nodes and graphs, all shapes known.

A tensor is named by its ONNX value name everywhere. Nodes stay in the file's order, which ONNX
requires to be topological.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.errors import NodeProblem

__all__ = ["Constant", "Graph", "Node", "Parameters", "TensorType", "Value", "constant_of"]

Array = npt.NDArray[Any]
MEMO_BYTES = 1 << 20


@dataclass(frozen=True)
class TensorType:
    """Element type and concrete shape of a tensor (C-contiguous)."""

    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def num_bytes(self) -> int:
        """Bytes of the elements, without padding."""
        return self.size * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Value(TensorType):
    """A named tensor of a graph. As a kernel argument it stands for its device address."""

    name: str

    def __str__(self) -> str:
        return f"{self.name}: {super().__str__()}"


class Parameters:
    """The parameters of one model, by name, and a memo of small values derived from them."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._arrays = dict(arrays)
        self._memo: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def set(self, name: str, array: Array) -> None:
        """Replace a parameter; what was derived is forgotten."""
        self._arrays[name] = array
        self._memo.clear()

    def recall(self, key: str) -> Array | None:
        """What was remembered under ``key``, if anything."""
        return self._memo.get(key)

    def remember(self, key: str, array: Array) -> None:
        """Keep a derived value until a parameter changes, if it is small."""
        if array.nbytes <= MEMO_BYTES:
            self._memo[key] = array


@dataclass(frozen=True, eq=False)
class Constant:
    """A tensor that is known before the first run: a parameter, or something derived from some.

    Attributes:
        key: identity. Two constants with one key hold the same bytes, so that the graphs of a
            model share them on the device.
        type: dtype and shape.
        params: names of the model parameters it depends on; ``load_param`` recomputes it.
        compute: from the model's parameters to the tensor.
    """

    key: str
    type: TensorType
    params: frozenset[str]
    compute: Callable[[Parameters], Array] = field(repr=False)


@dataclass(frozen=True)
class Node:
    """One operation.

    Attributes:
        op_type, domain: the operator; ``domain`` is ``""`` for the standard one.
        version: the opset version of the domain that the model imports.
        inputs: value names; ``""`` where an optional input is left out.
        outputs: value names; ``""`` where an optional output is left out.
        attributes: name -> int, float, str, list of those, or array.
        host_values: input position -> array, for the inputs whose *values* decide shapes or
            geometry (``OpSpec.host_inputs``), known at capture time.
        name: the node's name in the file, possibly empty.
        index: position in the file's ``graph.node``; for a node made by a pass or an inlined
            function, that of the node it stands for; -1 if it stands for none.
    """

    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    domain: str = ""
    version: int = 1
    attributes: Mapping[str, Any] = field(default_factory=dict)
    host_values: Mapping[int, Array] = field(default_factory=dict, repr=False)
    name: str = ""
    index: int = -1

    @property
    def label(self) -> str:
        """What messages call this node."""
        name = f" {self.name!r}" if self.name else ""
        op = f"{self.domain}.{self.op_type}" if self.domain else self.op_type
        return f"node {self.index}{name} ({op})" if self.index >= 0 else f"{op}{name}"

    def problem(self, reason: str) -> NodeProblem:
        """Why this node cannot run, for an error that lists all such nodes."""
        return NodeProblem(self.index, self.name, self.op_type, self.domain, self.version, reason)


@dataclass(frozen=True)
class Graph:
    """A whole computation with concrete shapes.

    Attributes:
        nodes: in execution order.
        values: every value by name.
        inputs: names of the inputs, in the file's order.
        outputs: names of the values to give back, in the order asked for; one may stand twice,
            and may be an input or a constant.
        constants: value name -> constant, for every value that no node computes at run time.
        state: name of a value that neither a node computes nor the caller passes -> name of the
            value that takes its place after each run.
        parameters: of the model, with the values that they have now.
        built_in: names of parameters whose values passes have built into nodes: they cannot change
            under this graph.
    """

    nodes: tuple[Node, ...]
    values: Mapping[str, Value]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, Constant]
    state: Mapping[str, str] = field(default_factory=dict)
    parameters: Parameters = field(default_factory=lambda: Parameters({}), repr=False)
    built_in: frozenset[str] = frozenset()

    def known(self, name: str) -> Array | None:
        """A constant that passes may build into nodes: one number, or independent of parameters."""
        constant = self.constants.get(name)
        if constant is None or (constant.params and constant.type.size != 1):
            return None
        return constant.compute(self.parameters)

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the values that are needed after the last node."""
        return (*self.outputs, *self.state.values())

    def replace(self, **changes: Any) -> Graph:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def consumers(self) -> dict[str, list[Node]]:
        """Value name -> nodes that read it."""
        found: dict[str, list[Node]] = {name: [] for name in self.values}
        for node in self.nodes:
            for name in dict.fromkeys(filter(None, node.inputs)):
                found[name].append(node)
        return found

    def __str__(self) -> str:
        lines = [f"inputs  {', '.join(str(self.values[name]) for name in self.inputs)}"]
        for node in self.nodes:
            outputs = ", ".join(str(self.values[name]) for name in node.outputs if name)
            inputs = ", ".join(name or "-" for name in node.inputs)
            lines.append(f"{node.index:5d}  {outputs} = {node.op_type}({inputs})")
        lines.append(f"outputs {', '.join(self.outputs)}")
        lines += [f"state   {name} <- {source}" for name, source in self.state.items()]
        return "\n".join(lines)


def constant_of(array: Array, key: str) -> Constant:
    """A constant that depends on no parameter."""
    kept = np.ascontiguousarray(array).reshape(array.shape)
    return Constant(key, TensorType(kept.dtype, kept.shape), frozenset(), lambda _params: kept)
