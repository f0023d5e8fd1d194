"""The walk over a model's nodes that types every value and folds what is constant.

One pass in file order. Every shape is known when a node is reached, so shape arithmetic turns into
constants on the way and none of it is left for the device. For the same reason control flow and
sequences can be followed here: what comes out is one flat list of nodes over tensors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import DTYPES
from cugraphmodel.errors import ModelLoadError, NodeProblem
from cugraphmodel.front import control_flow, sequences
from cugraphmodel.front.fold import FOLDABLE, fold_node, folds_exactly, literal
from cugraphmodel.front.functions import function_body, is_function
from cugraphmodel.front.microsoft import COMPOSED
from cugraphmodel.front.source import SourceModel, Subgraph, names_read
from cugraphmodel.ir import Constant, Node, Parameters, TensorType, Value
from cugraphmodel.ops.select.select import BOUNDED, DOMAIN
from cugraphmodel.ops.spec import OpSpec, Unsupported, find

__all__ = ["KERNEL_DTYPES", "MAX_RANK", "Scope", "Tracer"]

Array = npt.NDArray[Any]
MAX_TENSOR_BYTES = 2**40
MAX_RANK = 64  # of a NumPy array
MAX_GROWN_BYTES = 2**28
"""A constant larger than this and than all it is made from is computed in every run, not folded."""
MAX_UNROLLED_NODES = 50_000
RANDOM = frozenset(
    (
        *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"),
        *("RandomUniform", "RandomUniformLike"),
    )
)
KERNEL_DTYPES = frozenset(entry.numpy for entry in DTYPES)
_OWN_VERSION = 13  # of the nodes that take the place of control flow
Follow: TypeAlias = "Callable[[Tracer, Node, Scope], Sequence[str]]"
_STRUCTURAL: dict[tuple[str, str], Follow] = {**control_flow.OPERATORS, **sequences.OPERATORS}


@dataclass(eq=False)
class Scope:
    """The names of one graph: the main one, or a body at one of its iterations.

    Attributes:
        prefix: what tells its values from those of other scopes; empty for the main graph.
        outer: the scope around it.
        names: the file's names -> names in :attr:`Tracer.values`; ``""`` for an input left out.
    """

    prefix: str = ""
    outer: Scope | None = None
    names: dict[str, str] = field(default_factory=dict)

    def find(self, name: str) -> str:
        """The value that a name in the file means here."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return name

    def child(self, prefix: str) -> Scope:
        """A scope inside this one, for a body whose values are called ``prefix::name``."""
        return Scope(f"{prefix}::", self)


