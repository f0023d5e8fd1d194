"""If, Loop and Scan, followed at capture: what runs is a flat list of nodes.

A condition or a trip count that is known then decides there. Where a condition is computed in the
run, both sides are computed and one is selected, which is exact as long as both have one shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cugraphmodel.ir import Node
from cugraphmodel.ops.spec import Unsupported

if TYPE_CHECKING:
    from cugraphmodel.front.source import Subgraph
    from cugraphmodel.front.tracer import Scope, Tracer

__all__ = ["OPERATORS"]


def _follow_if(tracer: Tracer, node: Node, scope: Scope) -> Sequence[str]:
    condition = tracer.known(node.inputs[0])
    if condition is not None:
        branch = "then_branch" if condition.item() else "else_branch"
        inside = scope.child(f"{tracer.label(node)}::{branch}")
        return tracer.run_body(node.attributes[branch], (), inside)
    results = [
        tracer.run_body(node.attributes[branch], (), scope.child(f"{tracer.label(node)}::{branch}"))
        for branch in ("then_branch", "else_branch")
    ]
    flag = _scalar(tracer, node, node.inputs[0])
    return [
        _select(tracer, node, flag, yes, no) if name else yes
        for name, yes, no in zip(node.outputs, *results, strict=True)
    ]


def _follow_loop(tracer: Tracer, node: Node, scope: Scope) -> Sequence[str]:
    body: Subgraph = node.attributes["body"]
    count, condition, *carried = (*node.inputs, "", "")[: max(2, len(node.inputs))]
    limit = _trip_limit(tracer, count)
    running = condition  # "": for ever; a constant; or a value of the run
    scanned: list[list[str]] = [[] for _ in body.outputs[1 + len(carried) :]]
    step = 0
    while limit is None or step < limit:
        state = tracer.known(running) if running else np.True_
        if state is not None and not state.item():
            break
        if state is None and (scanned or limit is None):
            raise Unsupported(
                "when it ends is computed in the run, so that "
                + ("the size of what it gives is" if scanned else "its number of iterations is")
                + " not known at capture. If its condition hangs on an input, fix that input with "
                "constant_inputs."
            )
        label = f"{tracer.label(node)}[{step}]"
        given = [
            tracer.literal(np.array(step, np.int64), f"{label}::iteration"),
            tracer.literal(np.array(True), f"{label}::condition"),
            *carried,
        ]
        going_on, *results = tracer.run_body(body, given, scope.child(label))
        if tracer.unknown.intersection([going_on, *results]):
            return _unknown(tracer, node)
        if state is None:
            flag = _scalar(tracer, node, running)
            ends = _scalar(tracer, node, going_on)
            kept = zip(results, carried, strict=True)
            carried = [_select(tracer, node, flag, new, old) for new, old in kept]
            running = tracer.emit("And", (flag, ends), node)
        else:
            carried, extra = results[: len(carried)], results[len(carried) :]
            for column, value in zip(scanned, extra, strict=True):
                column.append(value)
            running = going_on
        step += 1
    return [*carried, *(_stack(tracer, node, column, 0) for column in scanned)]


def _trip_limit(tracer: Tracer, name: str) -> int | None:
    if not name:
        return None
    count = tracer.known(name)
    if count is None:
        raise Unsupported(
            f"its trip count {name!r} is computed in the run and must be known at capture. If it "
            "hangs on an input, fix that input with constant_inputs."
        )
    if count.dtype != np.int64:
        raise Unsupported(f"its trip count {name!r} is {count.dtype.name}, expected int64.")
    return int(count.item())


def _follow_scan(tracer: Tracer, node: Node, scope: Scope) -> Sequence[str]:
    if node.version >= 9:
        return _scan(tracer, node, node.inputs, scope, tracer.label(node))
    if node.inputs[0]:
        raise Unsupported("sequence_lens is not supported; opset 9 has no such input.")
    batched = node.inputs[1:]  # opset 8 scans each element of the batch by itself
    per_sample = []
    for sample in range(tracer.value(batched[0]).shape[0]):
        index = tracer.literal(np.array(sample, np.int64), f"{tracer.label(node)}::sample")
        inputs = [tracer.emit("Gather", (name, index), node, axis=0) for name in batched]
        label = f"{tracer.label(node)}[{sample}]"
        per_sample.append(_scan(tracer, node, inputs, scope, label))
    return [_stack(tracer, node, list(column), 0) for column in zip(*per_sample, strict=True)]


def _scan(
    tracer: Tracer, node: Node, inputs: Sequence[str], scope: Scope, label: str
) -> Sequence[str]:
    body: Subgraph = node.attributes["body"]
    num_scanned = node.attributes["num_scan_inputs"]
    if not 1 <= num_scanned <= len(inputs):
        raise Unsupported(f"num_scan_inputs is {num_scanned}, and it has {len(inputs)} inputs.")
    carried = list(inputs[: len(inputs) - num_scanned])
    num_outputs = len(body.outputs) - len(carried)
    sources = [
        (name, *_direction(node, "scan_input", position))
        for position, name in enumerate(inputs[len(inputs) - num_scanned :])
    ]
    lengths = {tracer.value(name).shape[axis] for name, axis, _ in sources}
    if len(lengths) != 1:
        raise Unsupported(f"its scan inputs have different lengths, {sorted(lengths)}.")
    scanned: list[list[str]] = [[] for _ in range(num_outputs)]
    for step in range(lengths.pop()):
        given = [*carried, *(_part(tracer, node, *source, step) for source in sources)]
        results = tracer.run_body(body, given, scope.child(f"{label}[{step}]"))
        if tracer.unknown.intersection(results):
            return _unknown(tracer, node)
        carried, extra = results[: len(carried)], results[len(carried) :]
        for column, value in zip(scanned, extra, strict=True):
            column.append(value)
    stacked = []
    for position, column in enumerate(scanned):
        axis, backward = _direction(node, "scan_output", position)
        stacked.append(_stack(tracer, node, column[::-1] if backward else column, axis))
    return [*carried, *stacked]


def _direction(node: Node, kind: str, position: int) -> tuple[int, bool]:
    """The axis that a scan input or output is cut along, and whether from its end."""
    axes = node.attributes.get(f"{kind}_axes")
    old = node.attributes.get("directions") if kind == "scan_input" else None  # opset 8
    backward = node.attributes.get(f"{kind}_directions", old)
    return (axes[position] if axes else 0), bool(backward[position]) if backward else False


def _part(tracer: Tracer, node: Node, name: str, axis: int, backward: bool, step: int) -> str:
    """What one iteration sees of a scan input."""
    index = np.array(-1 - step if backward else step, np.int64)
    position = tracer.literal(index, f"{tracer.label(node)}::index")
    return tracer.emit("Gather", (name, position), node, axis=axis)


def _unknown(tracer: Tracer, node: Node) -> Sequence[str]:
    """Its outputs, where the body has a problem."""
    tracer.unknown.update(filter(None, node.outputs))
    return node.outputs


def _stack(tracer: Tracer, node: Node, parts: Sequence[str], axis: int) -> str:
    """The parts along a new axis."""
    if not parts:
        raise Unsupported("it runs no iteration, and the shape of what it gives is not known.")
    axes = tracer.literal(np.array([axis], np.int64), f"{tracer.label(node)}::axes")
    raised = [tracer.emit("Unsqueeze", (part, axes), node) for part in parts]
    if len(raised) == 1:
        return raised[0]
    rank = len(tracer.value(parts[0]).shape) + 1
    return tracer.emit("Concat", raised, node, axis=axis % rank)


def _scalar(tracer: Tracer, node: Node, flag: str) -> str:
    """A condition of one element as a scalar."""
    if tracer.value(flag).shape == ():
        return flag
    shape = tracer.literal(np.array([], np.int64), f"{tracer.label(node)}::shape")
    return tracer.emit("Reshape", (flag, shape), node)


def _select(tracer: Tracer, node: Node, flag: str, yes: str, no: str) -> str:
    if yes == no or tracer.unknown.intersection((yes, no)):
        return no if yes in tracer.unknown else yes
    first, second = tracer.value(yes), tracer.value(no)
    if (first.dtype, first.shape) != (second.dtype, second.shape):
        raise Unsupported(
            f"its condition is computed in the run, and what it selects from differs: "
            f"{first.dtype.name}{list(first.shape)} and {second.dtype.name}{list(second.shape)}. "
            "If the condition hangs on an input, fix that input with constant_inputs."
        )
    return tracer.emit("Where", (flag, yes, no), node)


OPERATORS: Mapping[tuple[str, str], Callable[[Tracer, Node, Scope], Sequence[str]]] = {
    ("", "If"): _follow_if,
    ("", "Loop"): _follow_loop,
    ("", "Scan"): _follow_scan,
}
