"""From a source model and concrete input shapes to a :class:`Graph`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from cugraphmodel.errors import UnsupportedModelError
from cugraphmodel.front.fold import literal, parameter
from cugraphmodel.front.source import SourceModel
from cugraphmodel.front.state import check_state
from cugraphmodel.front.tracer import KERNEL_DTYPES, MAX_RANK, Scope, Tracer
from cugraphmodel.ir import Graph, Parameters, Value
from cugraphmodel.ops.views import zip_map_labels

__all__ = ["Traced", "class_labels", "trace"]

Array = npt.NDArray[Any]


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
    state: Mapping[str, str] | None = None,
    *,
    bounded_outputs: bool = False,
) -> Traced:
    """Type every value that ``outputs`` and ``state`` need, and fold what is constant.

    Args:
        source: the model.
        parameters: its parameters' current values.
        input_shapes: concrete shape of every input that is not in ``constant_inputs``.
        outputs: value names.
        constant_inputs: inputs with a fixed value.
        state: input or parameter -> the value that takes its place after each run.
        bounded_outputs: as in ``capture_graph``; the numbers of entries follow the outputs.

    Raises:
        UnsupportedModelError: lists every node that cannot run, and why.
        ShapeError, DtypeError: a state and what takes its place differ.
    """
    tracer = Tracer(source, parameters, bounded_outputs)
    state = state or {}
    for name, array in source.parameters.items():
        if name in state:
            tracer.values[name] = Value(array.dtype, array.shape, name)
        else:
            tracer.define(name, parameter(name, array))
    for name, array in constant_inputs.items():
        tracer.define(name, literal(array))
    for info in source.inputs:
        if info.name not in constant_inputs:
            shape = input_shapes[info.name]
            if info.dtype is None or len(shape) > MAX_RANK:
                tracer.problems.append(
                    f"input {info} is not supported; tensors of bool, integers and floats with up "
                    f"to {MAX_RANK} dimensions are."
                )
                tracer.unknown.add(info.name)
            else:
                tracer.values[info.name] = Value(info.dtype, shape, info.name)
    main = Scope()
    kept = tuple(dict.fromkeys((*outputs, *state.values())))
    tracer.run(source.nodes, kept, main)
    for name in kept:
        tracer.name_output(name, main)
    if tracer.problems:
        raise UnsupportedModelError(source.name, tuple(dict.fromkeys(tracer.problems)))
    for value in (tracer.values[name] for name in (*kept, *state)):
        if value.dtype not in KERNEL_DTYPES:
            raise UnsupportedModelError(source.name, (f"output {value}: unsupported dtype",))
    graph = Graph(
        nodes=tuple(tracer.nodes),
        values=tracer.values,
        inputs=tuple(
            info.name for info in source.inputs if info.name not in {*constant_inputs, *state}
        ),
        outputs=(*outputs, *dict.fromkeys(tracer.counts[n] for n in outputs if n in tracer.counts)),
        constants=tracer.constants,
        state=dict(state),
        parameters=parameters,
    )
    check_state(graph)
    return Traced(graph, frozenset(tracer.shape_parameters))


def class_labels(graph: Graph) -> dict[str, tuple[str | int, ...]]:
    """Name of each ZipMap's output -> the class labels of its columns."""
    return {n.outputs[0]: zip_map_labels(n) for n in graph.nodes if n.op_type == "ZipMap"}
