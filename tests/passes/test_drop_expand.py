"""drop_expand: nodes that broadcast read what an Expand would repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from cugraphmodel.executors.base import Device
from cugraphmodel.passes import run_passes
from cugraphmodel.passes.drop_expand import drop_expand
from tests.api.builders import build
from tests.passes.graphs import (
    assert_as_exact,
    assert_same_bits,
    assert_same_results,
    graph_of,
    ops_of,
    parameters_of,
    run_graph,
)

SHAPE = np.array([2, 4, 6])
AXIS = np.array([1])
LAST = np.array([2])


def _model(body: str, x: str = "2,4,1") -> onnx.ModelProto:
    used: dict[str, Any] = {"shape": SHAPE, "axis": AXIS, "last": LAST}
    read = {name: array for name, array in used.items() if name in body}
    return build(f"(float[{x}] x, float[2,4,6] z) => (float[A] y)", body, opset=18, **read)


EXPAND = "e = Expand(x, shape) "


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (EXPAND + "y = Mul(e, z)", ["Mul"]),
        (EXPAND + "y = Mul(z, e)", ["Mul"]),
        (EXPAND + "n = Exp(e) y = Add(n, z)", ["Exp", "Add"]),
        (EXPAND + "n = Exp(e) m = Mul(e, n) y = Sub(z, m)", ["Exp", "Mul", "Sub"]),
        (EXPAND + "g = Greater(e, z) y = Where(g, e, z)", ["Greater", "Where"]),
        (EXPAND + "s = ReduceSum<keepdims=1>(e, axis) y = Mul(s, z)", ["ReduceSum", "Mul"]),
        (EXPAND + "t = Neg(e) f = Expand(t, shape) y = Mul(f, z)", ["Neg", "Mul"]),
    ],
)
def test_drops(body: str, left: list[str], opened_device: Device) -> None:
    model = _model(body)
    graph = assert_same_results(model, drop_expand, opened_device)
    assert ops_of(graph) == left
    assert_as_exact(model, drop_expand, opened_device)
    before = graph_of(model)
    inputs = [np.linspace(-2, 3, before.values[name].size) for name in before.inputs]
    data = [
        x.reshape(before.values[name].shape).astype(np.float32)
        for x, name in zip(inputs, before.inputs, strict=True)
    ]
    if "Reduce" not in body:
        right = run_graph(before, parameters_of(model), opened_device, data)
        got = run_graph(graph, parameters_of(model), opened_device, data)
        assert_same_bits(got, right)


@pytest.mark.parametrize(
    "body",
    [
        EXPAND + "y = Softmax(e)",
        EXPAND + "n = Exp(e) y = Softmax(n)",
        EXPAND + "s = ReduceSum<keepdims=1>(e, last) y = Add(s, x)",
        EXPAND + "s = ReduceSum<keepdims=0>(e) y = Add(s, x)",
        EXPAND + "y = PRelu(e, z)",
        "y = Expand(x, shape)",
        EXPAND + "n = Exp(e) s = Softmax(e) t = Softmax(n) y = Add(s, t)",
    ],
)
def test_leaves_alone(body: str) -> None:
    graph = graph_of(_model(body))
    assert ops_of(drop_expand(graph)) == ops_of(graph)


def test_leading_axes(opened_device: Device) -> None:
    body = EXPAND + "n = Neg(e) y = Mul(n, z)"
    graph = assert_same_results(_model(body, "6"), drop_expand, opened_device)
    assert ops_of(graph) == ["Neg", "Mul"]
    body = EXPAND + "s = ReduceSum<keepdims=1>(e, axis) y = Mul(s, z)"
    assert ops_of(drop_expand(graph_of(_model(body, "4,6")))) == ["Expand", "ReduceSum", "Mul"]


def test_what_is_asked_for_is_repeated(opened_device: Device) -> None:
    body = EXPAND + "n = Exp(e) s = Sub(n, z) y = Mul(s, e)"
    for wanted in ("e", "n"):
        graph = assert_same_results(_model(body), drop_expand, opened_device, ("y", wanted))
        assert graph.values[wanted].shape == (2, 4, 6)
    graph = drop_expand(graph_of(_model(EXPAND + "n = Exp(e) y = Sub(n, z)"), ("y", "n")))
    assert ops_of(graph) == ["Expand", "Exp", "Sub"]


def test_a_pooling_by_mask(opened_device: Device) -> None:
    """The mean over those places where a mask is 1, as sentence transformers end."""
    model = build(
        "(float[2,4,6] z, float[2,4] x) => (float[A] y)",
        "u = Unsqueeze(x, last) e = Expand(u, shape) i = Cast<to=6>(e) c = Cast<to=1>(i) "
        "m = Mul(z, c) s = ReduceSum<keepdims=0>(m, axis) t = ReduceSum<keepdims=0>(c, axis) "
        "k = Constant<value_float=0.5>() l = Clip(t, k) y = Div(s, l)",
        opset=18,
        shape=SHAPE,
        axis=AXIS,
        last=LAST,
    )
    graph = assert_same_results(model, run_passes, opened_device)
    assert sorted(ops_of(graph)) == [
        "FusedElementwise", "FusedElementwise", "Mul", "ReduceSum", "ReduceSum", "Unsqueeze"
    ]  # fmt: skip