@dataclass(eq=False)
class Tracer:
    """Follows nodes; collects the ones that are to run.

    Attributes:
        nodes: what is to run, in order.
        values, constants: by name; a constant is a value too.
        sequences: name of a sequence -> names of its elements.
        absent: names of optionals that hold nothing.
        unknown: names of values that a problem keeps from being known.
        problems: why nodes cannot run.
        shape_parameters: parameters whose values were read to find shapes or geometry.
        bounded_outputs: whether outputs may have the largest size that data can give them.
        counts: name of such an output -> name of the number of entries that count.
    """

    source: SourceModel
    parameters: Parameters
    bounded_outputs: bool = False
    nodes: list[Node] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)
    sequences: dict[str, tuple[str, ...]] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    problems: list[NodeProblem | str] = field(default_factory=list)
    shape_parameters: set[str] = field(default_factory=set)
    counts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        source = self.source
        self._taken = {*source.parameters, *(info.name for info in source.inputs)}
        self._taken.update(name for node in source.nodes for name in node.outputs)
        self._num_alike: Counter[str] = Counter()
        self._num_unrolled = 0

    # ---- For trace() and the operators that are followed here

    def run(self, nodes: Sequence[Node], wanted: Iterable[str], scope: Scope) -> None:
        """Visit the nodes that the wanted values depend on."""
        for node in _needed(nodes, wanted):
            self._visit(node, scope)

    def run_body(self, body: Subgraph, arguments: Sequence[str], scope: Scope) -> list[str]:
        """Visit the nodes of a body.

        Args:
            body: the graph.
            arguments: values for its inputs, ``""`` where one is left out.
            scope: a fresh one.

        Returns:
            The values of its outputs.

        Raises:
            Unsupported: loops make this model too long.
        """
        self.count_unrolled(max(1, len(body.nodes)))
        for name, array in body.parameters.items():
            scope.names[name] = self.literal(array, scope.prefix + name)
        scope.names.update(zip(body.inputs, arguments, strict=True))
        self.run(body.nodes, body.outputs, scope)
        return [scope.find(name) for name in body.outputs]

    def count_unrolled(self, num_nodes: int) -> None:
        """Note how much longer loops and sequences make the model.

        Raises:
            Unsupported: too long.
        """
        self._num_unrolled += num_nodes
        if self._num_unrolled > MAX_UNROLLED_NODES:
            raise Unsupported(
                f"loops and sequences unroll to more than {MAX_UNROLLED_NODES} nodes."
            )

    def define(self, name: str, constant: Constant) -> None:
        """Note a value that is known now."""
        self.constants[name] = constant
        self.values[name] = Value(constant.type.dtype, constant.type.shape, name)

    def literal(self, array: Array, hint: str) -> str:
        """The name of a new constant, ``hint`` or near it."""
        name = self.fresh(hint)
        self.define(name, literal(array))
        return name

    def fresh(self, hint: str) -> str:
        """A name that no other value has, ``hint`` or near it."""
        name = hint
        while name in self._taken:
            self._num_alike[hint] += 1
            name = f"{hint}'{self._num_alike[hint]}"
        self._taken.add(name)
        return name

    def known(self, name: str) -> Array | None:
        """The array if the value is a constant; shapes may then hang on it."""
        constant = self.constants.get(name)
        if constant is None:
            return None
        self.shape_parameters |= constant.params
        return constant.compute(self.parameters)

    def emit(self, op_type: str, inputs: Sequence[str], like: Node, **attributes: Any) -> str:
        """Add a node of the standard domain that stands for ``like``; the name of its output."""
        return self.emit_several(1, op_type, inputs, like, **attributes)[0]

    def emit_several(
        self, count: int, op_type: str, inputs: Sequence[str], like: Node, **attributes: Any
    ) -> list[str]:
        """Like :meth:`emit`, for a node of several outputs."""
        outputs = [self.fresh(f"{self.label(like)}::{op_type}") for _ in range(count)]
        self._place(
            Node(
                op_type,
                tuple(inputs),
                tuple(outputs),
                version=max(_OWN_VERSION, like.version),
                attributes=attributes,
                name=like.name,
                index=like.index,
            )
        )
        return outputs

    def value(self, name: str) -> Value:
        """The tensor of that name.

        Raises:
            Unsupported: it is a sequence, or an optional that holds nothing, or not there at all.
        """
        if self.is_no_tensor(name):
            kind = "a sequence" if name in self.sequences else "an optional without a value"
            raise Unsupported(f"it takes a tensor, but {name!r} is {kind}.")
        if name not in self.values:
            raise Unsupported(f"no node gives its input {name!r}.")
        return self.values[name]

    def is_no_tensor(self, name: str) -> bool:
        """Whether that is a sequence, or an optional that holds nothing."""
        return name in self.sequences or name in self.absent

    def label(self, node: Node) -> str:
        """A name for what is made inside a node."""
        return next(filter(None, node.outputs), node.op_type)

    def name_output(self, name: str, scope: Scope) -> None:
        """Make a value of the main graph findable under its own name."""
        actual = scope.find(name)
        if self.is_no_tensor(actual):
            kind = "a sequence" if actual in self.sequences else "an optional without a value"
            self.problems.append(f"output {name!r} is {kind}; outputs are tensors.")
        elif not self._is_known(actual):
            self.problems.append(f"no node gives output {name!r}.")
        elif actual != name and actual not in self.unknown:
            self._place(Node("Identity", (actual,), (name,), version=_OWN_VERSION))

    # ---- One node

    def _visit(self, node: Node, scope: Scope) -> None:
        for name in filter(None, node.outputs):
            scope.names[name] = self.fresh(scope.prefix + name) if scope.outer else name
        placed = replace(
            node,
            inputs=tuple(name and scope.find(name) for name in node.inputs),
            outputs=tuple(name and scope.names[name] for name in node.outputs),
        )
        follow = self._following(placed)
        if follow is None:
            self._place(placed)
        elif self.unknown.intersection(placed.inputs):
            self.unknown.update(filter(None, placed.outputs))
        else:
            with self._refusing(placed):
                results = follow(self, placed, scope)
                self._check_given(node, results)
                scope.names.update(zip(node.outputs, results, strict=False))

    def _check_given(self, node: Node, results: Sequence[str]) -> None:
        """See that what was found inside a node is there for each of its outputs."""
        for position, name in enumerate(node.outputs):
            if name and not (position < len(results) and self._is_known(results[position])):
                raise Unsupported(f"what is inside it gives nothing for its output {name!r}.")

    def _is_known(self, name: str) -> bool:
        return name in self.values or name in self.unknown or self.is_no_tensor(name)

    def _following(self, node: Node) -> Follow | None:
        """How to go on inside a node, if it is none to run."""
        key = (node.domain, node.op_type)
        if key in _STRUCTURAL and (key != ("", "Identity") or self.is_no_tensor(node.inputs[0])):
            return _STRUCTURAL[key]
        if find(node.domain, node.op_type, node.version) or self._folds(node):
            return None
        return COMPOSED.get(key) or (_follow_function if is_function(node) else None)

    @contextmanager
    def _refusing(self, node: Node) -> Iterator[None]:
        """Turn what a node's rules raise into a problem of that node."""
        try:
            yield
        except (Unsupported, ModelLoadError) as error:
            self._refuse(node, str(error))
        except Exception as error:  # a damaged node can break a shape rule anywhere
            self._refuse(node, f"its attributes and inputs do not fit together ({error!r}).")

    def _place(self, node: Node) -> None:
        """Fold a node, or add it to those that run."""
        with self._refusing(node):
            for name in self.counts.keys() & node.inputs:
                raise Unsupported(
                    f"the size of its input {name!r} hangs on data of the run; such a value can be "
                    "an output of the graph, but no other node can read it."
                )
            if self._fold_known(node):
                return
            spec = find(node.domain, node.op_type, node.version)
            folds = self._folds(node)
            if self._is_bounded(node, spec, folds):
                node = self._bounded(node)
                spec = find(node.domain, node.op_type, node.version)
            foldable = not node.domain and node.op_type in FOLDABLE
            if self.unknown.intersection(node.inputs) and (spec or foldable):
                self.unknown.update(filter(None, node.outputs))
                return  # what it lacks is reported with the node that should have made it
            if spec is None and not folds:
                raise Unsupported(_no_kernel(node))
            if spec is not None and spec.tables is not None:
                tables = [self.literal(t, f"{self.label(node)}::table") for t in spec.tables(node)]
                node = replace(node, inputs=(*node.inputs, *tables))
            bound, types = self._infer(node, spec) if spec else (node, None)
            if folds and types is not None:
                given = [self.values[name] if name else None for name in node.inputs]
                folds = folds_exactly(node, given, types)
            if types is not None and not (folds and self._is_worth_keeping(node, types)):
                self.nodes.append(self._typed(bound, types))
            else:
                self._fold(node, types)

    def _is_bounded(self, node: Node, spec: OpSpec | None, folds: bool) -> bool:
        """Whether the size of an output hangs on data of the run."""
        if node.domain or node.op_type not in BOUNDED or folds:
            return False
        if self.unknown.intersection(node.inputs):
            return False
        positions = () if spec is None else spec.host_inputs
        return spec is None or any(
            node.inputs[position] not in self.constants
            for position in positions
            if position < len(node.inputs) and node.inputs[position]
        )

    def _bounded(self, node: Node) -> Node:
        """The node with outputs of the largest size, and a last one for how many entries count."""
        if not self.bounded_outputs:
            raise Unsupported(
                "the size of its output hangs on data of the run, and a captured graph has fixed "
                "shapes. capture_graph(bounded_outputs=True) gives it at its largest size, and how "
                "many of its entries count."
            )
        num_outputs, hanging = BOUNDED[node.op_type]
        missing = num_outputs - len(node.outputs)
        read = [node.outputs[k] for k in hanging if k < len(node.outputs) and node.outputs[k]]
        count = self.fresh(f"{next(iter(read), self.label(node))}.count")
        self.counts.update(dict.fromkeys(read, count))
        outputs = (*node.outputs, *[""] * missing, count)
        return replace(node, domain=DOMAIN, op_type=f"Bounded{node.op_type}", outputs=outputs)

    def _folds(self, node: Node) -> bool:
        foldable = not node.domain and node.op_type in FOLDABLE
        return foldable and all(name in self.constants for name in node.inputs if name)

    def _is_worth_keeping(self, node: Node, types: Sequence[TensorType]) -> bool:
        num_bytes = sum(type_.num_bytes for type_ in types)
        made_from = sum(
            self.constants[name].type.num_bytes for name in dict.fromkeys(node.inputs) if name
        )
        return num_bytes <= max(made_from, MAX_GROWN_BYTES)

    def _infer(self, node: Node, spec: OpSpec) -> tuple[Node, Sequence[TensorType]]:
        bound = replace(node, host_values=self._host_values(node, spec))
        inputs = [self.value(name) if name else None for name in node.inputs]
        for value in inputs:
            if value is not None and value.dtype not in KERNEL_DTYPES:
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
            self.define(node.outputs[0], literal(array))
            return True
        if node.op_type == "Identity" and node.inputs[0] in self.constants:
            self.define(node.outputs[0], self.constants[node.inputs[0]])
            return True
        if node.op_type in ("Shape", "Size") and node.inputs[0] in self.values:
            value = self.values[node.inputs[0]]
            shape = value.shape[node.attributes.get("start", 0) : node.attributes.get("end")]
            result = shape if node.op_type == "Shape" else value.size
            self.define(node.outputs[0], literal(np.array(result, np.int64)))
            return True
        return False

    def _host_values(self, node: Node, spec: OpSpec) -> dict[int, Array]:
        found: dict[int, Array] = {}
        for position in spec.host_inputs:
            name = node.inputs[position] if position < len(node.inputs) else ""
            if not name:
                continue
            array = self.known(name)
            if array is None:
                raise Unsupported(
                    f"input {position} ({name!r}) decides shapes and must be known at capture, "
                    "but is computed in the run. If it hangs on an input, fix that input with "
                    "constant_inputs."
                )
            found[position] = array
        return found

    def _fold(self, node: Node, types: Sequence[TensorType] | None) -> None:
        inputs = [self.constants[name] if name else None for name in node.inputs]
        for position, name in enumerate(node.outputs):
            if name:
                type_ = types[position] if types else None
                constant = fold_node(node, inputs, position, type_, self.parameters)
                self.define(name, constant)


