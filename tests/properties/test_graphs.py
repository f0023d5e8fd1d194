"""Whatever the graph and whatever is asked of it, all ways to run it agree, and are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cugraphmodel
from cugraphmodel import CudaGraphModel
from tests.properties.random_graphs import (
    RandomGraph,
    random_graphs,
    requested_names,
    requests,
)

Array = npt.NDArray[Any]
RELATIVE_TOLERANCE = 1e-5
FLOAT32_FACTOR = 8

per_device = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def assert_right(
    graph: RandomGraph, names: list[str], inputs: list[Array], got: list[Array]
) -> None:
    """Within a few times the error that plain float32 arithmetic makes on this very graph."""
    exact = graph.answers(inputs, names, "float64")
    plain = graph.answers(inputs, names, "float32")
    for name, value, right, near in zip(names, got, exact, plain, strict=True):
        assert value.dtype == np.float32
        assert value.shape == graph.shapes[name]
        bound = RELATIVE_TOLERANCE * np.abs(right).max(initial=0.0)
        bound += FLOAT32_FACTOR * np.abs(near - right).max(initial=0.0)
        assert np.abs(value - right).max(initial=0.0) <= bound, name


def assert_same_bits(left: list[Array], right: list[Array]) -> None:
    assert [a.tobytes() for a in left] == [b.tobytes() for b in right]


def run_inplace(graph: CudaGraphModel, inputs: list[Array], *, timed: bool) -> list[Array]:
    for position, array in enumerate(inputs):
        graph.input_slice_mut(position)[...] = array
    if timed:
        assert graph.run_timed_inplace() >= 0
    else:
        graph.run_inplace()
    return [graph.output_slice(i).copy() for i in range(len(graph.output_names))]


@per_device
@given(data=st.data(), graph=random_graphs(), seed=st.integers(0, 99))
def test_all_ways_to_run_agree_and_are_right(
    device: str, data: st.DataObject, graph: RandomGraph, seed: int
) -> None:
    wanted = data.draw(requests(graph))
    names = requested_names(graph, wanted)
    inputs, other = graph.data(seed), graph.data(seed + 100)
    model = cugraphmodel.load(graph.proto(), device=device)
    with model.capture_graph(output_node_indices=wanted) as captured:
        assert list(captured.output_names) == names
        first = captured.run(inputs)
        assert_right(graph, names, inputs, first)
        assert_right(graph, names, other, captured.run(other))
        assert_same_bits(first, captured.run_timed(inputs)[0])
        captured.run(other)
        assert_same_bits(first, run_inplace(captured, inputs, timed=False))
        captured.run(other)
        assert_same_bits(first, run_inplace(captured, inputs, timed=True))
    assert_right(graph, names, inputs, model.forward(inputs, wanted))


@per_device
@given(graph=random_graphs())
def test_two_graphs_of_one_model_give_the_same_bits(device: str, graph: RandomGraph) -> None:
    model = cugraphmodel.load(graph.proto(), device=device)
    inputs = graph.data(1)
    with model.capture_graph() as first, model.capture_graph() as second:
        assert_same_bits(first.run(inputs), second.run(inputs))


@per_device
@given(graph=random_graphs(), which=st.integers(0, 99))
def test_a_new_parameter_gives_what_a_new_model_gives(
    device: str, graph: RandomGraph, which: int
) -> None:
    if not graph.weights:
        graph.outputs = [graph.add_node("Mul", ["x0", graph.add_weight(())], graph.shapes["x0"])]
    model = cugraphmodel.load(graph.proto(), device=device)
    inputs = graph.data(1)
    name = sorted(graph.weights)[which % len(graph.weights)]
    with model.capture_graph() as captured:
        captured.run(inputs)
        graph.weights[name] = graph.weights[name][...] * np.float32(0.5) + np.float32(0.125)
        model.load_param(name, np.asarray(graph.weights[name]))
        changed = captured.run(inputs)
    with cugraphmodel.load(graph.proto(), device=device).capture_graph() as fresh:
        assert_same_bits(changed, fresh.run(inputs))
    assert_right(graph, graph.outputs, inputs, changed)
