"""From a graph to a plan: ordered kernel launches and the place of every byte, as plain data.

A plan needs no device. Executors turn it into memory and launches without deciding anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cugraphmodel.arena import Lifetime, Slot, align, place
from cugraphmodel.errors import NodeProblem, UnsupportedModelError
from cugraphmodel.ir import Constant, Graph, Node, Value
from cugraphmodel.ops.launch import ERROR_WORD, Launch, Workspace
from cugraphmodel.ops.spec import Unsupported, find

__all__ = ["Plan", "Step", "build_plan"]


@dataclass(frozen=True, eq=False)
class Step:
    """One launch of a plan.

    Attributes:
        node: the node it belongs to.
        launch: kernel, geometry and arguments.
        workspaces: where this step's scratch memory lies in the arena.
    """

    node: Node
    launch: Launch
    workspaces: Mapping[Workspace, Slot]


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything an executor needs.

    Attributes:
        inputs: the graph's inputs, in the file's order.
        outputs: the values to give back, in the order asked for.
        steps: launches, in order.
        slots: value name -> place in the arena, for every value that is not a constant. Views
            share the slot of the value they view.
        constants: value name -> constant, for those that a step or an output reads.
        arena_bytes: size of the arena.
        uses_error_word: whether some step can report bad index data.
        state: name of a state -> the value that holds it between runs. Whoever makes memory for
            the plan writes it before the first run; the plan's own steps write it after that.
        values: every value of the graph, by name.
    """

    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    steps: tuple[Step, ...]
    slots: Mapping[str, Slot]
    constants: Mapping[str, Constant]
    arena_bytes: int
    uses_error_word: bool
    state: Mapping[str, Value] = field(default_factory=dict)
    values: Mapping[str, Value] = field(default_factory=dict)

    @property
    def staging_bytes(self) -> int:
        """Bytes of host memory that inputs and outputs take."""
        return sum(align(value.num_bytes) for value in (*self.inputs, *self.outputs))

    @property
    def weight_bytes(self) -> int:
        """Bytes of the constants, each counted once."""
        unique = {constant.key: constant.type.num_bytes for constant in self.constants.values()}
        return sum(align(num_bytes) for num_bytes in unique.values())

    def __str__(self) -> str:
        lines = [
            f"arena {self.arena_bytes} B, weights {self.weight_bytes} B, "
            f"staging {self.staging_bytes} B, {len(self.steps)} kernels"
        ]
        lines += [f"input  {value} @ {self.slots[value.name].offset}" for value in self.inputs]
        for number, step in enumerate(self.steps):
            lines.append(f"{number:4d}  {step.node.label}: {step.launch}")
            for argument in step.launch.args:
                if isinstance(argument, Value):
                    lines.append(f"        {argument}  {self._place(argument)}")
        lines += [f"output {value}  {self._place(value)}" for value in self.outputs]
        lines += [f"state  {value}  {self._place(value)}" for value in self.state.values()]
        return "\n".join(lines)

    def _place(self, value: Value) -> str:
        slot = self.slots.get(value.name)
        return "(constant)" if slot is None else f"@ {slot.offset}"


def build_plan(graph: Graph, *, reuse_memory: bool = True) -> Plan:
    """Lower every node, then place every value.

    Args:
        graph: after all passes.
        reuse_memory: False keeps every value alive to the end, for debugging.

    Raises:
        UnsupportedModelError: nodes whose kernels cannot be launched for these shapes.
    """
    launches, base_of = _lower(graph)
    state = _state_values(graph, base_of)
    launches = _with_carries(graph, launches, state)
    graph = graph.replace(values={**graph.values, **{v.name: v for v in state.values()}})
    scratch = _workspace_names(launches)
    lifetimes = _lifetimes(graph, launches, base_of, scratch, state, reuse_memory)
    slots, arena_bytes = place(lifetimes)
    steps = tuple(
        Step(
            node,
            launch,
            {
                argument: slots[scratch[argument]]
                for argument in launch.args
                if isinstance(argument, Workspace)
            },
        )
        for node, launch in launches
    )
    read = {a.name for _, launch in launches for a in launch.args if isinstance(a, Value)}
    read |= set(graph.outputs)
    constants = {
        name: graph.constants[base_of.get(name, name)]
        for name in sorted(read)
        if base_of.get(name, name) in graph.constants
    }
    return Plan(
        inputs=tuple(graph.values[name] for name in graph.inputs),
        outputs=tuple(graph.values[name] for name in graph.outputs),
        steps=steps,
        slots={
            name: slots[base_of.get(name, name)]
            for name in graph.values
            if base_of.get(name, name) in slots
        },
        constants=constants,
        arena_bytes=arena_bytes,
        uses_error_word=_uses_error_word(launches),
        state=state,
        values=graph.values,
    )


