"""recognize_activations: an activation that is spelled out becomes one node."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from cugraphmodel.executors.base import Device
from cugraphmodel.passes import run_passes
from cugraphmodel.passes.recognize_activations import recognize_activations
from tests.api.builders import add_weights, build, normal
from tests.passes.graphs import assert_as_exact, assert_same_results, graph_of, ops_of

NUMBERS = {
    "half": 0.5,
    "one": 1.0,
    "two": 2.0,
    "three": 3.0,
    "six": 6.0,
    "zero": 0.0,
    "root": 2**0.5,
    "inverse_root": 0.5**0.5,
    "slope": (2 / np.pi) ** 0.5,
    "cubic": 0.044715,
    "sixth": 1 / 6,
    "quick": 1.702,
    "near": 1.4144,
}
GELU = "d = Div(x, root) e = Erf(d) s = Add(e, one) "
CUBE = "c = Pow(x, three) k = Mul(cubic, c) a = Add(x, k) i = Mul(slope, a) t = Tanh(i) "
RAMP = "r = Add(x, three) c = Clip(r, zero, six) "

SPELLINGS = [
    ("Gelu", GELU + "m = Mul(x, s) y = Mul(m, half)"),
    ("Gelu", GELU + "m = Mul(s, half) y = Mul(x, m)"),
    ("Gelu", GELU + "m = Mul(x, half) y = Mul(m, s)"),
    ("Gelu", GELU + "m = Mul(s, x) y = Div(m, two)"),
    ("Gelu", "d = Mul(inverse_root, x) e = Erf(d) s = Add(one, e) m = Mul(half, x) y = Mul(s, m)"),
    ("Gelu", CUBE + "s = Add(t, one) m = Mul(x, s) y = Mul(m, half)"),
    ("Gelu", CUBE + "s = Add(one, t) m = Mul(half, s) y = Mul(x, m)"),
    (
        "Gelu",
        "b = Mul(x, x) c = Mul(b, x) k = Mul(c, cubic) a = Add(k, x) i = Mul(a, slope) "
        "t = Tanh(i) s = Add(t, one) m = Mul(x, half) y = Mul(m, s)",
    ),
    (
        "Gelu",
        "u = Mul(x, cubic) b = Mul(u, x) a = Add(one, b) v = Mul(x, slope) i = Mul(v, a) "
        "t = Tanh(i) s = Add(t, one) m = Mul(x, half) y = Mul(m, s)",
    ),
    ("HardSwish", "h = HardSigmoid<alpha=0.16666667, beta=0.5>(x) y = Mul(x, h)"),
    ("HardSwish", RAMP + "m = Mul(x, c) y = Div(m, six)"),
    ("HardSwish", RAMP + "m = Div(c, six) y = Mul(m, x)"),
    ("HardSwish", RAMP + "m = Mul(c, sixth) y = Mul(x, m)"),
    ("Mish", "p = Softplus(x) t = Tanh(p) y = Mul(x, t)"),
    ("Swish", "s = Sigmoid(x) y = Mul(s, x)"),
    ("Swish", "q = Mul(quick, x) s = Sigmoid(q) y = Mul(x, s)"),
]


def _numbers(body: str) -> str:
    return "".join(
        f"{name} = Constant<value_float={float(np.float32(value))!r}>() "
        for name, value in NUMBERS.items()
        if any(f"{before}{name}{after}" in body for before in " (" for after in ",)")
    )


def _model(body: str, x: str = "float[3,40]", opset: int = 17) -> onnx.ModelProto:
    return build(f"({x} x) => ({x} y)", _numbers(body) + body, opset=opset)


@pytest.mark.parametrize(("op_type", "body"), SPELLINGS)
def test_recognizes(op_type: str, body: str, opened_device: Device) -> None:
    model = _model(body)
    graph = assert_same_results(model, recognize_activations, opened_device)
    assert ops_of(graph) == [op_type]
    assert graph.nodes[0].index == len(model.graph.node) - 1
    assert_as_exact(model, recognize_activations, opened_device)


@pytest.mark.parametrize("spelling", [SPELLINGS[i][1] for i in (0, 5, 9, 11, 13, 14, 15)])
def test_becomes_part_of_the_product_before(spelling: str, opened_device: Device) -> None:
    body = "x = MatMul(z, w) " + spelling
    model = build("(float[3,7] z) => (float[A,B] y)", _numbers(body) + body, w=normal(1, 7, 40))
    graph = assert_same_results(model, run_passes, opened_device)
    assert ops_of(graph) == ["FusedMatMul"]
    assert_as_exact(model, run_passes, opened_device)
    for wanted in {name for node in model.graph.node[-3:] for name in node.output}:
        assert_same_results(model, run_passes, opened_device, ("y", wanted))


def test_a_number_may_be_rounded_in_decimal(opened_device: Device) -> None:
    """As PaddlePaddle writes one sixth."""
    model = _model("h = HardSigmoid<alpha=0.1666667, beta=0.5>(x) y = Mul(x, h)")
    graph = assert_same_results(model, recognize_activations, opened_device)
    assert ops_of(graph) == ["HardSwish"]


def test_two_one_behind_the_other(opened_device: Device) -> None:
    model = _model("s = Sigmoid(x) a = Mul(s, x) t = Sigmoid(a) y = Mul(a, t)")
    graph = assert_same_results(model, recognize_activations, opened_device)
    assert ops_of(graph) == ["Swish", "Swish"]


@pytest.mark.parametrize("op_type", ["Gelu", "HardSwish", "Swish"])
def test_numbers_of_half_precision(op_type: str) -> None:
    body = dict(reversed(SPELLINGS))[op_type]
    numbers = "".join(
        f"{name} = Cast<to=10>({name}_wide) " for name in NUMBERS if f"{name} = " in _numbers(body)
    )
    wide = _numbers(body).replace(" = Constant", "_wide = Constant")
    model = build("(float16[3,40] x) => (float16[3,40] y)", wide + numbers + body)
    assert ops_of(recognize_activations(graph_of(model))) == [op_type]


@pytest.mark.parametrize(
    ("body", "outputs"),
    [
        (SPELLINGS[0][1], ("y", "e")),
        (SPELLINGS[0][1], ("y", "m")),
        (GELU + "m = Mul(x, s) n = Mul(m, half) y = Add(n, e)", ("y",)),
        (GELU + "m = Mul(x, s) y = Mul(m, one)", ("y",)),
        (GELU.replace("root", "near") + "m = Mul(x, s) y = Mul(m, half)", ("y",)),
        (GELU.replace("one", "two") + "m = Mul(x, s) y = Mul(m, half)", ("y",)),
        (GELU + "m = Mul(d, s) y = Mul(m, half)", ("y",)),
        (GELU + "m = Div(s, x) y = Mul(m, half)", ("y",)),
        ("h = HardSigmoid(x) y = Mul(x, h)", ("y",)),
        (RAMP.replace("six", "three") + "m = Mul(x, c) y = Div(m, six)", ("y",)),
        ("s = Sigmoid(x) y = Add(s, x)", ("y",)),
        ("s = Sigmoid(x) r = Relu(x) y = Mul(s, r)", ("y",)),
        ("p = Softplus(x) t = Sigmoid(p) y = Mul(x, t)", ("y",)),
    ],
)
def test_leaves_alone(body: str, outputs: tuple[str, ...]) -> None:
    graph = graph_of(_model(body), outputs)
    assert ops_of(recognize_activations(graph)) == ops_of(graph)


def test_numbers_that_are_parameters_are_built_in(opened_device: Device) -> None:
    model = build("(float[3,4] x) => (float[3,4] y)", GELU + "m = Mul(x, s) y = Mul(m, half)")
    add_weights(model, **{n: np.array(NUMBERS[n], np.float32) for n in ("root", "one", "half")})
    graph = assert_same_results(model, recognize_activations, opened_device)
    assert ops_of(graph) == ["Gelu"]
    assert graph.built_in == {"root", "one", "half"}


def test_leaves_double_alone_where_a_number_is_of_single_precision() -> None:
    body = SPELLINGS[0][1]
    wide = _numbers(body).replace(" = Constant", "_narrow = Constant")
    wide += "".join(f"{name} = Cast<to=11>({name}_narrow) " for name in ("root", "one", "half"))
    model = build("(double[3,4] x) => (double[3,4] y)", wide + body)
    graph = graph_of(model)
    assert ops_of(recognize_activations(graph)) == ops_of(graph)


def test_a_number_that_enlarges_the_shape_is_none() -> None:
    model = build(
        "(float[4] x) => (float[A,B] y)",
        "one = Constant<value_floats=[1.0]>() shape = Constant<value_ints=[1,1]>() "
        "wide = Reshape(one, shape) s = Sigmoid(x) m = Mul(x, s) y = Mul(m, wide)",
    )
    graph = recognize_activations(graph_of(model))
    assert ops_of(graph) == ["Swish", "Mul"]


def test_long_chains_of_products_end() -> None:
    links = "".join(f"v{i + 1} = Mul(v{i}, two) " for i in range(3000))
    model = _model("v0 = Mul(x, two) " + links + "y = Mul(v3000, zero)")
    assert len(recognize_activations(graph_of(model)).nodes) == 3002