def _needed(nodes: Sequence[Node], wanted: Iterable[str]) -> list[Node]:
    """The nodes that values depend on, in file order; outputs nobody reads are left out."""
    wanted = set(wanted)
    needed = []
    for node in reversed(nodes):
        read = tuple(name if name in wanted else "" for name in node.outputs)
        if any(read):
            needed.append(replace(node, outputs=read))
            wanted.update(names_read(node))
    return needed[::-1]


def _follow_function(tracer: Tracer, node: Node, _scope: Scope) -> Sequence[str]:
    inputs = [tracer.value(name) if name else None for name in node.inputs]
    body = function_body(node, inputs, tracer.source.versions)
    if body is None:
        raise Unsupported(_no_kernel(node))
    left_out = len(body.inputs) - len(node.inputs)
    inside = Scope(f"{tracer.label(node)}::", Scope())
    return tracer.run_body(body, (*node.inputs, *[""] * left_out), inside)


def _no_kernel(node: Node) -> str:
    if not node.domain and node.op_type in RANDOM:
        return (
            "it makes random numbers, and a graph gives the same for the same inputs in every run. "
            "Make them in NumPy and pass them as an input."
        )
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
    for kind, dtype in (("float", np.float32), ("int", np.int64)):
        for name in (f"value_{kind}", f"value_{kind}s"):
            if name not in attributes:
                continue
            array = np.array(attributes[name])
            if array.size and array.dtype.kind != kind[0]:
                raise Unsupported(f"{name} is {attributes[name]!r}.")
            return array.astype(dtype)
    return None
