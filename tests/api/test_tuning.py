"""Choice by measurement: what is measured, what is chosen, what is remembered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import cugraphmodel
from cugraphmodel.executors import open_device
from cugraphmodel.executors.base import Device, Progress
from cugraphmodel.ir import Graph
from cugraphmodel.ops.launch import Launch
from cugraphmodel.ops.matmul.tensor_core import TILES
from cugraphmodel.passes.use_tensor_cores import use_tensor_cores
from cugraphmodel.plan import Plan
from cugraphmodel.tuning import choose_launches, measured_ms
from tests.api.builders import build, normal
from tests.passes.graphs import graph_of


@pytest.fixture(autouse=True)
def _empty_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUGRAPHMODEL_CACHE_DIR", str(tmp_path / "cache"))


def _graph(depth: int = 512) -> Graph:
    """Two products of one kind and one of another."""
    model = build(
        f"(float[40,{depth}] x) => (float[40,48] y)",
        "a = MatMul(x, w1) b = MatMul(x, w2) c = Add(a, b) y = MatMul(c, w3)",
        w1=normal(1, depth, 48),
        w2=normal(2, depth, 48),
        w3=normal(3, 48, 48),
    )
    return use_tensor_cores(graph_of(model), {"float32": "tf32x3"})


def _tiling_of(plan: Plan) -> tuple[str, int]:
    attributes = plan.steps[0].node.attributes
    return attributes["tile"], attributes["num_slices"]


class _Clock:
    """Stands in for a device and its clock: keeps what it compiles and measures."""

    description = "a clock"

    def __init__(self, ms_of: Callable[[tuple[str, int]], float]) -> None:
        self.compiled: list[Launch] = []
        self.measured: list[tuple[str, int]] = []
        self._ms_of = ms_of

    def compile(self, launches: Sequence[Launch], _progress: Progress | None) -> None:
        self.compiled += launches

    def choose(self, graph: Graph, progress: Progress | None = None) -> Graph:
        return choose_launches(graph, cast(Device, self), progress, self)

    def __call__(self, plan: Plan, _device: object) -> float:
        self.measured.append(_tiling_of(plan))
        return self._ms_of(self.measured[-1])


def _chosen(graph: Graph, clock: _Clock) -> list[tuple[str, int] | None]:
    tuned = clock.choose(graph)
    return [
        (node.attributes["tile"], node.attributes["num_slices"])
        for node in tuned.nodes
        if "arithmetic" in node.attributes
    ]


def test_takes_the_fastest_of_all_tilings_for_each_kind_of_node() -> None:
    clock = _Clock(lambda tiling: 1.0 if tiling == ("32x64", 2) else 2.0)
    first, second, third = _chosen(_graph(), clock)
    assert first == second == ("32x64", 2)
    assert len(set(clock.measured)) < len(clock.measured)  # some were measured for both kinds
    assert third == ("32x32", 1)  # a depth of 48 has no two slices
    assert {tile for tile, _ in clock.measured} <= set(TILES)


@pytest.mark.parametrize(("other_ms", "is_taken"), [(0.98, False), (0.96, True)])
def test_a_gain_by_chance_changes_nothing(other_ms: float, is_taken: bool) -> None:
    clock = _Clock(lambda tiling: other_ms if tiling == ("64x64", 1) else 1.0)
    first, *_ = _chosen(_graph(), clock)
    assert (first == ("64x64", 1)) == is_taken
    assert is_taken or first == clock.measured[0]


def test_remembers_until_the_work_changes() -> None:
    clock = _Clock(lambda tiling: 1.0 + len(tiling[0]))
    once = _chosen(_graph(), clock)
    count, num_compiled = len(clock.measured), len(clock.compiled)
    assert num_compiled >= count
    assert _chosen(_graph(), clock) == once
    assert (len(clock.measured), len(clock.compiled)) == (count, num_compiled)
    _chosen(_graph(depth=640), clock)
    assert len(clock.measured) > count


def test_what_was_never_measured_stays_as_it_is() -> None:
    graph = graph_of(build("(float[9,8] x) => (float[9,8] y)", "y = Relu(x)"))
    assert (
        choose_launches(graph, open_device("cpu"), measure=_Clock(lambda _: 1.0)).nodes
        == graph.nodes
    )


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    _Clock(lambda _: 1.0).choose(_graph(), lambda *step: told.append(step))
    assert [done for _, done, _ in told] == [0, 1]


def test_a_plan_takes_time(device: str) -> None:
    from cugraphmodel.plan import build_plan

    graph = _graph(depth=64)
    node = graph.nodes[0]
    alone = Graph(
        (node,),
        {name: graph.values[name] for name in (*node.inputs, *node.outputs)},
        node.inputs,
        node.outputs,
        {},
    )
    assert 0 < measured_ms(build_plan(alone), open_device(device)) < 10_000


def test_a_tuned_graph_gives_the_same_within_rounding(device: str) -> None:
    weights = normal(1, 256, 16)
    model = cugraphmodel.load(
        build("(float[8,256] x) => (float[8,16] y)", "y = MatMul(x, w)", w=weights), device=device
    )
    x = normal(2, 8, 256)
    with (
        model.capture_graph(precision="tf32", tune=False) as plain,
        model.capture_graph(precision="tf32", tune=True) as tuned,
    ):
        np.testing.assert_allclose(tuned.run([x])[0], plain.run([x])[0], rtol=0, atol=1e-4)
