"""Any order of capture, write, run, read, load_param and close gives what a plain model says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
    run_state_machine_as_test,
)

import cugraphmodel
from cugraphmodel import CudaGraphModel
from cugraphmodel.errors import (
    ArgumentError,
    DtypeError,
    GraphClosedError,
    PositionError,
    ShapeError,
)
from tests.api.builders import affine, normal

Array = npt.NDArray[Any]
NAMES = ("product", "shifted", "y")
SEEDS = st.integers(0, 9)


@dataclass(eq=False)
class Expected:
    """What a graph must show: the staged input, and the outputs of its last run."""

    graph: CudaGraphModel
    names: tuple[str, ...]
    staged: Array
    outputs: list[Array]
    closed: bool = False
    views: list[Array] = field(default_factory=list)


class Calls(RuleBasedStateMachine):
    """Drives one model and its graphs."""

    device: str
    graphs = Bundle("graphs")

    def __init__(self) -> None:
        super().__init__()
        self.model = cugraphmodel.load(affine(), device=self.device)
        self.weights = {"w": normal(1, 4, 3), "b": normal(2, 3)}
        self.all: list[Expected] = []

    def answers(self, names: tuple[str, ...], x: Array) -> list[Array]:
        product = x.astype(np.float64) @ self.weights["w"].astype(np.float64)
        shifted = product + self.weights["b"]
        values = {"product": product, "shifted": shifted, "y": np.maximum(shifted, 0)}
        return [values[name] for name in names]

    @rule(
        target=graphs,
        batch_size=st.integers(1, 3),
        names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3),
    )
    def capture(self, batch_size: int, names: list[str]) -> Expected:
        graph = self.model.capture_graph(batch_size, names)
        assert graph.output_shapes == ((batch_size, 3),) * len(names)
        zeros = [np.zeros((batch_size, 3)) for _ in names]
        self.all.append(Expected(graph, tuple(names), np.zeros((batch_size, 4), np.float32), zeros))
        return self.all[-1]

    @rule(expected=graphs, seed=SEEDS)
    def write(self, expected: Expected, seed: int) -> None:
        if expected.closed:
            with pytest.raises(GraphClosedError):
                expected.graph.input_slice_mut(0)
            return
        expected.staged = normal(seed, *expected.staged.shape)
        expected.graph.input_slice_mut(0)[...] = expected.staged

    @rule(expected=graphs, seed=SEEDS, timed=st.booleans(), by_name=st.booleans())
    def run(self, expected: Expected, seed: int, timed: bool, by_name: bool) -> None:
        x = normal(seed, *expected.staged.shape)
        inputs: Any = {"x": x} if by_name else [x]
        run: Any = expected.graph.run_timed if timed else expected.graph.run
        if expected.closed:
            with pytest.raises(GraphClosedError):
                run(inputs)
            return
        results = run(inputs)[0] if timed else run(inputs)
        expected.staged, expected.outputs = x, self.answers(expected.names, x)
        for got, right in zip(results, expected.outputs, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-6)
            got[...] = -1

    @rule(expected=graphs, timed=st.booleans())
    def run_inplace(self, expected: Expected, timed: bool) -> None:
        run: Any = expected.graph.run_timed_inplace if timed else expected.graph.run_inplace
        if expected.closed:
            with pytest.raises(GraphClosedError):
                run()
            return
        run()
        expected.outputs = self.answers(expected.names, expected.staged)

    @rule(expected=graphs, kind=st.sampled_from(["count", "dtype", "shape", "name", "index"]))
    def fail(self, expected: Expected, kind: str) -> None:
        if expected.closed:
            return
        graph, x = expected.graph, expected.staged + 1
        calls: dict[str, tuple[type[Exception], Any]] = {
            "count": (ArgumentError, lambda: graph.run([x, x])),
            "dtype": (DtypeError, lambda: graph.run([x.astype(np.float64)])),
            "shape": (ShapeError, lambda: graph.run([x[:, :3]])),
            "name": (ArgumentError, lambda: graph.run({"z": x})),
            "index": (PositionError, lambda: graph.output_slice(len(expected.names))),
        }
        error, call = calls[kind]
        with pytest.raises(error):
            call()

    @rule(expected=graphs)
    def keep_views(self, expected: Expected) -> None:
        if not expected.closed:
            expected.views = [expected.graph.output_slice(i) for i in range(len(expected.names))]

    @rule(name=st.sampled_from(["w", "b"]), seed=SEEDS)
    def load_param(self, name: str, seed: int) -> None:
        self.weights[name] = normal(seed, *self.weights[name].shape)
        self.model.load_param(name, self.weights[name])

    @rule(batch_size=st.integers(1, 3), seed=SEEDS)
    def forward(self, batch_size: int, seed: int) -> None:
        x = normal(seed, batch_size, 4)
        got = self.model.forward([x], NAMES)
        for value, right in zip(got, self.answers(NAMES, x), strict=True):
            np.testing.assert_allclose(value, right, rtol=1e-5, atol=1e-6)

    @rule(expected=graphs)
    def close(self, expected: Expected) -> None:
        expected.graph.close()
        expected.closed = True

    @rule(expected=consumes(graphs))
    def drop(self, expected: Expected) -> None:
        expected.views.clear()
        self.all.remove(expected)

    @invariant()
    def staging_shows_what_it_must(self) -> None:
        for expected in self.all:
            views = expected.views
            if not expected.closed:
                np.testing.assert_array_equal(expected.graph.input_slice_mut(0), expected.staged)
                views = [expected.graph.output_slice(i) for i in range(len(expected.names))]
            for view, right in zip(views, expected.outputs, strict=False):
                np.testing.assert_allclose(view, right, rtol=1e-5, atol=1e-6)


def test_any_order_of_calls(device: str) -> None:
    machine = type("CallsOnDevice", (Calls,), {"device": device})
    run_state_machine_as_test(machine, settings=settings(stateful_step_count=30))
