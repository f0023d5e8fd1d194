"""Which kernels the library compiles: every source with every set of macros that some launch uses.

Found by planning, so that it needs no device: the cases of all operators, the demo, the kernels of
the CUDA executor itself, and the test models.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from cugraphmodel import demo
from cugraphmodel.executors.cuda.staging import COPY_KERNEL
from cugraphmodel.front.bind import bind_inputs, resolve_outputs
from cugraphmodel.front.reader import read_model
from cugraphmodel.front.source import SourceModel
from cugraphmodel.front.trace import trace
from cugraphmodel.ir import Graph, Parameters
from cugraphmodel.ops.launch import Launch
from cugraphmodel.ops.spec import find
from cugraphmodel.passes import run_passes
from cugraphmodel.plan import build_plan
from tests.kernels.resources import Instance
from tests.models.files import model_path
from tests.models.references import CASES as MODEL_CASES
from tests.models.references import Step, load_reference
from tests.ops import harness
from tests.ops.test_cases import CASES

__all__ = ["Use", "common_uses", "model_uses"]

Shapes = dict[str, tuple[int, ...]]
DEMO_BATCH_SIZES = (1, 4, 32)


@dataclass(frozen=True, order=True)
class Use:
    """A kernel as some launch asks for it."""

    instance: Instance
    entry: str
    num_threads: int
    dynamic_shared_bytes: int


@functools.cache
def common_uses() -> frozenset[Use]:
    """All that needs no file but the repository's own: operator cases, demo, executor."""
    launches = [COPY_KERNEL]
    for case in CASES:
        graph = harness.graph_of(case)
        launches += (step.launch for step in build_plan(graph).steps)
        if case.name.endswith("_large_tiles"):
            launches += _alternatives(graph)
    demo_model = read_model(Path(demo.__file__).parent / "digits.onnx")
    for batch_size in DEMO_BATCH_SIZES:
        shapes = bind_inputs(demo_model.inputs, batch_size, {}, {})
        launches += _planned(demo_model, shapes, {})
    return _uses(launches)


def model_uses(model: str) -> frozenset[Use]:
    """What a test model launches in its test cases, fused and node by node.

    Raises:
        RuntimeError: the model's file is not there and cannot be brought.
    """
    source = read_model(model_path(model))
    launches: list[Launch] = []
    for case in MODEL_CASES[model]:
        reference = load_reference(model, case)
        free = [info for info in source.inputs if info.name not in reference.bound]
        for shapes in {tuple(_shapes_of(step).items()) for step in reference.steps}:
            bound_shapes = bind_inputs(free, None, {}, dict(shapes))
            launches += _planned(source, bound_shapes, reference.bound)
    return _uses(launches)


def _shapes_of(step: Step) -> Shapes:
    return {name: array.shape for name, array in step.inputs.items()}


def _planned(
    source: SourceModel, shapes: Shapes, constants: Mapping[str, npt.NDArray[Any]]
) -> Iterator[Launch]:
    outputs = resolve_outputs(source, None)
    graph = trace(source, Parameters(source.parameters), shapes, outputs, constants).graph
    for planned in (build_plan(graph, reuse_memory=False), build_plan(run_passes(graph))):
        yield from (step.launch for step in planned.steps)


def _alternatives(graph: Graph) -> Iterator[Launch]:
    """All that measuring may choose for a graph of one node; see :mod:`cugraphmodel.tuning`."""
    (node,) = graph.nodes
    spec = find(node.domain, node.op_type, node.version)
    assert spec is not None
    assert spec.alternatives is not None
    inputs = [graph.values[name] if name else None for name in node.inputs]
    for attributes in spec.alternatives(node, inputs):
        chosen = replace(node, attributes={**node.attributes, **attributes})
        yield from (step.launch for step in build_plan(graph.replace(nodes=(chosen,))).steps)


def _uses(launches: Iterable[Launch]) -> frozenset[Use]:
    return frozenset(
        Use(
            Instance(launch.source, launch.macros),
            launch.entry,
            launch.block[0] * launch.block[1] * launch.block[2],
            launch.shared_bytes,
        )
        for launch in launches
    )
