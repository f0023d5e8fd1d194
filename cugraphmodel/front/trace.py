"""From a source model and concrete input shapes to a :class:`Graph`.

One pass over the nodes in file order. Every shape is known when a node is reached, so shape
arithmetic turns into constants on the way and none of it is left for the device.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import DTYPES
from cugraphmodel.errors import ModelLoadError, NodeProblem, UnsupportedModelError
from cugraphmodel.front.fold import FOLDABLE, fold_node, literal, parameter
from cugraphmodel.front.source import SourceModel
from cugraphmodel.ir import Constant, Graph, Node, Parameters, TensorType, Value
from cugraphmodel.ops.spec import OpSpec, Unsupported, find
from cugraphmodel.ops.views import zip_map_labels

__all__ = ["Traced", "class_labels", "trace"]

Array = npt.NDArray[Any]
MAX_TENSOR_BYTES = 2**40
MAX_RANK = 64  # of a NumPy array
MAX_GROWN_BYTES = 2**28
"""A constant larger than this and than all it is made from is computed in every run, not folded."""
_KERNEL_DTYPES = frozenset(entry.numpy for entry in DTYPES)


@dataclass(frozen=True, eq=False)
class Traced:
    """A graph with concrete shapes.

    Attributes:
        graph: before any pass; only what the outputs need.
        shape_parameters: parameters whose values were read to find shapes or geometry.
    """

    graph: Graph
    shape_parameters: frozenset[str]


def trace(
    source: SourceModel,
    parameters: Parameters,
    input_shapes: Mapping[str, tuple[int, ...]],
    outputs: Sequence[str],
    constant_inputs: Mapping[str, Array],
) -> Traced:
    """Type every value that ``outputs`` need, and fold what is constant.

    Args:
        source: the model.
        parameters: its parameters' current values.
        input_shapes: concrete shape of every input that is not in ``constant_inputs``.
        outputs: value names.
        constant_inputs: inputs with a fixed value.

    Raises:
        UnsupportedModelError: lists every node that cannot run, and why.
    """
    tracer = _Tracer(source, parameters, constant_inputs)
    for info in source.inputs:
        if info.name not in constant_inputs:
            shape = input_shapes[info.name]
            if info.dtype is None or len(shape) > MAX_RANK:
                tracer.problems.append(
                    f"input {info} is not supported; tensors of bool, integers, float16, float32 "
                    f"and float64 with up to {MAX_RANK} dimensions are."
                )
                tracer.unknown.add(info.name)
            else:
                tracer.values[info.name] = Value(info.dtype, shape, info.name)
    nodes = [kept for node in _needed(source, outputs) if (kept := tracer.visit(node)) is not None]
    if tracer.problems:
        raise UnsupportedModelError(source.name, tuple(tracer.problems))
    for value in (tracer.values[name] for name in outputs):
        if value.dtype not in _KERNEL_DTYPES:
            raise UnsupportedModelError(source.name, (f"output {value}: unsupported dtype",))
    graph = Graph(
        nodes=tuple(nodes),
        values=tracer.values,
        inputs=tuple(i.name for i in source.inputs if i.name not in constant_inputs),
        outputs=tuple(outputs),
        constants=tracer.constants,
    )
    return Traced(graph, frozenset(tracer.shape_parameters))


def class_labels(graph: Graph) -> dict[str, tuple[str | int, ...]]:
    """Name of each ZipMap's output -> the class labels of its columns."""
    return {n.outputs[0]: zip_map_labels(n) for n in graph.nodes if n.op_type == "ZipMap"}


def _needed(source: SourceModel, outputs: Iterable[str]) -> list[Node]:
    """The nodes that the outputs depend on, in file order; outputs nobody reads are left out."""
    wanted = set(outputs)
    needed = []
    for position in range(len(source.nodes) - 1, -1, -1):
        node = source.nodes[position]
        read = tuple(name if name in wanted else "" for name in node.outputs)
        if any(read):
            needed.append(replace(node, outputs=read))
            wanted.update(filter(None, node.inputs))
            wanted.update(source.implicit_reads.get(position, ()))
    return needed[::-1]


