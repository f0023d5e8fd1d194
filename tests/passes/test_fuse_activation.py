"""fuse_activation: an activation becomes part of the Conv, Gemm or MatMul before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from cugraphmodel.executors.base import Device
from cugraphmodel.passes import run_passes
from cugraphmodel.passes.fuse_activation import fuse_activation
from tests.api.builders import build, normal
from tests.passes.graphs import assert_same_results, graph_of, ops_of

BASES = {
    "Conv": "c = Conv(x, w)",
    "Gemm": "f = Flatten(x) c = Gemm<transB=1>(f, g)",
    "MatMul": "c = MatMul(x, h)",
}
ACTIVATIONS = [
    "Relu(c)",
    "LeakyRelu(c)",
    "LeakyRelu<alpha=0.3>(c)",
    "Sigmoid(c)",
    "Tanh(c)",
    "HardSigmoid(c)",
    "HardSigmoid<alpha=0.3, beta=0.6>(c)",
    "HardSwish(c)",
    "Celu<alpha=0.7>(c)",
    "Elu<alpha=0.7>(c)",
    "Selu(c)",
    "Softplus(c)",
    "Softsign(c)",
    "ThresholdedRelu<alpha=0.3>(c)",
]
NEW_ACTIVATIONS = [
    ("Mish(c)", 18),
    ("Gelu(c)", 20),
    ('Gelu<approximate="tanh">(c)', 20),
    ("Swish<alpha=0.7>(c)", 24),
]
WEIGHTS = {"w": normal(1, 4, 3, 3, 3), "g": normal(2, 4, 90), "h": normal(3, 5, 4)}


def _model(body: str, opset: int = 17) -> onnx.ModelProto:
    used: dict[str, Any] = {name: array for name, array in WEIGHTS.items() if f" {name})" in body}
    return build("(float[2,3,6,5] x) => (float[A,B] y)", body, opset=opset, **used)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("base", BASES)
def test_fuses(base: str, activation: str, opened_device: Device) -> None:
    model = _model(f"{BASES[base]} y = {activation}")
    graph = assert_same_results(model, fuse_activation, opened_device)
    assert ops_of(graph)[-1] == f"Fused{base}"
    assert ops_of(graph)[:-1] == (["Flatten"] if base == "Gemm" else [])
    assert graph.nodes[-1].index == (1 if base == "Gemm" else 0)


@pytest.mark.parametrize(("activation", "opset"), NEW_ACTIVATIONS)
def test_fuses_those_of_newer_opsets(activation: str, opset: int, opened_device: Device) -> None:
    model = _model(f"c = Conv(x, w) y = {activation}", opset)
    graph = assert_same_results(model, fuse_activation, opened_device)
    assert ops_of(graph) == ["FusedConv"]


@pytest.mark.parametrize(
    ("body", "opset"),
    [
        ("c = Conv(x, w) y = Clip<min=-0.5, max=0.75>(c)", 7),
        ("c = Conv(x, w) y = Clip<max=0.75>(c)", 7),
        ("lo = Constant<value_float=-0.5>() c = Conv(x, w) y = Clip(c, lo)", 12),
        (
            "lo = Constant<value_float=0.0>() hi = Constant<value_float=6.0>() "
            "c = Conv(x, w) y = Clip(c, lo, hi)",
            17,
        ),
        ("hi = Constant<value_float=0.7>() c = Conv(x, w) y = Clip(c, , hi)", 17),
    ],
)
def test_fuses_clip_with_known_bounds(body: str, opset: int, opened_device: Device) -> None:
    graph = assert_same_results(_model(body, opset), fuse_activation, opened_device)
    assert ops_of(graph) == ["FusedConv"]


def test_a_bound_that_is_a_parameter_is_built_in(opened_device: Device) -> None:
    model = build(
        "(float[2,3,6,5] x) => (float[A,B] y)",
        "c = Conv(x, w) y = Clip(c, lo)",
        w=WEIGHTS["w"],
        lo=np.array(0.5, np.float32),
    )
    graph = assert_same_results(model, fuse_activation, opened_device)
    assert ops_of(graph) == ["FusedConv"]
    assert graph.built_in == {"lo"}


def test_leaves_clip_alone_whose_bound_single_precision_cannot_hold() -> None:
    lo = "lo = Constant<value_float=0.1>() wide = Cast<to=11>(lo) step = Mul(wide, wide) "
    model = build(
        "(double[2,3,6,5] x) => (double[A,B] y)",
        lo + "c = Conv(x, w) y = Clip(c, step)",
        w=WEIGHTS["w"].astype(np.float64),
    )
    assert ops_of(fuse_activation(graph_of(model))) == ["Conv", "Clip"]


@pytest.mark.parametrize(
    ("body", "outputs"),
    [
        ("c = Conv(x, w) y = Relu(c)", ("y", "c")),
        ("c = Conv(x, w) r = Relu(c) y = Add(r, c)", ("y",)),
        ("c = Conv(x, w) r = Relu(c) s = Tanh(c) y = Add(r, s)", ("y",)),
        ("c = Conv(x, w) y = Exp(c)", ("y",)),
        ("c = MaxPool<kernel_shape=[2,2]>(x) y = Relu(c)", ("y",)),
    ],
)
def test_leaves_alone(body: str, outputs: tuple[str, ...]) -> None:
    graph = graph_of(_model(body), outputs)
    assert ops_of(fuse_activation(graph)) == ops_of(graph)


def test_leaves_integers_alone() -> None:
    model = build("(int32[2,5] x, int32[5,3] z) => (int32[2,3] y)", "c = MatMul(x, z) y = Relu(c)")
    assert ops_of(fuse_activation(graph_of(model))) == ["MatMul", "Relu"]


def test_fuses_one_activation_only(opened_device: Device) -> None:
    model = _model("c = Conv(x, w) r = Relu(c) y = Tanh(r)")
    graph = assert_same_results(model, fuse_activation, opened_device)
    assert ops_of(graph) == ["FusedConv", "Tanh"]
    assert ops_of(fuse_activation(graph)) == ["FusedConv", "Tanh"]


def test_passes_together(opened_device: Device) -> None:
    model = build(
        "(float[2,3,6,5] x) => (float[A,B] y)",
        "c = Conv(x, w) n = BatchNormalization(c, s, b, m, v) r = LeakyRelu(n) f = Flatten(r) "
        "p = MatMul(f, u) q = Add(p, k) y = Relu(q)",
        w=WEIGHTS["w"],
        s=normal(2, 4),
        b=normal(3, 4),
        m=normal(4, 4),
        v=np.abs(normal(5, 4)) + 0.1,
        u=normal(6, 48, 9),
        k=normal(7, 9),
    )
    graph = assert_same_results(model, run_passes, opened_device)
    assert ops_of(graph) == ["FusedConv", "Flatten", "FusedMatMul"]
    assert [node.index for node in graph.nodes] == [0, 3, 4]
    for wanted in ("c", "n", "r", "f", "p", "q"):
        assert_same_results(model, run_passes, opened_device, ("y", wanted))
    everything = assert_same_results(
        model, run_passes, opened_device, ("c", "n", "r", "f", "p", "q", "y")
    )
    assert len(everything.nodes) == len(model.graph.node) - 1
    assert everything.nodes[-1].outputs == ("y", "q")  # one kernel that gives both