def _uses_error_word(launches: Iterable[tuple[Node, Launch]]) -> bool:
    return any(argument is ERROR_WORD for _, launch in launches for argument in launch.args)


def _state_values(graph: Graph, base_of: Mapping[str, str]) -> dict[str, Value]:
    """State -> the value that holds it between runs: memory that is overwritten after a run.

    That is the state itself, unless its bytes are read after the last node, because they are an
    output or take the place of a state: then it is a copy, from which each run begins.
    """
    read_last = {base_of.get(name, name) for name in graph.kept}
    taken = set(graph.values)
    held: dict[str, Value] = {}
    for name in graph.state:
        own = name
        while name in read_last and own in taken:
            own += " (held)"
        taken.add(own)
        held[name] = replace(graph.values[name], name=own)
    return held


def _with_carries(
    graph: Graph, launches: list[tuple[Node, Launch]], state: Mapping[str, Value]
) -> list[tuple[Node, Launch]]:
    """The launches, with those around them that begin and end a run with the graph's state."""
    begin = [(held, graph.values[name]) for name, held in state.items() if held.name != name]
    end = [(graph.values[source], state[name]) for name, source in graph.state.items()]
    checked = int(_uses_error_word(launches))
    return [*_carry(begin, 0), *launches, *_carry(end, checked)]


def _carry(pairs: Sequence[tuple[Value, Value]], unless_error: int) -> list[tuple[Node, Launch]]:
    if not pairs:
        return []
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    node = Node(
        "Carry",
        tuple(value.name for value in sources),
        tuple(value.name for value in targets),
        domain="cugraphmodel",
        attributes={"unless_error": unless_error},
        name="state",
    )
    spec = find(node.domain, node.op_type, node.version)
    assert spec is not None  # registered with the operators
    return [(node, launch) for launch in spec.lower(node, sources, targets)]


def _lower(graph: Graph) -> tuple[list[tuple[Node, Launch]], dict[str, str]]:
    """Launches in order, and view name -> name of the value whose bytes it has."""
    launches: list[tuple[Node, Launch]] = []
    base_of: dict[str, str] = {}
    problems: list[NodeProblem] = []
    for node in graph.nodes:
        spec = find(node.domain, node.op_type, node.version)
        assert spec is not None  # the front let only known operators pass
        inputs = [graph.values[name] if name else None for name in node.inputs]
        outputs = [graph.values[name] if name else None for name in node.outputs]
        if spec.is_view:
            base_of[node.outputs[0]] = base_of.get(node.inputs[0], node.inputs[0])
            outputs[0] = None
        if all(output is None or output.size == 0 for output in outputs):
            continue
        try:
            launches += [(node, launch) for launch in spec.lower(node, inputs, outputs)]
        except (Unsupported, ValueError, OverflowError) as error:
            # The latter two: outside what a Launch, or an integer of a kernel, can hold.
            problems.append(node.problem(str(error)))
    if problems:
        raise UnsupportedModelError("the model", tuple(problems))
    return launches, base_of


def _lifetimes(
    graph: Graph,
    launches: list[tuple[Node, Launch]],
    base_of: Mapping[str, str],
    scratch: Mapping[Workspace, str],
    state: Mapping[str, Value],
    reuse_memory: bool,
) -> dict[str, Lifetime]:
    """Lifetime of every value that needs memory of its own in the arena.

    The inputs are written before step 0 and the outputs are read after the last step, so both
    count as one step more. What holds state lives through all steps.
    """
    end = len(launches)
    spans: dict[str, tuple[int, int]] = dict.fromkeys(graph.inputs, (-1, -1))
    sizes = {name: value.num_bytes for name, value in graph.values.items()}

    def touch(name: str, step: int) -> None:
        first, last = spans.get(name, (step, step))
        spans[name] = (min(first, step), max(last, step))

    for step, (_, launch) in enumerate(launches):
        for argument in launch.args:
            if isinstance(argument, Value):
                touch(base_of.get(argument.name, argument.name), step)
            elif isinstance(argument, Workspace):
                sizes[scratch[argument]] = argument.num_bytes
                touch(scratch[argument], step)
    for name in graph.outputs:
        touch(base_of.get(name, name), end)
    for held in state.values():
        spans[held.name] = (-1, end)
    if not reuse_memory:
        spans = {name: (first, end) for name, (first, _) in spans.items()}
    return {
        name: Lifetime(sizes[name], first, last)
        for name, (first, last) in spans.items()
        if name not in graph.constants
    }


def _workspace_names(launches: list[tuple[Node, Launch]]) -> dict[Workspace, str]:
    """A name for every workspace that no ONNX value can have (those hold no NUL)."""
    names: dict[Workspace, str] = {}
    for _, launch in launches:
        for argument in launch.args:
            if isinstance(argument, Workspace):
                names.setdefault(argument, f"workspace\0{len(names)}")
    return names