@dataclass(eq=False)
class _Tracer:
    source: SourceModel
    parameters: Parameters
    constant_inputs: Mapping[str, Array]
    values: dict[str, Value] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)
    problems: list[NodeProblem | str] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    shape_parameters: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for name, array in self.source.parameters.items():
            self._define(name, parameter(name, array))
        for name, array in self.constant_inputs.items():
            self._define(name, literal(array))

    def visit(self, node: Node) -> Node | None:
        """The node ready to run, or None if its outputs are constants or it cannot run."""
        try:
            return self._visited(node)
        except (Unsupported, ModelLoadError) as error:
            self._refuse(node, str(error))
        except Exception as error:  # a damaged node can break a shape rule anywhere
            self._refuse(node, f"its attributes and inputs do not fit together ({error!r}).")
        return None

    def _visited(self, node: Node) -> Node | None:
        if self._fold_known(node):
            return None
        spec = find(node.domain, node.op_type, node.version)
        foldable = not node.domain and node.op_type in FOLDABLE
        folds = foldable and self._constant(node.inputs)
        if self.unknown.intersection(node.inputs) and (spec or foldable):
            self.unknown.update(filter(None, node.outputs))
            return None  # what it lacks is reported with the node that should have made it
        if spec is None and not folds:
            self._refuse(node, _no_kernel(node))
            return None
        bound, types = self._infer(node, spec) if spec else (node, None)
        if types is not None and not (folds and self._is_worth_keeping(node, types)):
            return self._typed(bound, types)
        self._fold(node, types)
        return None

    def _is_worth_keeping(self, node: Node, types: Sequence[TensorType]) -> bool:
        num_bytes = sum(type_.num_bytes for type_ in types)
        made_from = sum(
            self.constants[name].type.num_bytes for name in dict.fromkeys(node.inputs) if name
        )
        return num_bytes <= max(made_from, MAX_GROWN_BYTES)

    def _infer(self, node: Node, spec: OpSpec) -> tuple[Node, Sequence[TensorType]]:
        bound = replace(node, host_values=self._host_values(node, spec))
        inputs = [self.values[name] if name else None for name in node.inputs]
        for value in inputs:
            if value is not None and value.dtype not in _KERNEL_DTYPES:
                raise Unsupported(f"dtype {value.dtype} of {value.name!r} has no kernels.")
        return bound, spec.infer(bound, inputs)

    def _typed(self, node: Node, types: Sequence[TensorType]) -> Node:
        """Note the types of a node's outputs; the node without outputs that are only left out."""
        extra = [name for name in node.outputs[len(types) :] if name]
        if extra:
            raise Unsupported(f"outputs {extra} are not supported.")
        for name, type_ in zip(node.outputs, types, strict=False):
            if len(type_.shape) > MAX_RANK:
                raise Unsupported(f"its output {name!r} would have {len(type_.shape)} dimensions.")
            if type_.num_bytes > MAX_TENSOR_BYTES:
                raise Unsupported(f"its output {name!r} would be {type_}, over 1 TiB.")
            if name:
                self.values[name] = Value(type_.dtype, type_.shape, name)
        return replace(node, outputs=node.outputs[: len(types)])

    def _define(self, name: str, constant: Constant) -> None:
        self.constants[name] = constant
        self.values[name] = Value(constant.type.dtype, constant.type.shape, name)

    def _constant(self, names: Sequence[str]) -> bool:
        return all(name in self.constants for name in names if name)

    def _refuse(self, node: Node, reason: str) -> None:
        self.problems.append(node.problem(reason))
        self.unknown.update(filter(None, node.outputs))

    def _fold_known(self, node: Node) -> bool:
        """Fold what needs no kernel: constants, their copies, and questions about shapes."""
        if node.domain:
            return False
        if node.op_type == "Constant":
            array = _constant_attribute(node)
            if array is None:
                return False
            self._define(node.outputs[0], literal(array))
            return True
        if node.op_type == "Identity" and node.inputs[0] in self.constants:
            self._define(node.outputs[0], self.constants[node.inputs[0]])
            return True
        if node.op_type in ("Shape", "Size") and node.inputs[0] in self.values:
            value = self.values[node.inputs[0]]
            shape = value.shape[node.attributes.get("start", 0) : node.attributes.get("end")]
            result = shape if node.op_type == "Shape" else value.size
            self._define(node.outputs[0], literal(np.array(result, np.int64)))
            return True
        return False

    def _host_values(self, node: Node, spec: OpSpec) -> dict[int, Array]:
        found: dict[int, Array] = {}
        for position in spec.host_inputs:
            name = node.inputs[position] if position < len(node.inputs) else ""
            if not name:
                continue
            constant = self.constants.get(name)
            if constant is None:
                raise Unsupported(
                    f"input {position} ({name!r}) decides shapes and must be known at capture, "
                    "but is computed in the run. If it hangs on an input, fix that input with "
                    "constant_inputs."
                )
            self.shape_parameters |= constant.params
            found[position] = constant.compute(self.parameters)
        return found

    def _fold(self, node: Node, types: Sequence[TensorType] | None) -> None:
        inputs = [self.constants[name] if name else None for name in node.inputs]
        for position, name in enumerate(node.outputs):
            if name:
                type_ = types[position] if types else None
                constant = fold_node(node, inputs, position, type_, self.parameters)
                self._define(name, constant)


def _no_kernel(node: Node) -> str:
    if any(type(value).__name__ == "GraphProto" for value in node.attributes.values()):
        return "control flow is not supported."
    newer = find(node.domain, node.op_type, 2**31)
    if newer is not None:
        return f"supported from opset {newer.since_version} on; convert the model."
    return "there is no kernel for this operator."


def _constant_attribute(node: Node) -> Array | None:
    """The value of a Constant node, or None for one that holds strings."""
    attributes = node.attributes
    for name in ("value", "sparse_value"):
        if name in attributes:
            return np.asarray(attributes[name])
    for name in ("value_float", "value_floats"):
        if name in attributes:
            return np.array(attributes[name], np.float32)
    for name in ("value_int", "value_ints"):
        if name in attributes:
            return np.array(attributes[name], np.int64)
    return None
