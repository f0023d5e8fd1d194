"""fuse_elementwise: chains of elementwise nodes become one kernel, with the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest

import cugraphmodel
from cugraphmodel.executors.base import Device
from cugraphmodel.ir import Graph
from cugraphmodel.ops.elementwise.fused import literal_of
from cugraphmodel.passes import run_passes
from cugraphmodel.passes.fuse_elementwise import MAX_STEPS, fuse_elementwise
from tests.api.builders import build, normal
from tests.passes.graphs import (
    assert_as_exact,
    assert_same_bits,
    assert_same_results,
    graph_of,
    ops_of,
    parameters_of,
    run_graph,
)

Array = npt.NDArray[Any]

ONNX_NAMES = {"float32": "float", "float64": "double"}
FLOATS = ("float32", "float16", "bfloat16", "float64")
INTEGERS = ("int8", "uint8", "int16", "int32", "int64", "uint32", "uint64")


def _inputs(graph: Graph) -> list[Array]:
    generator = np.random.default_rng(5)
    wide = [4 * generator.standard_normal(graph.values[name].shape) for name in graph.inputs]
    with np.errstate(invalid="ignore"):
        return [
            (np.abs(x) if graph.values[name].dtype.kind == "u" else x).astype(
                graph.values[name].dtype
            )
            for name, x in zip(graph.inputs, wide, strict=True)
        ]


def assert_changes_no_bit(
    model: onnx.ModelProto, device: Device, outputs: Sequence[str] = ("y",)
) -> Graph:
    """The pass changes no bit of any output. Returns the graph after it."""
    before = graph_of(model, outputs)
    after = fuse_elementwise(before)
    inputs, parameters = _inputs(before), parameters_of(model)
    wanted = run_graph(before, parameters, device, inputs)
    assert_same_bits(run_graph(after, parameters, device, inputs), wanted)
    return after


def _model(body: str, dtype: str = "float32", **weights: Any) -> onnx.ModelProto:
    """A model of x, z and the row w; ``T`` in the body stands for the dtype's name in ONNX."""
    name = ONNX_NAMES.get(dtype, dtype)
    signature = f"({name}[3,8] x, {name}[3,8] z, {name}[8] w) => (float[A] y)"
    code = onnx.helper.np_dtype_to_tensor_dtype(
        np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    )
    return build(signature, body.replace("TYPE", str(code)), opset=22, **weights)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "body",
    [
        "m = Mul(x, z) y = Add(m, w)",
        "m = Mul(x, z) y = Sub(m, x)",
        "e = Exp(x) s = Add(e, z) r = Sqrt(s) y = Add(r, x)",
        "s = Sigmoid(x) t = Tanh(z) m = Mul(s, t) a = Add(m, x) b = Mul(a, w) y = Sub(b, m)",
        "h = Elu(x) i = Selu(h) j = HardSigmoid<alpha=0.3>(i) y = Mul(j, z)",
        "a = Swish<alpha=0.7>(x) b = Mish(z) c = Add(a, b) d = Celu<alpha=0.6>(c) y = Add(d, w)",
        "q = Div(x, z) g = Greater(q, w) y = Where(g, q, w)",
        'g = Gelu(x) t = Gelu<approximate="tanh">(z) a = Sub(g, t) y = Round(a)',
        "a = Sum(x, z, w) b = Mean(a, x) c = Max(b, z) y = Min(c, w)",
        "d = Add(x, x) e = Mul(d, d) f = Add(e, e) y = Mul(f, f)",
    ],
)
def test_floats_keep_their_bits(body: str, dtype: str, opened_device: Device) -> None:
    version = 24 if "Swish" in body else 22
    model = _model(body, dtype)
    model.opset_import[0].version = version
    assert ops_of(assert_changes_no_bit(model, opened_device)) == ["FusedElementwise"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_keep_their_bits(dtype: str, opened_device: Device) -> None:
    """Sums and products wrap at the width of the type, in the middle of a chain too."""
    body = (
        "m = Mul(x, x) n = Mul(m, m) a = Add(n, z) d = Div(a, w) r = Mod(d, z) "
        "c = BitwiseXor(r, a) s = Sub(c, m) y = Max(s, w)"
    )
    graph = assert_changes_no_bit(_model(body, dtype), opened_device)
    assert ops_of(graph) == ["FusedElementwise"]


def test_bools_keep_their_bits(opened_device: Device) -> None:
    body = "a = And(x, z) n = Not(a) o = Or(n, w) e = Equal(o, x) y = Xor(e, z)"
    graph = assert_changes_no_bit(_model(body, "bool"), opened_device)
    assert ops_of(graph) == ["FusedElementwise"]


@pytest.mark.parametrize(
    "through", ["float16", "bfloat16", "int8", "uint16", "bool", "float8e4m3fn"]
)
def test_casts_round_inside_a_chain(through: str, opened_device: Device) -> None:
    code = {
        "float16": 10, "bfloat16": 16, "int8": 3, "uint16": 4, "bool": 9, "float8e4m3fn": 17
    }[through]  # fmt: skip
    body = f"m = Mul(x, z) c = Cast<to={code}>(m) d = Cast<to=1>(c) y = Add(d, w)"
    graph = assert_changes_no_bit(_model(body), opened_device)
    assert ops_of(graph) == ["FusedElementwise"]


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("number", ["0.1", "-3.25", "2.0", "1e30", "0.0"])
def test_numbers_stand_in_the_expression(number: str, dtype: str, opened_device: Device) -> None:
    if dtype == "float16" and number == "1e30":
        number = "6e4"
    body = (
        f"c = Constant<value_float={number}>() k = Cast<to=TYPE>(c) "
        "m = Mul(x, k) a = Add(m, z) d = Div(a, k) y = Max(d, k)"
    )
    graph = assert_changes_no_bit(_model(body, dtype), opened_device)
    (node,) = (node for node in graph.nodes if node.op_type == "FusedElementwise")
    assert set(node.inputs) == {"x", "z"}


@pytest.mark.parametrize("exponent", ["2.0", "3.0", "0.5", "-1.0"])
def test_only_squares_have_their_exponent_in_the_expression(
    exponent: str, opened_device: Device
) -> None:
    body = f"k = Constant<value_float={exponent}>() a = Abs(x) p = Pow(a, k) y = Sub(p, z)"
    graph = assert_changes_no_bit(_model(body), opened_device)
    assert len(graph.nodes[-1].inputs) == (2 if exponent == "2.0" else 3)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (np.float32(0.5), "(0x1.0000000000000p-1f)"),
        (np.float16(-2), "(-0x1.0000000000000p+1f)"),
        (np.float64(3), "(0x1.8000000000000p+1)"),
        (np.float32(-np.inf), "(-CG_INF)"),
        (np.float64(np.inf), "double(CG_INF)"),
        (np.int8(-1), "((signed char)0xffull)"),
        (np.int64(-(2**63)), "((long long)0x8000000000000000ull)"),
        (np.bool_(True), "((bool)0x1ull)"),
        (np.float32(np.nan), None),
        (np.array(1, ml_dtypes.float8_e5m2)[()], None),
    ],
)
def test_literals(number: np.generic, text: str | None) -> None:
    assert literal_of(number) == text


