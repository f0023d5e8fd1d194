"""Sequences and optionals, followed at capture: what runs are the tensors in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cugraphmodel.ir import Node
from cugraphmodel.ops.arguments import normalize_axis
from cugraphmodel.ops.spec import Unsupported

if TYPE_CHECKING:
    from cugraphmodel.front.source import Subgraph
    from cugraphmodel.front.tracer import Scope, Tracer

__all__ = ["OPERATORS"]


def _construct(tracer: Tracer, node: Node, _scope: Scope) -> Sequence[str]:
    return _sequence(tracer, node, node.inputs)


def _length(tracer: Tracer, node: Node, _scope: Scope) -> Sequence[str]:
    count = len(_elements(tracer, node.inputs[0]))
    return [tracer.literal(np.array(count, np.int64), f"{tracer.label(node)}::length")]


def _at(tracer: Tracer, node: Node, _scope: Scope) -> Sequence[str]:
    elements = _elements(tracer, node.inputs[0])
    return [elements[_position(tracer, node.inputs[1], len(elements))]]


def _insert(tracer: Tracer, node: Node, _scope: Scope) -> Sequence[str]:
    elements = list(_elements(tracer, node.inputs[0]))
    place = len(elements)
    if len(node.inputs) > 2 and node.inputs[2]:
        place = _position(tracer, node.inputs[2], len(elements), after_last=True)
    elements.insert(place, node.inputs[1])
    return _sequence(tracer, node, elements)


def _erase(tracer: Tracer, node: Node, _scope: Scope) -> Sequence[str]:
    elements = list(_elements(tracer, node.inputs[0]))
    place = len(elements) - 1
    if len(node.inputs) > 1 and node.inputs[1]:
        place = _position(tracer, node.inputs[1], len(elements))
    del elements[place]
    return _sequence(tracer, node, elements)


def _split(tracer: Tracer, node: Node, _scope: Scope) -> Sequence[str]:
    name = node.inputs[0]
    shape = tracer.value(name).shape
    axis = normalize_axis(node.attributes.get("axis", 0), len(shape))
    sizes = _sizes(tracer, node, shape[axis])
    label = tracer.label(node)
    split = tracer.literal(np.array(sizes, np.int64), f"{label}::split")
    parts = tracer.emit_several(len(sizes), "Split", (name, split), node, axis=axis)
    if len(node.inputs) == 1 and not node.attributes.get("keepdims", 1):
        kept = tracer.literal(np.array(shape[:axis] + shape[axis + 1 :], np.int64), f"{label}::to")
        parts = [tracer.emit("Reshape", (part, kept), node) for part in parts]
    return _sequence(tracer, node, parts)


def _sizes(tracer: Tracer, node: Node, length: int) -> list[int]:
    if len(node.inputs) == 1 or not node.inputs[1]:
        tracer.count_unrolled(length)
        return [1] * length
    split = tracer.known(node.inputs[1])
    if split is None:
        raise _computed(node.inputs[1])
    if split.ndim:
        return [int(size) for size in split]
    step = int(split.item())
    if step <= 0:
        raise Unsupported(f"it splits into parts of size {step}; a size is 1 or more.")
    tracer.count_unrolled(-(-length // step))
    return [min(step, length - start) for start in range(0, length, step)]


def _concat(tracer: Tracer, node: Node, _scope: Scope) -> Sequence[str]:
    elements = _elements(tracer, node.inputs[0])
    if not elements:
        raise Unsupported("its sequence is empty.")
    axis = node.attributes["axis"]
    rank = len(tracer.value(elements[0]).shape)
    if node.attributes.get("new_axis", 0):
        axis = normalize_axis(axis, rank + 1)
        axes = tracer.literal(np.array([axis], np.int64), f"{tracer.label(node)}::axes")
        elements = tuple(tracer.emit("Unsqueeze", (part, axes), node) for part in elements)
    return [tracer.emit("Concat", elements, node, axis=axis)]


def _map(tracer: Tracer, node: Node, scope: Scope) -> Sequence[str]:
    body: Subgraph = node.attributes["body"]
    columns: list[list[str]] = [[] for _ in node.outputs]
    for step in range(len(_elements(tracer, node.inputs[0]))):
        given = [
            tracer.sequences[name][step] if name in tracer.sequences else name
            for name in node.inputs
        ]
        inside = scope.child(f"{tracer.label(node)}[{step}]")
        for column, value in zip(columns, tracer.run_body(body, given, inside), strict=True):
            column.append(value)
    for name, column in zip(node.outputs, columns, strict=True):
        tracer.sequences[name] = tuple(column)
    return node.outputs


def _optional(tracer: Tracer, node: Node, _scope: Scope) -> Sequence[str]:
    if node.inputs and node.inputs[0]:
        return [node.inputs[0]]
    tracer.absent.add(node.outputs[0])
    return [node.outputs[0]]


def _has_element(tracer: Tracer, node: Node, _scope: Scope) -> Sequence[str]:
    held = bool(node.inputs and node.inputs[0]) and node.inputs[0] not in tracer.absent
    return [tracer.literal(np.array(held), f"{tracer.label(node)}::held")]


def _same(tracer: Tracer, node: Node, _scope: Scope) -> Sequence[str]:
    if node.op_type == "OptionalGetElement" and node.inputs[0] in tracer.absent:
        raise Unsupported("its optional holds nothing.")
    return [node.inputs[0]]


def _sequence(tracer: Tracer, node: Node, elements: Sequence[str]) -> Sequence[str]:
    tracer.sequences[node.outputs[0]] = tuple(elements)
    return node.outputs


def _elements(tracer: Tracer, name: str) -> tuple[str, ...]:
    if name not in tracer.sequences:
        raise Unsupported(f"it takes a sequence, and {name!r} is none.")
    return tracer.sequences[name]


def _position(tracer: Tracer, name: str, length: int, *, after_last: bool = False) -> int:
    position = tracer.known(name)
    if position is None:
        raise _computed(name)
    if position.dtype.kind != "i":
        raise Unsupported(f"position {name!r} is {position.dtype.name}, expected an integer.")
    index = int(position.item())
    if not -length <= index < length + after_last:
        raise Unsupported(f"position {index} lies outside its sequence of {length}.")
    return index + length if index < 0 else index


def _computed(name: str) -> Unsupported:
    return Unsupported(
        f"{name!r} is computed in the run and must be known at capture. If it hangs on an input, "
        "fix that input with constant_inputs."
    )


OPERATORS: Mapping[tuple[str, str], Callable[[Tracer, Node, Scope], Sequence[str]]] = {
    ("", "ConcatFromSequence"): _concat,
    ("", "Identity"): _same,  # of a sequence or an optional; of a tensor it is a node
    ("", "Optional"): _optional,
    ("", "OptionalGetElement"): _same,
    ("", "OptionalHasElement"): _has_element,
    ("", "SequenceAt"): _at,
    ("", "SequenceConstruct"): _construct,
    ("", "SequenceEmpty"): _construct,
    ("", "SequenceErase"): _erase,
    ("", "SequenceInsert"): _insert,
    ("", "SequenceLength"): _length,
    ("", "SequenceMap"): _map,
    ("", "SplitToSequence"): _split,
}
