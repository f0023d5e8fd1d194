"""view_transposes: a Transpose that moves no byte becomes a view."""

from __future__ import annotations

import pytest

from cugraphmodel.executors.base import Device
from cugraphmodel.passes import run_passes
from cugraphmodel.passes.view_transposes import view_transposes
from cugraphmodel.plan import build_plan
from tests.api.builders import build
from tests.passes.graphs import assert_same_results, graph_of, ops_of


@pytest.mark.parametrize(
    ("x", "y", "perm"),
    [
        ("7,1,5", "1,7,5", "[1, 0, 2]"),
        ("1,7,5", "7,5,1", "[1, 2, 0]"),
        ("1,1", "1,1", "[1, 0]"),
        ("3,4", "3,4", "[0, 1]"),
        ("2,1,3,1", "2,3,1,1", "[0, 2, 3, 1]"),
    ],
)
def test_becomes_a_view(x: str, y: str, perm: str, opened_device: Device) -> None:
    model = build(
        f"(float[{x}] x) => (float[{y}] y)", f"r = Relu(x) y = Transpose<perm = {perm}>(r)"
    )
    graph = assert_same_results(model, view_transposes, opened_device)
    assert ops_of(graph) == ["Relu", "Reshape"]
    assert [node.index for node in graph.nodes] == [0, 1]
    assert len(build_plan(graph).steps) == 1


@pytest.mark.parametrize(
    ("x", "y", "perm"), [("7,5", "5,7", "[1, 0]"), ("2,1,3", "3,1,2", "[2, 1, 0]")]
)
def test_leaves_alone(x: str, y: str, perm: str) -> None:
    model = build(f"(float[{x}] x) => (float[{y}] y)", f"y = Transpose<perm = {perm}>(x)")
    assert ops_of(view_transposes(graph_of(model))) == ["Transpose"]


def test_the_default_reverses_the_axes(opened_device: Device) -> None:
    model = build(
        "(float[1,7] x, float[3,4] z) => (float[7,1] y, float[4,3] w)",
        "y = Transpose(x) w = Transpose(z)",
    )
    graph = assert_same_results(model, run_passes, opened_device, ("y", "w"))
    assert ops_of(graph) == ["Reshape", "Transpose"]