@pytest.mark.parametrize(
    ("signature", "body", "left"),
    [
        ("float[4,1] x, float[4,6] z", "n = Neg(x) y = Add(n, z)", ["FusedElementwise"]),
        ("float[4,1] x, float[4,6] z", "n = Exp(x) y = Add(n, z)", ["Exp", "Add"]),
        ("float[3] x, float[1,1] z", "m = Mul(x, z) y = Abs(m)", ["FusedElementwise"]),
        ("float[2,1,5] x, float[3,1] z", "a = Add(x, z) y = Mul(a, z)", ["FusedElementwise"]),
        ("float[] x, float[] z", "a = Add(x, z) y = Mul(a, z)", ["FusedElementwise"]),
        ("float[5] x, float[1] z", "r = Relu(x) y = Clip(r, z)", ["FusedElementwise"]),
        ("float[0,3] x, float[3] z", "a = Add(x, z) y = Relu(a)", ["Add", "Relu"]),
        ("float[5] x, float[5] z", "s = Sin(x) c = Cos(s) y = Add(c, z)", ["Sin", "Cos", "Add"]),
        ("float[5] x, float[5] z", "a = Add(x, z) y = Softmax(a)", ["Add", "Softmax"]),
        (
            "float[1,2,1,3,1,2,1,2] x, float[2,1,3,1,2,1,2,1] z",
            "a = Add(x, z) b = Mul(a, z) y = Sub(b, x)",
            ["FusedElementwise"],
        ),
    ],
)
def test_shapes_and_operators(
    signature: str, body: str, left: list[str], opened_device: Device
) -> None:
    model = build(f"({signature}) => (float[A] y)", body)
    assert ops_of(assert_changes_no_bit(model, opened_device)) == left


