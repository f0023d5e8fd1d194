"""Operators of the tests' own, random graphs of them, and a replay that tracks who wrote a byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest import mock

import numpy as np
from hypothesis import strategies as st

from cugraphmodel import plan as plan_module
from cugraphmodel.arena import Slot
from cugraphmodel.ir import Constant, Graph, Node, TensorType, Value
from cugraphmodel.ops.launch import ERROR_CODE, ERROR_WORD, Argument, Launch, Workspace
from cugraphmodel.ops.spec import OpSpec, Unsupported
from cugraphmodel.plan import Plan


def _types(node: Node, _inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    raise AssertionError(f"{node.label}: planning needs no shape rule")


def _launch(entry: str, *args: Argument) -> Launch:
    return Launch("none.cu", entry, (1, 1, 1), (32, 1, 1), args)


def _lower_kernel(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """One launch; reads every input, writes every output."""
    error = (ERROR_WORD, ERROR_CODE) if node.attributes.get("indexes") else ()
    return [_launch("kernel", *inputs, *outputs, np.int32(7), *error)]


def _lower_two_stages(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """The first launch writes a workspace, the second reads it and writes the outputs."""
    workspace = Workspace(int(node.attributes["scratch_bytes"]))
    return [_launch("first", *inputs, workspace), _launch("second", workspace, *outputs)]


def _lower_too_large(
    _node: Node, _inputs: Sequence[Value | None], _outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    return [Launch("none.cu", "large", (2**31, 1, 1), (32, 1, 1), ())]


def _lower_rejected(
    _node: Node, _inputs: Sequence[Value | None], _outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    raise Unsupported("It does not fit.")


SPECS = {
    "Kernel": OpSpec("Kernel", 1, _types, _lower_kernel),
    "TwoStages": OpSpec("TwoStages", 1, _types, _lower_two_stages),
    "TooLarge": OpSpec("TooLarge", 1, _types, _lower_too_large),
    "Rejected": OpSpec("Rejected", 1, _types, _lower_rejected),
    "View": OpSpec("View", 1, _types, _lower_kernel, is_view=True),
}
RUNNABLE = ("Kernel", "TwoStages", "View")


@contextmanager
def own_operators() -> Iterator[None]:
    """While open, plans are made of the operators above."""

    def find(_domain: str, op_type: str, _version: int) -> OpSpec:
        return SPECS[op_type]

    with mock.patch.object(plan_module, "find", find):
        yield


@dataclass
class GraphBuilder:
    """Collects a graph of byte tensors."""

    nodes: list[Node] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    constants: dict[str, Constant] = field(default_factory=dict)

    def value(self, name: str, num_bytes: int) -> str:
        self.values[name] = Value(np.dtype(np.uint8), (num_bytes,), name)
        return name

    def input(self, num_bytes: int) -> str:
        self.inputs.append(self.value(f"input{len(self.inputs)}", num_bytes))
        return self.inputs[-1]

    def constant(self, num_bytes: int, key: str | None = None) -> str:
        name = self.value(f"constant{len(self.constants)}", num_bytes)
        array = np.zeros(num_bytes, np.uint8)
        type_ = TensorType(array.dtype, array.shape)
        self.constants[name] = Constant(key or name, type_, frozenset(), lambda _: array)
        return name

    def node(self, op_type: str, inputs: Sequence[str], *num_bytes: int, **attributes: int) -> str:
        index = len(self.nodes)
        outputs = tuple(
            self.value(f"n{index}.{k}", size) if size >= 0 else ""
            for k, size in enumerate(num_bytes)
        )
        node = Node(op_type, tuple(inputs), outputs, attributes=attributes, index=index)
        self.nodes.append(node)
        return outputs[0]

    def view(self, name: str) -> str:
        return self.node("View", [name], self.values[name].num_bytes)

    def graph(self, *outputs: str) -> Graph:
        return Graph(
            tuple(self.nodes), self.values, tuple(self.inputs), outputs, dict(self.constants)
        )


SIZES = st.sampled_from([0, 1, 3, 256, 300, 700])


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Diamonds, views of views, unused values, outputs that are inputs, constants or repeated."""
    build = GraphBuilder()
    for _ in range(draw(st.integers(0, 3))):
        build.input(draw(SIZES))
    for _ in range(draw(st.integers(0, 2))):
        build.constant(draw(SIZES), key=draw(st.sampled_from([None, "shared"])))
    for _ in range(draw(st.integers(0, 12))):
        known = list(build.values)
        op_type = draw(st.sampled_from(RUNNABLE)) if known else "Kernel"
        if op_type == "View":
            build.view(draw(st.sampled_from(known)))
            continue
        inputs = draw(st.lists(st.sampled_from([*known, ""]), max_size=3))
        sizes = [draw(SIZES), *draw(st.lists(st.sampled_from([-1, 5, 400]), max_size=2))]
        build.node(op_type, inputs, *sizes, scratch_bytes=draw(st.integers(1, 600)))
    names = sorted(build.values)
    outputs = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4)) if names else []
    return build.graph(*outputs)


class Replay:
    """Replays a plan over an arena whose bytes hold the number of the value they belong to."""

    def __init__(self, graph: Graph, plan: Plan) -> None:
        self._graph = graph
        self._plan = plan
        self._arena = np.full(plan.arena_bytes, -1)
        self._numbers = {name: number for number, name in enumerate(graph.values)}
        self._base = dict(zip(graph.values, graph.values, strict=True))
        for node in graph.nodes:
            if node.op_type == "View":
                self._base[node.outputs[0]] = self._base[node.inputs[0]]

    def run(self) -> None:
        """One replay; raises AssertionError at the first byte that is not what it should be."""
        for value in self._plan.inputs:
            self._write(self._plan.slots[value.name], self._numbers[value.name])
        for step in self._plan.steps:
            written = {name for name in step.node.outputs if name}
            arguments = [a for a in step.launch.args if isinstance(a, Value)]
            reads = [value.name for value in arguments if value.name not in written]
            writes = [value.name for value in arguments if value.name in written]
            self._check(reads)
            for name in writes:
                self._write(self._plan.slots[name], self._numbers[name])
            for number, slot in enumerate(step.workspaces.values()):
                if step.launch.entry == "first":
                    self._write(slot, -100 - number)
                else:
                    assert (self._bytes(slot) == -100 - number).all(), step.node.label
            self._check([*reads, *writes])
        self._check([value.name for value in self._plan.outputs])

    def _bytes(self, slot: Slot) -> np.ndarray:
        assert slot.end <= len(self._arena)
        return self._arena[slot.offset : slot.end]

    def _write(self, slot: Slot, number: int) -> None:
        self._bytes(slot)[:] = number

    def _check(self, names: Sequence[str]) -> None:
        for name in names:
            base = self._base[name]
            if base in self._graph.constants:
                assert self._plan.constants[name] is self._graph.constants[base]
            else:
                held = self._bytes(self._plan.slots[name])
                assert len(held) == self._graph.values[name].num_bytes
                assert (held == self._numbers[base]).all(), name
