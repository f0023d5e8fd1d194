"""Choice by measurement: of the launches that an operator may take, those that are fastest here."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cugraphmodel.dtypes import kind_of
from cugraphmodel.executors.base import Device, Progress
from cugraphmodel.ir import Graph, Node, Parameters, Value
from cugraphmodel.kernels.cache import cached, is_cached
from cugraphmodel.kernels.source import device_header, load_source
from cugraphmodel.ops.launch import Launch
from cugraphmodel.ops.spec import find
from cugraphmodel.plan import Plan, build_plan

__all__ = ["choose_launches"]

LEAST_GAIN = 0.03
"""An alternative that is faster by no more than this share of the time may be so by chance."""
ROUNDS = 3
REPEATS = 20


def choose_launches(
    graph: Graph,
    device: Device,
    progress: Progress | None = None,
    measure: Callable[[Plan, Device], float] | None = None,
) -> Graph:
    """The graph with the attributes of the fastest alternative of every node that has some.

    Each distinct node, by operator, attributes and types of its inputs, is measured once by itself
    on random data, and what was found is kept beside the compiled kernels: it is measured anew
    when the device, its driver or a kernel changes. Where no alternative is faster by more than
    3 %, the node keeps the launches that it has without measuring.

    Args:
        graph: after all passes.
        device: where it will run.
        progress: called as ``progress(what, done, total)``.
        measure: from a plan to milliseconds; None for :func:`measured_ms`.

    Raises:
        KernelCompileError, DeviceMemoryError, CaptureError: the device failed.
    """
    choices: dict[str, _Choice] = {}
    for node in graph.nodes:
        alternatives = _alternatives(graph, node)
        if len(alternatives) > 1:
            choices.setdefault(_signature(graph, node), _Choice(graph, node, alternatives))
    unknown = [choice for choice in choices.values() if not choice.is_known(device)]
    device.compile([launch for choice in unknown for launch in choice.launches], progress)
    for done, choice in enumerate(unknown):
        if progress is not None:
            progress(choice.node.label, done, len(unknown))
        choice.make(device, measure or measured_ms)
    chosen = {
        signature: choice.make(device, measure or measured_ms)
        for signature, choice in choices.items()
    }
    nodes = (
        replace(node, attributes={**node.attributes, **chosen.get(_signature(graph, node), {})})
        for node in graph.nodes
    )
    return graph.replace(nodes=tuple(nodes))


def measured_ms(plan: Plan, device: Device) -> float:
    """Milliseconds of a plan's steps on a device, on random data: the least of a few rounds."""
    executable = device.prepare(plan, device.weight_store(), Parameters({}), capture=False)
    try:
        generator = np.random.default_rng(0)
        for view in executable.inputs:
            if kind_of(view.dtype) == "f":
                view[...] = generator.standard_normal(view.shape).astype(view.dtype)
        return min(math.fsum(executable.time_steps(REPEATS)) for _ in range(ROUNDS))
    finally:
        executable.close()


def _alternatives(graph: Graph, node: Node) -> Sequence[Mapping[str, Any]]:
    spec = find(node.domain, node.op_type, node.version)
    if spec is None or spec.alternatives is None:
        return []
    return spec.alternatives(node, [graph.values[n] if n else None for n in node.inputs])


def _types(graph: Graph, node: Node) -> Iterator[str]:
    for name in node.inputs:
        value = graph.values[name] if name else None
        yield "-" if value is None else f"{value.dtype.name}{list(value.shape)}"


def _signature(graph: Graph, node: Node) -> str:
    """Equal for two nodes that do the same work."""
    return f"{node.domain} {node.op_type} {sorted(node.attributes.items())} " + " ".join(
        _types(graph, node)
    )


class _Choice:
    """What there is to choose from for one kind of node."""

    def __init__(self, graph: Graph, node: Node, alternatives: Sequence[Mapping[str, Any]]) -> None:
        self.node = node
        self._alternatives = alternatives
        self._signature = _signature(graph, node)
        self._plans = [
            build_plan(_alone(graph, replace(node, attributes={**node.attributes, **attributes})))
            for attributes in alternatives
        ]

    @property
    def launches(self) -> list[Launch]:
        """Those of all alternatives."""
        return [step.launch for plan in self._plans for step in plan.steps]

    def is_known(self, device: Device) -> bool:
        """Whether it was measured before, on this device and with these kernels."""
        return is_cached(self._parts(device), ".json")

    def make(self, device: Device, measure: Callable[[Plan, Device], float]) -> Mapping[str, Any]:
        """The attributes of the best, measured unless they are known."""

        def write(path: Path) -> None:
            times_ms = [measure(plan, device) for plan in self._plans]
            best = min(range(len(times_ms)), key=times_ms.__getitem__)
            if times_ms[best] >= times_ms[0] * (1 - LEAST_GAIN):
                best = 0
            path.write_text(json.dumps({"chosen": best, "times_ms": times_ms}), encoding="utf-8")

        found: dict[str, Any] = json.loads(
            cached(self._parts(device), ".json", write).read_text(encoding="utf-8")
        )
        return self._alternatives[int(found["chosen"])]

    def _parts(self, device: Device) -> list[str]:
        """All that the choice hangs on."""
        sources = sorted({launch.source for launch in self.launches})
        return [
            "tuning",
            device.description,
            self._signature,
            json.dumps([dict(attributes) for attributes in self._alternatives]),
            *(load_source(source).text for source in sources),
            device_header(),
        ]


def _alone(graph: Graph, node: Node) -> Graph:
    """A graph of one node, all of whose inputs are the caller's."""
    inputs = tuple(dict.fromkeys(filter(None, node.inputs)))
    values: dict[str, Value] = {
        name: graph.values[name] for name in (*inputs, *filter(None, node.outputs))
    }
    return Graph((node,), values, inputs, tuple(filter(None, node.outputs)), {})