def test_what_is_needed_elsewhere_ends_a_chain(opened_device: Device) -> None:
    body = "a = Add(x, z) b = Mul(a, w) c = Relu(b) y = Sub(c, x)"
    for wanted in ("a", "b", "c"):
        graph = assert_changes_no_bit(_model(body), opened_device, ("y", wanted))
        assert any(wanted in node.outputs for node in graph.nodes)
    graph = assert_changes_no_bit(
        _model("a = Add(x, z) b = Abs(a) s = Softmax(b) c = Exp(b) y = Mul(s, c)"), opened_device
    )
    assert ops_of(graph) == ["FusedElementwise", "Softmax", "FusedElementwise"]


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_a_chain_gives_one_inner_result_as_well(dtype: str, opened_device: Device) -> None:
    """The state of a recurrent cell, which the next step reads."""
    body = (
        "f = Sigmoid(x) i = Mul(f, z) c = Add(i, w) t = Tanh(c) h = Mul(t, f) "
        "s = Softmax(h) y = Mul(s, c)"
    )
    graph = assert_changes_no_bit(_model(body, dtype), opened_device)
    assert ops_of(graph) == ["FusedElementwise", "Softmax", "Mul"]
    assert graph.nodes[0].outputs == ("h", "c")


def test_an_inner_result_may_have_another_type(opened_device: Device) -> None:
    body = "g = Greater(x, z) k = Where(g, x, w) y = Exp(k)"
    graph = assert_changes_no_bit(_model(body), opened_device, ("y", "g"))
    assert [node.outputs for node in graph.nodes] == [("y", "g")]


@pytest.mark.parametrize(
    ("body", "outputs", "left"),
    [
        ("a = Add(x, z) b = Abs(a) c = Exp(b) y = Mul(c, x)", ("y", "a", "b"), [1, 2]),
        ("a = Add(w, w) y = Add(a, x)", ("y", "a"), [1, 1]),
        ("a = Add(x, z) s = Softmax(a) t = Exp(a) y = Mul(t, s)", ("y",), [1, 1, 1]),
    ],
    ids=["two", "of another shape", "too early"],
)
def test_more_inner_results_are_nodes_of_their_own(
    body: str, outputs: tuple[str, ...], left: list[int], opened_device: Device
) -> None:
    graph = assert_changes_no_bit(_model(body), opened_device, outputs)
    assert [len(node.outputs) for node in graph.nodes] == left


def test_what_takes_the_place_of_a_state_is_needed() -> None:
    plain = graph_of(_model("a = Add(x, z) b = Abs(a) y = Relu(b)"))
    graph = fuse_elementwise(plain.replace(state={"z": "a"}, inputs=("x", "w")))
    assert [node.outputs for node in graph.nodes] == [("y", "a")]


def test_a_chain_reads_six_tensors_at_most(opened_device: Device) -> None:
    weights: dict[str, Any] = {f"w{k}": normal(k, 8) for k in range(7)}
    body = " ".join(f"a{k + 1} = Mul(a{k}, w{k})" for k in range(7)).replace("a0", "x")
    model = _model(f"{body} y = Neg(a7)", **weights)
    graph = assert_changes_no_bit(model, opened_device)
    assert [len(node.inputs) for node in graph.nodes] == [3, 6]


def test_a_chain_may_read_more_on_the_way(opened_device: Device) -> None:
    """The sum of six tensors and what only two of them make, which is read in three places."""
    body = (
        "p = Mul(x, z) q = Add(p, x) r = Sub(p, z) s = Mul(p, p) "
        "a = Sum(q, w0, w1, w2) b = Sum(r, w0, s) y = Add(a, b)"
    )
    weights: dict[str, Any] = {f"w{k}": normal(k, 8) for k in range(3)}
    graph = assert_changes_no_bit(_model(body, **weights), opened_device)
    assert ops_of(graph) == ["FusedElementwise"]


def test_a_chain_has_so_many_steps_at_most(opened_device: Device) -> None:
    length = MAX_STEPS + 5
    body = " ".join(f"a{k + 1} = Sigmoid(a{k})" for k in range(length))
    model = _model(f"a0 = Neg(x) {body} y = Add(a{length}, z)")
    graph = assert_changes_no_bit(model, opened_device)
    assert ops_of(graph) == ["FusedElementwise", "FusedElementwise"]


def test_the_last_node_gives_place_and_index() -> None:
    graph = fuse_elementwise(graph_of(_model("s = Softmax(z) a = Mul(x, s) y = Add(a, w)")))
    assert [(node.op_type, node.index) for node in graph.nodes] == [
        ("Softmax", 0),
        ("FusedElementwise", 2),
    ]
    assert graph.nodes[1].inputs == ("x", "s", "w")


def test_numbers_of_parameters_stay_loadable(device: str) -> None:
    model = cugraphmodel.load(
        build(
            "(float[N,8] x) => (float[N,8] y)",
            "m = Mul(x, scale) y = Add(m, shift)",
            scale=np.array(2, np.float32),
            shift=np.array([0.5], np.float32),
        ),
        device=device,
    )
    x = normal(1, 3, 8)
    with model.capture_graph(batch_size=3) as graph:
        np.testing.assert_array_equal(graph.run([x])[0], x * 2 + np.float32(0.5))
        model.load_param("scale", np.array(-4, np.float32))
        model.load_param("shift", np.array([0.25], np.float32))
        np.testing.assert_array_equal(graph.run([x])[0], x * -4 + np.float32(0.25))


