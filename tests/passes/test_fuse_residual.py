"""fuse_residual: the Add of a tensor of one shape becomes part of the product before it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import pytest

from cugraphmodel.executors.base import Device
from cugraphmodel.passes import run_passes
from cugraphmodel.passes.fuse_residual import fuse_residual
from cugraphmodel.plan import build_plan
from tests.api.builders import build, normal
from tests.passes.graphs import assert_as_exact, assert_same_results, graph_of, ops_of

WEIGHTS = {
    "w": normal(1, 4, 4, 3, 3),
    "v": normal(2, 4, 4, 1, 1),
    "d": normal(3, 4, 1, 3, 3),
    "b": normal(4, 4),
    "h": normal(5, 5, 5),
    "g": normal(6, 120, 120),
    "k": normal(7, 5),
    "full": normal(8, 2, 4, 6, 5),
    "row": normal(9, 1, 4, 6, 5),
}
PADS = "<pads=[1,1,1,1]>"
CONV = f"c = Conv{PADS}(x, w, b) "


def _model(body: str, dtype: str = "float32") -> onnx.ModelProto:
    used: dict[str, Any] = {
        n: a.astype(dtype) for n, a in WEIGHTS.items() if re.search(rf"[ (]{n}[,)]", body)
    }
    text = {"float32": "float", "float16": "float16", "float64": "double"}[dtype]
    return build(f"({text}[2,4,6,5] x) => ({text}[A,B] y)", body, **used)


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (CONV + "y = Add(c, x)", ["FusedConv"]),
        (f"c = Conv{PADS}(x, w) y = Sum(x, c)", ["FusedConv"]),
        ("c = Conv(x, v, b) y = Add(x, c)", ["FusedConv"]),
        ("c = Conv<pads=[1,1,1,1], group=4>(x, d) y = Add(x, c)", ["FusedConv"]),
        (CONV + "r = Relu(x) y = Add(c, r)", ["Relu", "FusedConv"]),
        (CONV + "y = Add(c, full)", ["FusedConv"]),
        ("m = MatMul(x, h) y = Add(m, x)", ["FusedMatMul"]),
        ("f = Flatten(x) g1 = Gemm(f, g) y = Add(f, g1)", ["Flatten", "FusedGemm"]),
        (f"e = Conv(x, v) c = Conv{PADS}(x, w, b) y = Add(e, c)", ["Conv", "FusedConv"]),
        (f"c = Conv{PADS}(x, w, b) e = Conv(x, v) y = Sum(c, e)", ["Conv", "FusedConv"]),
    ],
)
def test_fuses(body: str, left: list[str], opened_device: Device) -> None:
    model = _model(body)
    graph = assert_same_results(model, fuse_residual, opened_device)
    assert ops_of(graph) == left
    assert_as_exact(model, fuse_residual, opened_device)


def test_the_later_of_two_takes_in_the_other() -> None:
    graph = fuse_residual(graph_of(_model(f"c = Conv{PADS}(x, w, b) e = Conv(x, v) y = Add(c, e)")))
    assert graph.nodes[1].inputs == ("x", "v", "", "c")
    assert graph.nodes[1].index == 1


def test_a_block_of_a_residual_network(opened_device: Device) -> None:
    body = (
        f"c1 = Conv{PADS}(x, w, b) r1 = Relu(c1) c2 = Conv{PADS}(r1, w) s2 = Add(c2, x) "
        "r2 = Relu(s2) c3 = Conv(r2, v) s3 = Add(r2, c3) y = Relu(s3)"
    )
    model = _model(body)
    graph = assert_same_results(model, run_passes, opened_device)
    assert ops_of(graph) == ["FusedConv"] * 3
    assert_as_exact(model, run_passes, opened_device)
    for wanted in ("c1", "c2", "s2", "r2", "c3", "s3"):
        assert_same_results(model, run_passes, opened_device, ("y", wanted))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("body", [CONV + "y = Add(c, x)", "m = MatMul(x, h) y = Add(x, m)"])
def test_fuses_other_floats(body: str, dtype: str, opened_device: Device) -> None:
    model = _model(body, dtype)
    assert ops_of(fuse_residual(graph_of(model)))[0].startswith("Fused")
    assert_as_exact(model, fuse_residual, opened_device)


def test_a_bias_comes_first(opened_device: Device) -> None:
    model = _model("m = MatMul(x, h) p = Add(k, m) s = Add(x, p) y = Tanh(s)")
    graph = assert_same_results(model, run_passes, opened_device)
    assert ops_of(graph) == ["FusedMatMul"]
    assert graph.nodes[0].inputs == ("x", "h", "k", "x")


@pytest.mark.parametrize(
    ("body", "outputs"),
    [
        (CONV + "y = Add(c, x)", ("y", "c")),
        (CONV + "y = Add(c, c)", ("y",)),
        (CONV + "y = Add(c, row)", ("y",)),
        (CONV + "y = Sub(c, x)", ("y",)),
        (CONV + "y = Sum(c, x, x)", ("y",)),
        (CONV + "r = Relu(c) s = Add(r, x) y = Add(s, c)", ("y",)),
        ("m = MaxPool<kernel_shape=[1,1]>(x) y = Add(m, x)", ("y",)),
    ],
)
def test_leaves_alone(body: str, outputs: tuple[str, ...]) -> None:
    graph = graph_of(_model(body), outputs)
    assert ops_of(fuse_residual(graph)) == ops_of(graph)


def test_takes_in_one_residual_only(opened_device: Device) -> None:
    model = _model(CONV + "s = Add(c, x) r = Relu(x) y = Add(s, r)")
    graph = assert_same_results(model, fuse_residual, opened_device)
    assert ops_of(graph) == ["FusedConv", "Relu", "Add"]
    assert ops_of(fuse_residual(graph)) == ops_of(graph)


def test_leaves_a_product_with_an_activation_alone() -> None:
    graph = run_passes(graph_of(_model(CONV + "r = Relu(c) y = Add(r, x)")))
    assert ops_of(graph) == ["FusedConv", "Add"]


def test_leaves_integers_alone() -> None:
    model = build("(int32[5,5] x) => (int32[5,5] y)", "c = MatMul(x, x) y = Add(c, x)")
    assert ops_of(fuse_residual(graph_of(model))) == ["MatMul", "Add"]


def test_the_residual_and_the_result_lie_apart() -> None:
    """A tile is stored while others still read their part of the residual."""
    body = "r = Tanh(x) " + CONV.replace("(x,", "(r,") + "s = Add(c, r) y = Relu(s)"
    plan = build_plan(run_passes(graph_of(_model(body))))
    assert [step.node.op_type for step in plan.steps] == ["Tanh", "FusedConv"]
    residual, result = plan.slots["r"], plan.slots["y"]
    assert residual.end <= result.offset or result.end <= residual.offset


def test_a_shared_operand_is_the_residual_too(opened_device: Device) -> None:
    """Both operands and the residual are one tensor."""
    model = build("(float[5,5] x) => (float[5,5] y)", "p = MatMul(x, x) y = Add(p, x)")
    graph = assert_same_results(model, fuse_residual, opened_device)
    assert graph.nodes[0].inputs == ("x", "x", "", "x")
    assert np.dtype("float32") == graph.values["y"].dtype
