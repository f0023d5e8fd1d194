"""fuse_matmul_bias: MatMul and the Add of a constant row become one node."""

from __future__ import annotations

import numpy as np
import pytest

from cugraphmodel.executors.base import Device
from cugraphmodel.passes.fuse_matmul_bias import fuse_matmul_bias
from tests.api.builders import build, normal
from tests.passes.graphs import assert_same_results, graph_of, ops_of


@pytest.mark.parametrize(
    ("x", "y", "bias", "add"),
    [
        ("9,7", "9,5", (5,), "Add(p, b)"),
        ("9,7", "9,5", (1, 5), "Add(b, p)"),
        ("7", "5", (5,), "Add(p, b)"),
        ("2,3,7", "2,3,5", (5,), "Add(p, b)"),
        ("2,3,7", "2,3,5", (1, 1, 5), "Add(p, b)"),
    ],
)
def test_fuses(x: str, y: str, bias: tuple[int, ...], add: str, opened_device: Device) -> None:
    model = build(
        f"(float[{x}] x) => (float[{y}] y)",
        f"p = MatMul(x, w) y = {add}",
        w=normal(1, 7, 5),
        b=normal(2, *bias),
    )
    graph = assert_same_results(model, fuse_matmul_bias, opened_device)
    assert ops_of(graph) == ["FusedMatMul"]
    assert graph.nodes[0].index == 0


def test_fuses_where_the_right_operand_is_computed(opened_device: Device) -> None:
    model = build(
        "(float[4,7] x, float[3,7,5] z) => (float[3,4,5] y)",
        "p = MatMul(x, z) y = Add(p, b)",
        b=normal(2, 5),
    )
    assert ops_of(assert_same_results(model, fuse_matmul_bias, opened_device)) == ["FusedMatMul"]


@pytest.mark.parametrize(
    ("body", "outputs"),
    [
        ("p = MatMul(x, w) y = Add(p, column)", ("y",)),
        ("p = MatMul(x, w) y = Add(p, full)", ("y",)),
        ("p = MatMul(x, w) y = Add(p, one)", ("y",)),
        ("p = MatMul(x, w) y = Add(p, more_axes)", ("y",)),
        ("p = MatMul(x, w) y = Add(p, p)", ("y",)),
        ("p = MatMul(x, w) y = Sub(p, row)", ("y",)),
        ("p = MatMul(x, w) y = Add(p, row)", ("y", "p")),
        ("p = MatMul(x, w) r = Relu(p) t = Add(p, row) y = Add(t, r)", ("y",)),
        ("p = MatMul(x, v) y = Add(p, row)", ("y",)),
    ],
)
def test_leaves_alone(body: str, outputs: tuple[str, ...]) -> None:
    model = build(
        "(float[5,7] x) => (float[N,M] y)",
        body,
        w=normal(1, 7, 5),
        v=normal(1, 7),
        row=normal(2, 5),
        column=normal(2, 5, 1),
        full=normal(2, 5, 5),
        more_axes=normal(2, 1, 1, 5),
        one=np.ones(1, np.float32),
    )
    graph = graph_of(model, outputs)
    assert ops_of(fuse_matmul_bias(graph)) == ops_of(graph)