def test_operators_in_channels_last_form_are_fused(opened_device: Device) -> None:
    """After a convolution in channels-last form, with weights of each channel."""
    model = build(
        "(float[1,8,6,6] x) => (float[A,B,C,D] y)",
        "c = Conv<pads=[1,1,1,1]>(x, k) d = Conv<pads=[1,1,1,1]>(c, k) "
        "e = Conv<pads=[1,1,1,1]>(d, k) m = Mul(e, d) a = Add(m, g) y = Abs(a)",
        k=normal(1, 8, 8, 3, 3),
        g=normal(2, 8, 1, 1),
    )
    graph = assert_same_results(model, run_passes, opened_device)
    convs = ["ChannelsLastConv"] * 3
    assert ops_of(graph) == ["Transpose", *convs, "FusedElementwise", "Transpose"]


def test_a_normalisation_in_channels_last_form_is_fused(opened_device: Device) -> None:
    model = build(
        "(float[1,8,6,6] x) => (float[A] y)",
        "c = Conv<pads=[1,1,1,1]>(x, k) p = Concat<axis=1>(c, c) "
        "n = BatchNormalization(p, g, b, m, v) r = Relu(n) d = Conv<pads=[1,1,1,1]>(r, l) "
        "y = Conv<pads=[1,1,1,1]>(d, k)",
        k=normal(1, 8, 8, 3, 3),
        l=normal(2, 8, 16, 3, 3),
        g=normal(3, 16),
        b=normal(4, 16),
        m=normal(5, 16),
        v=np.abs(normal(6, 16)) + np.float32(0.5),
    )
    graph = assert_same_results(model, run_passes, opened_device)
    assert "FusedElementwise" in ops_of(graph)
    assert not {"Relu", "BatchNormalization"} & set(ops_of(graph))
    assert_as_exact(model, run_passes, opened_device)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_quantised_in_between(dtype: str, opened_device: Device) -> None:
    """As files with fake quantisation have it; scales and zero points are parameters."""
    model = build(
        "(float[3,8] x, float[3,8] z) => (float[A] y)",
        "r = Clip(x, low, high) q = QuantizeLinear(r, scale, zero) "
        "d = DequantizeLinear(q, scale, zero) y = Add(d, z)",
        opset=21,
        low=np.array(-1, np.float32),
        high=np.array(3, np.float32),
        scale=np.array(0.017, np.float32),
        zero=np.array(7, dtype),
    )
    graph = assert_changes_no_bit(model, opened_device)
    assert ops_of(graph) == ["FusedElementwise"]
    assert_same_results(model, fuse_elementwise, opened_device)


def test_scales_by_axis_are_no_step(opened_device: Device) -> None:
    model = build(
        "(float[3,8] x) => (float[A] y)",
        "r = Relu(x) q = QuantizeLinear(r, scale, zero) y = DequantizeLinear(q, scale, zero)",
        scale=np.linspace(0.01, 0.02, 8, dtype=np.float32),
        zero=np.arange(8, dtype=np.uint8),
    )
    graph = assert_changes_no_bit(model, opened_device)
    assert ops_of(graph) == ["Relu", "QuantizeLinear", "DequantizeLinear"]


def test_agrees_with_onnx_runtime(opened_device: Device) -> None:
    body = "s = Sigmoid(x) t = Tanh(z) m = Mul(s, t) a = Add(m, x) b = Mul(a, w) y = Exp(b)"
    graph = assert_same_results(_model(body), fuse_elementwise, opened_device)
    assert ops_of(graph) == ["FusedElementwise"]


@pytest.mark.parametrize(
    ("x", "integer", "y"),
    [
        ("double", 6, "float16"),
        ("float", 7, "float"),
        ("float16", 3, "float"),
        ("float", 2, "double"),
    ],
)
def test_a_zero_that_was_an_integer_has_no_sign(
    x: str, integer: int, y: str, opened_device: Device
) -> None:
    code = {"float": 1, "float16": 10, "double": 11}[y]
    model = build(
        f"({x}[64] x) => ({y}[64] y)",
        f"h = Mul(x, x) n = Neg(h) i = Cast<to = {integer}>(n) y = Cast<to = {code}>(i)",
        opset=22,
    )
    graph = graph_of(model)
    fused = fuse_elementwise(graph)
    assert ops_of(fused) == ["FusedElementwise"]
    data = np.linspace(-0.9, 0.9, 64).astype(graph.values["x"].dtype)
    for which in (graph, fused):
        (result,) = run_graph(which, parameters_of(model), opened_device, [data])
        assert not result.any()
        assert not np.signbit(result).any()
