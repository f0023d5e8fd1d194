"""The end of graphs: close, context manager, garbage, and views that outlive everything."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import cugraphmodel
from cugraphmodel import CudaGraphModel
from cugraphmodel.errors import CuGraphModelError, GraphClosedError, UnsupportedModelError
from tests.api.builders import affine, normal

X = normal(3, 2, 4)


def captured(device: str) -> CudaGraphModel:
    return cugraphmodel.load(affine(), device=device).capture_graph(2)


def test_close_may_be_called_again_and_is_visible(device: str) -> None:
    graph = captured(device)
    assert not graph.closed
    for _ in range(3):
        graph.close()
        assert graph.closed


@pytest.mark.parametrize(
    "use",
    [
        lambda graph: graph.run([X]),
        lambda graph: graph.run_timed([X]),
        lambda graph: graph.run_inplace(),
        lambda graph: graph.run_timed_inplace(),
        lambda graph: graph.input_slice_mut(0),
        lambda graph: graph.output_slice(0),
    ],
    ids=["run", "run_timed", "run_inplace", "run_timed_inplace", "input_slice", "output_slice"],
)
def test_a_closed_graph_says_so(use: Any, device: str) -> None:
    graph = captured(device)
    graph.close()
    with pytest.raises(GraphClosedError, match=r"closed; capture") as caught:
        use(graph)
    assert isinstance(caught.value, RuntimeError)


def test_what_a_closed_graph_was_can_still_be_asked(device: str) -> None:
    graph = captured(device)
    graph.close()
    assert graph.output_shapes == ((2, 3),)
    assert graph.input_names == ("x",)
    assert "closed" in repr(graph)


def test_leaving_the_context_closes_also_after_an_error(device: str) -> None:
    with captured(device) as graph:
        assert graph.run([X])[0].shape == (2, 3)
    assert graph.closed
    with pytest.raises(ZeroDivisionError), captured(device) as graph:
        _ = 1 / 0
    assert graph.closed


@pytest.mark.parametrize("close", [True, False])
def test_views_outlive_their_graph(close: bool, device: str) -> None:
    model = cugraphmodel.load(affine(), device=device)
    graph = model.capture_graph(2)
    right = graph.run([X])[0]
    given, got = graph.input_slice_mut(0), graph.output_slice(0)
    if close:
        graph.close()
    del graph, model
    gc.collect()
    with captured(device) as other:
        other.run([-X])
    np.testing.assert_array_equal(got, right)
    given[...] = 0
    np.testing.assert_array_equal(given, np.zeros((2, 4)))
    np.testing.assert_array_equal(got, right)


def test_a_slice_of_a_view_is_enough_to_keep_its_memory(device: str) -> None:
    graph = captured(device)
    right = graph.run([X])[0]
    corner = graph.output_slice(0)[1:, ::2]
    graph.close()
    del graph
    gc.collect()
    np.testing.assert_array_equal(corner, right[1:, ::2])


def test_a_graph_lives_without_its_model(device: str) -> None:
    graph = captured(device)
    gc.collect()
    np.testing.assert_array_equal(graph.run([X])[0], graph.run([X])[0])
    graph.close()


def test_an_unreferenced_graph_is_collected(device: str) -> None:
    model = cugraphmodel.load(affine(), device=device)
    graph = model.capture_graph(2)
    dead = weakref.ref(graph)
    del graph
    gc.collect()
    assert dead() is None
    with model.capture_graph(2) as again:
        again.run([X])


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_objects_may_be_dropped_in_any_order(order: tuple[int, ...], device: str) -> None:
    model = cugraphmodel.load(affine(), device=device)
    first, second = model.capture_graph(2), model.capture_graph(2, ["product", "y"])
    held: list[Any] = [model, first, second, second.output_slice(1)]
    right = first.run([X])[0]
    second.run([X])
    del model, first, second
    for position in order:
        held[position] = None
        gc.collect()
        for thing in held:
            if isinstance(thing, CudaGraphModel):
                np.testing.assert_array_equal(thing.run([X])[-1], right)
            elif isinstance(thing, np.ndarray):
                np.testing.assert_array_equal(thing, right)
            elif thing is not None:
                thing.capture_graph(2).close()


def test_closing_one_graph_leaves_the_weights_of_the_other(device: str) -> None:
    model = cugraphmodel.load(affine(), device=device)
    first, second = model.capture_graph(2), model.capture_graph(2)
    right = first.run([X])[0]
    first.close()
    np.testing.assert_array_equal(second.run([X])[0], right)
    second.close()
    with model.capture_graph(2) as third:
        np.testing.assert_array_equal(third.run([X])[0], right)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_models_and_graphs_are_not_copied(copied: Any, device: str) -> None:
    model = cugraphmodel.load(affine(), device=device)
    with model.capture_graph(2) as graph:
        for original in (model, graph):
            with pytest.raises(TypeError, match="cannot be copied"):
                copied(original)


def test_our_errors_are_caught_as_one(device: str) -> None:
    graph = captured(device)
    for spoil in (lambda: graph.run([]), lambda: graph.output_slice(9)):
        with pytest.raises(CuGraphModelError):
            spoil()
    graph.close()


def test_an_error_that_lists_problems_survives_a_trip_to_another_process() -> None:
    error = UnsupportedModelError("'m.onnx'", ("output y: unsupported dtype",))
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 - our own
        assert type(again) is UnsupportedModelError
        assert (str(again), again.problems) == (str(error), error.problems)
