"""recognize_norms: a layer normalisation that is spelled out becomes one node."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import pytest

from cugraphmodel.executors.base import Device
from cugraphmodel.passes import run_passes
from cugraphmodel.passes.recognize_norms import recognize_norms
from cugraphmodel.plan import build_plan
from tests.api.builders import build, normal
from tests.passes.graphs import assert_as_exact, assert_same_results, graph_of, ops_of

WEIGHTS = {
    "g": normal(1, 7),
    "b": normal(2, 7),
    "plane": normal(3, 5, 7),
    "channel": normal(4, 3, 1, 1),
    "shift": normal(5, 1, 3, 1, 1),
    "place": normal(6, 5, 1),
    "last": np.array([-1]),
}
EPSILON = "eps = Constant<value_float=1e-5>() "
NUMBERS = EPSILON + "one = Constant<value_float=1.0>() two = Constant<value_float=2.0>() "


def _model(body: str, dtype: str = "float32", opset: int = 17) -> onnx.ModelProto:
    used: dict[str, Any] = {
        name: array if array.dtype == np.int64 else array.astype(dtype)
        for name, array in WEIGHTS.items()
        if re.search(rf"[ (]{name}[,)]", body)
    }
    numbers = NUMBERS
    if dtype != "float32":
        code = {"float16": 10, "float64": 11}[dtype]
        for name in ("eps", "one", "two"):
            numbers = numbers.replace(f"{name} = ", f"{name}_single = ")
            numbers += f"{name} = Cast<to={code}>({name}_single) "
    x = {"float32": "float", "float16": "float16", "float64": "double"}[dtype] + "[2,3,5,7]"
    return build(f"({x} x) => ({x} y)", numbers + body, opset=opset, **used)


def _normalized(
    tail: str, axes: str = "axes=[-1]", square: str = "Pow(d, two)", root: str = "Sqrt(e)"
) -> str:
    return (
        f"m = ReduceMean<{axes}>(x) d = Sub(x, m) q = {square} v = ReduceMean<{axes}>(q) "
        f"e = Add(v, eps) s = {root} {tail}"
    )


SPELLINGS = [
    _normalized("n = Div(d, s) w = Mul(n, g) y = Add(w, b)"),
    _normalized("n = Div(d, s) w = Mul(g, n) y = Add(b, w)", square="Mul(d, d)"),
    _normalized("n = Div(d, s) y = Mul(n, g)"),
    _normalized("n = Div(d, s) y = Add(n, b)"),
    _normalized("y = Div(d, s)"),
    _normalized("r = Div(one, s) n = Mul(d, r) w = Mul(n, g) y = Add(w, b)"),
    _normalized("r = Reciprocal(s) n = Mul(d, r) w = Mul(n, g) y = Add(w, b)"),
    _normalized("r = Reciprocal(s) k = Mul(r, g) w = Mul(d, k) y = Add(w, b)"),
    _normalized("n = Div(d, s) w = Mul(n, plane) y = Add(w, plane)", axes="axes=[2,3]"),
    _normalized("n = Div(d, s) w = Mul(n, channel) y = Add(w, shift)", axes="axes=[3,2]"),
    _normalized("n = Div(d, s) w = Mul(n, place) y = Add(w, place)"),
    "m = GlobalAveragePool(x) d = Sub(x, m) q = Mul(d, d) v = GlobalAveragePool(q) "
    "e = Add(v, eps) s = Sqrt(e) r = Reciprocal(s) w = Mul(channel, d) n = Mul(w, r) "
    "y = Add(n, shift)",
    _normalized(
        "r = Reciprocal(s) t = Mul(r, g) p = Mul(x, t) n = Mul(m, t) w = Sub(b, n) y = Add(p, w)"
    ),
    _normalized("t = Div(g, s) p = Mul(t, x) n = Mul(t, m) w = Sub(b, n) y = Add(w, p)"),
    "m = ReduceMean<axes=[3]>(x) c = Sub(x, m) d = Sub(x, m) q = Pow(c, two) "
    "v = ReduceMean<axes=[3]>(q) e = Add(eps, v) s = Sqrt(e) n = Div(d, s) w = Mul(n, g) "
    "y = Add(w, b)",
]
SQUARES = "q = Pow(x, two) v = ReduceMean<axes=[-1]>(q) e = Add(v, eps) s = Sqrt(e) "
ROOT_MEAN_SQUARES = [
    SQUARES + "n = Div(x, s) y = Mul(n, g)",
    SQUARES + "r = Reciprocal(s) n = Mul(x, r) y = Mul(g, n)",
    SQUARES.replace("Pow(x, two)", "Mul(x, x)") + "r = Div(one, s) y = Mul(x, r)",
]


@pytest.mark.parametrize("body", SPELLINGS)
def test_recognizes_layer_normalization(body: str, opened_device: Device) -> None:
    model = _model(body)
    graph = assert_same_results(model, recognize_norms, opened_device)
    assert ops_of(graph) == ["LayerNormalization"]
    assert graph.nodes[0].index == len(model.graph.node) - 1
    assert len(build_plan(graph).steps) == 1
    assert_as_exact(model, recognize_norms, opened_device)


@pytest.mark.parametrize("body", ROOT_MEAN_SQUARES)
def test_recognizes_root_mean_squares(body: str, opened_device: Device) -> None:
    model = _model(body)
    graph = assert_same_results(model, recognize_norms, opened_device)
    assert ops_of(graph) == ["RMSNormalization"]
    assert_as_exact(model, recognize_norms, opened_device)


def test_recognizes_axes_that_are_an_input(opened_device: Device) -> None:
    body = SPELLINGS[0].replace("ReduceMean<axes=[-1]>(x)", "ReduceMean(x, last)")
    model = _model(body.replace("ReduceMean<axes=[-1]>(q)", "ReduceMean(q, last)"), opset=18)
    graph = assert_same_results(model, recognize_norms, opened_device)
    assert ops_of(graph) == ["LayerNormalization"]


def test_recognizes_an_integer_exponent(opened_device: Device) -> None:
    body = "whole = Constant<value_int=2>() " + SPELLINGS[0].replace("two", "whole")
    graph = assert_same_results(_model(body), recognize_norms, opened_device)
    assert ops_of(graph) == ["LayerNormalization"]


def test_recognizes_half_precision(opened_device: Device) -> None:
    model = _model(SPELLINGS[0], "float16")
    assert ops_of(recognize_norms(graph_of(model))) == ["LayerNormalization"]
    assert_as_exact(model, recognize_norms, opened_device)


def test_recognizes_double(opened_device: Device) -> None:
    model = _model(SPELLINGS[0], "float64")
    assert ops_of(recognize_norms(graph_of(model))) == ["LayerNormalization"]
    assert_as_exact(model, recognize_norms, opened_device)


def test_a_scale_that_is_computed(opened_device: Device) -> None:
    body = "t = Mul(g, two) u = ReduceMax<axes=[0,1,2], keepdims=0>(x) k = Add(u, t) "
    model = _model(body + _normalized("n = Div(d, s) w = Mul(n, k) y = Add(w, u)"))
    graph = assert_same_results(model, recognize_norms, opened_device)
    assert ops_of(graph) == ["ReduceMax", "Add", "LayerNormalization"]


def test_what_is_no_scale_of_rows_stays_outside(opened_device: Device) -> None:
    model = _model(_normalized("n = Div(d, s) w = Mul(n, x) y = Add(w, b)"))
    graph = assert_same_results(model, recognize_norms, opened_device)
    assert ops_of(graph) == ["LayerNormalization", "Mul", "Add"]


def test_one_behind_the_other(opened_device: Device) -> None:
    first = re.sub(r"\b([mdqvesnw])\b", r"\g<1>1", SPELLINGS[0]).replace("y =", "z =")
    model = _model(first + " " + re.sub(r"\bx\b", "z", SPELLINGS[0]))
    graph = assert_same_results(model, recognize_norms, opened_device)
    assert ops_of(graph) == ["LayerNormalization"] * 2


def test_every_inner_value_can_be_had(opened_device: Device) -> None:
    for wanted in "mdqvesnw":
        graph = assert_same_results(_model(SPELLINGS[0]), run_passes, opened_device, ("y", wanted))
        assert ("LayerNormalization" in ops_of(graph)) == (wanted in "nw")


@pytest.mark.parametrize(
    "body",
    [
        _normalized("n = Div(d, s) w = Mul(n, g) y = Add(w, b)", axes="axes=[1]"),
        _normalized("n = Div(d, s) w = Mul(n, g) y = Add(w, m)"),
        _normalized("n = Div(d, s) w = Mul(n, g) y = Add(w, d)"),
        _normalized("n = Div(s, d) w = Mul(n, g) y = Add(w, b)"),
        _normalized("n = Div(x, s) w = Mul(n, g) y = Add(w, b)"),
        _normalized("n = Div(d, s) w = Mul(n, g) y = Add(w, b)", square="Mul(d, x)"),
        _normalized("n = Div(d, s) w = Mul(n, g) y = Add(w, b)", root="Exp(e)"),
        _normalized("t = Div(g, s) p = Mul(x, t) n = Mul(m, t) w = Sub(n, b) y = Add(p, w)"),
        _normalized("t = Div(g, s) p = Mul(x, t) n = Mul(m, s) w = Sub(b, n) y = Add(p, w)"),
        _normalized("t = Div(g, s) p = Mul(d, t) n = Mul(m, t) w = Sub(b, n) y = Add(p, w)"),
        _normalized("n = Div(d, s) h = Mul(n, two) w = Mul(h, g) y = Add(w, s)"),
        "m = ReduceMean<axes=[-1]>(x) d = Sub(m, x) q = Pow(d, two) "
        "v = ReduceSum<keepdims=1>(q, last) e = Add(v, eps) s = Sqrt(e) n = Div(d, s) "
        "y = Mul(n, g)",
        "m = ReduceMean<axes=[-1]>(x) d = Sub(x, m) q = Pow(d, two) "
        "v = ReduceMean<axes=[2,3]>(q) e = Add(v, eps) s = Sqrt(e) n = Div(d, s) y = Mul(n, m)",
    ],
)
def test_is_no_layer_normalization(body: str) -> None:
    ops = ops_of(recognize_norms(graph_of(_model(body))))
    assert "LayerNormalization" not in ops


@pytest.mark.parametrize("inner", ["m", "v", "s"])
def test_a_bias_from_within_stays_outside(inner: str, opened_device: Device) -> None:
    """A mean of each row looks like a number for each channel."""
    body = _normalized(f"n = Div(d, s) w = Mul(n, place) y = Add(w, {inner})")
    numbers = "eps = Constant<value_float=1e-5>() two = Constant<value_float=2.0>() "
    model = build("(float[1,5,7] x) => (float[1,5,7] y)", numbers + body, place=WEIGHTS["place"])
    graph = assert_same_results(model, recognize_norms, opened_device)
    assert "LayerNormalization" not in ops_of(graph)


def test_leaves_the_inverse_of_a_root_alone(opened_device: Device) -> None:
    model = _model(ROOT_MEAN_SQUARES[2])
    graph = assert_same_results(model, recognize_norms, opened_device, ("y", "r"))
    assert "RMSNormalization" not in ops_of(graph)


def test_an_epsilon_that_is_a_parameter_is_built_in(opened_device: Device) -> None:
    model = build(
        "(float[2,7] x) => (float[2,7] y)",
        "two = Constant<value_float=2.0>() " + SPELLINGS[0],
        g=WEIGHTS["g"],
        b=WEIGHTS["b"],
        eps=np.array(1e-5, np.float32),
    )
    graph = assert_same_results(model, recognize_norms, opened_device)
    assert ops_of(graph) == ["LayerNormalization"]
    assert graph.built_in == {"eps"}
