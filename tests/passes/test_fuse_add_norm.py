"""fuse_add_norm: an Add and the normalisation of its result become one node."""

from __future__ import annotations

import re
from typing import Any

import onnx
import pytest

from cugraphmodel.executors.base import Device
from cugraphmodel.passes import run_passes
from cugraphmodel.passes.fuse_add_norm import fuse_add_norm
from tests.api.builders import build, normal
from tests.passes.graphs import assert_as_exact, assert_same_results, graph_of, ops_of

WEIGHTS = {"g": normal(1, 40), "b": normal(2, 40), "w": normal(3, 40, 40), "row": normal(4, 40)}
NORM = "LayerNormalization(s, g, b)"


def _model(body: str, dtype: str = "float32", opset: int = 17) -> onnx.ModelProto:
    used: dict[str, Any] = {
        name: array.astype(dtype)
        for name, array in WEIGHTS.items()
        if re.search(rf"[ (]{name}[,)]", body)
    }
    x = {"float32": "float", "float16": "float16"}[dtype] + "[3,5,40]"
    return build(f"({x} x, {x} z) => ({x} y)", body, opset=opset, **used)


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (f"s = Add(x, z) y = {NORM}", ["AddLayerNormalization"]),
        ("s = Sum(x, z) y = LayerNormalization(s, g)", ["AddLayerNormalization"]),
        (
            f"s = Add(x, z) n = {NORM} t = Tanh(n) y = Add(t, s)",
            ["AddLayerNormalization", "Tanh", "Add"],
        ),
        (
            f"s = Add(x, z) t = Tanh(s) n = {NORM} y = Add(t, n)",
            ["AddLayerNormalization", "Tanh", "Add"],
        ),
        (
            f"s = Add(x, z) n = {NORM} m = LayerNormalization(s, b, g) y = Add(m, n)",
            ["AddLayerNormalization", "LayerNormalization", "Add"],
        ),
    ],
)
def test_fuses(body: str, left: list[str], opened_device: Device) -> None:
    model = _model(body)
    graph = assert_same_results(model, fuse_add_norm, opened_device)
    assert ops_of(graph) == left
    assert graph.nodes[0].index == [n.op_type for n in model.graph.node].index("LayerNormalization")
    assert_same_results(model, fuse_add_norm, opened_device, ("y", "s"))


def test_an_unneeded_sum_is_not_written() -> None:
    graph = fuse_add_norm(graph_of(_model(f"s = Add(x, z) y = {NORM}")))
    assert graph.nodes[0].outputs == ("y",)
    assert "s" not in graph.values


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_is_as_exact(dtype: str, opened_device: Device) -> None:
    body = f"s = Add(x, z) n = {NORM} y = Add(n, s)"
    assert ops_of(fuse_add_norm(graph_of(_model(body, dtype)))) == ["AddLayerNormalization", "Add"]
    assert_as_exact(_model(body, dtype), fuse_add_norm, opened_device)


def test_fuses_root_mean_squares(opened_device: Device) -> None:
    body = (
        "two = Constant<value_float=2.0>() eps = Constant<value_float=1e-5>() s = Add(x, z) "
        "q = Pow(s, two) v = ReduceMean<axes=[-1]>(q) e = Add(v, eps) r = Sqrt(e) n = Div(s, r) "
        "y = Mul(n, g)"
    )
    graph = assert_same_results(_model(body), run_passes, opened_device)
    assert ops_of(graph) == ["AddRMSNormalization"]


def test_a_product_takes_in_the_residual_first(opened_device: Device) -> None:
    body = f"m = MatMul(x, w) s = Add(m, z) y = {NORM}"
    graph = assert_same_results(_model(body), run_passes, opened_device)
    assert ops_of(graph) == ["FusedMatMul", "LayerNormalization"]


@pytest.mark.parametrize(
    "body",
    [
        "s = Add(x, row) y = LayerNormalization(s, g, b) t = Add(z, y)",
        f"s = Add(x, x) y = {NORM} t = Add(z, y)",
        f"s = Sub(x, z) y = {NORM}",
        "s = Add(x, z) y, m = LayerNormalization(s, g, b) u = Add(y, m)",
        "c = ReduceMax<axes=[0, 1], keepdims=0>(x) s = Add(x, z) y = LayerNormalization(s, g, c)",
        "s = Add(x, z) y = Softmax(s)",
    ],
)
def test_leaves_alone(body: str) -> None:
    outputs = ("u",) if " u =" in body else ("t",) if " t =" in body else ("y",)
    graph = graph_of(_model(body), outputs)
    assert ops_of(fuse_add_norm(graph)) == ops_of(graph)


def test_leaves_rows_alone_that_no_block_holds() -> None:
    model = build(
        "(float[2,16385] x, float[2,16385] z) => (float[2,16385] y)",
        f"s = Add(x, z) y = {NORM}",
        g=normal(1, 16385),
        b=normal(2, 16385),
    )
    assert ops_of(fuse_add_norm(graph_of(model))) == ["Add", "LayerNormalization"]
