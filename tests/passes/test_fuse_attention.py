"""fuse_attention: products and a softmax become one node that keeps no scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from cugraphmodel.executors import open_device
from cugraphmodel.executors.base import Device
from cugraphmodel.ir import Graph, Node
from cugraphmodel.ops.attention.layout import AttentionLayout
from cugraphmodel.passes import run_passes
from cugraphmodel.passes.fuse_attention import fuse_attention
from tests.api.builders import build, normal
from tests.passes.graphs import (
    assert_same_results,
    graph_of,
    ops_of,
    parameters_of,
    run_graph,
)

QKV = "(float[2,3,5,8] q, float[2,3,6,8] k, float[2,3,6,4] v) => (float[2,3,5,4] y)"
QKV_M = QKV.replace(" v)", " v, float[5,6] m)")
TURN = "t = Transpose<perm = [0, 1, 3, 2]>(k) s = MatMul(q, t)"
WEIGH = "p = Softmax<axis = -1>(z) y = MatMul(p, v)"
CAUSAL = np.where(np.arange(6) > np.arange(5)[:, None], -np.inf, 0).astype(np.float32)
NUMBERS = {
    "half": np.float32(0.5),
    "root": np.array([2.5], np.float32),
    "one": np.ones((1, 1), np.float32),
    "least": np.float32(-1e9),
    "never": np.float32(-np.inf),
    "zero": np.float32(0),
    "bias": normal(4, 5, 6),
    "heads_bias": normal(5, 3, 1, 6),
    "causal": CAUSAL,
    "ahead": CAUSAL < 0,
    "minus_one": np.array([-1]),
    "to_packed": np.array([0, 0, 3, 2, 8]),
    "to_heads": np.array([0, 0, 2, 8]),
    "to_hidden": np.array([0, 0, 16]),
    "to_hidden_4": np.array([0, 0, 12]),
    "to_three": np.array([6, 5, 8]),
    "to_three_v": np.array([6, 6, 4]),
    "to_three_k": np.array([6, 6, 8]),
    "to_four": np.array([2, 3, 5, 4]),
    "groups": np.array([2, 2, 3, 7, 8]),
    "grouped": np.array([2, 6, 7, 8]),
    "axis_0": np.array([0]),
    "axis_2": np.array([2]),
    "first": np.int64(0),
    "second": np.int64(1),
    "third": np.int64(2),
    "at_0": np.array([0]),
    "at_16": np.array([16]),
    "at_32": np.array([32]),
    "at_48": np.array([48]),
}
KNOWN = {"zero", "never", "first", "second", "third"}
"""Those that are no parameters, which could be loaded anew."""


def _model(signature: str, body: str, **more: Any) -> onnx.ModelProto:
    used = {name: array for name, array in NUMBERS.items() if _reads(body, name)}
    weights: dict[str, Any] = {**used, **more}
    model = build(signature, body, **weights)
    for name in KNOWN & used.keys():
        _make_constant(model, name)
    return model


def _make_constant(model: onnx.ModelProto, name: str) -> None:
    """Turn a parameter into a constant."""
    (tensor,) = [tensor for tensor in model.graph.initializer if tensor.name == name]
    model.graph.node.insert(0, onnx.helper.make_node("Constant", [], [name], value=tensor))
    model.graph.initializer.remove(tensor)


def _reads(body: str, name: str) -> bool:
    return any(word.strip("(), ") == name for word in body.replace("(", "( ").split())


def _attention_of(graph: Graph) -> tuple[Node, AttentionLayout]:
    (node,) = [node for node in graph.nodes if node.op_type == "FusedAttention"]
    return node, node.attributes["layout"]


@pytest.mark.parametrize(
    "body",
    [
        f"{TURN} z = Div(s, root) {WEIGH}",
        f"{TURN} z = Mul(half, s) {WEIGH}",
        f"{TURN} p = Softmax<axis = 3>(s) y = MatMul(p, v)",
        f"{TURN} a = Mul(s, half) z = Add(a, bias) {WEIGH}",
        f"{TURN} a = Mul(s, half) z = Add(bias, a) {WEIGH}",
        f"{TURN} a = Mul(s, half) z = Add(a, causal) {WEIGH}",
        f"{TURN} a = Add(s, bias) z = Add(heads_bias, a) {WEIGH}",
        f"{TURN} z = Where(ahead, least, s) {WEIGH}",
        f"{TURN} n = Not(ahead) z = Where(n, s, least) {WEIGH}",
        f"{TURN} w = Where(ahead, least, s) z = Add(w, bias) {WEIGH}",
        f"{TURN} a = Mul(s, half) b = Div(a, root) c = Tanh(b) z = Mul(c, root) {WEIGH}",
        "a = Mul(q, half) b = Mul(k, half) t = Transpose<perm = [0, 1, 3, 2]>(b)"
        f" z = MatMul(a, t) {WEIGH}",
        "t = Transpose<perm = [0, 1, 3, 2]>(k) b = Mul(t, half) a = Div(q, one)"
        f" z = MatMul(a, b) {WEIGH}",
        f"{TURN} i = Identity(s) z = Cast<to = 1>(i) {WEIGH}",
        f"{TURN} e = Softmax<axis = -1>(s) n = IsNaN(e) p = Where(n, zero, e) y = MatMul(p, v)",
        f"{TURN} e = Softmax<axis = -1>(s) p = Dropout(e) y = MatMul(p, v)",
    ],
)
def test_fuses(body: str, opened_device: Device) -> None:
    graph = assert_same_results(_model(QKV, body), fuse_attention, opened_device)
    assert [op for op in ops_of(graph) if op != "Not"] == ["FusedAttention"]
    assert fuse_attention(graph).nodes == graph.nodes


@pytest.mark.parametrize(
    "body",
    [
        f"{TURN} z = Sub(s, bias) {WEIGH}",
        f"{TURN} z = Div(half, s) {WEIGH}",
        f"{TURN} z = Mul(s, bias) {WEIGH}",
        f"{TURN} a = Add(s, bias) z = Mul(a, half) {WEIGH}",
        f"{TURN} a = Add(s, bias) b = Add(a, bias) z = Add(b, bias) {WEIGH}",
        f"{TURN} z = Where(ahead, bias, s) {WEIGH}",
        f"{TURN} p = Softmax<axis = 2>(s) y = MatMul(p, v)",
        f"{TURN} e = Softmax<axis = -1>(s) p = Where(ahead, zero, e) y = MatMul(p, v)",
        f"{TURN} e = Softmax<axis = -1>(s) n = IsNaN(e) p = Where(n, half, e) y = MatMul(p, v)",
        f"{TURN} e = Softmax<axis = -1>(s) p = Relu(e) y = MatMul(p, v)",
        f"{TURN} e = Softmax<axis = -1>(s) m = MatMul(e, v) n = ReduceMax<keepdims = 0>(e)"
        " y = Add(m, n)",
        f"{TURN} e = Softmax<axis = -1>(s) m = MatMul(e, v) n = ReduceMax<keepdims = 0>(s)"
        " y = Add(m, n)",
        f"{TURN} a = Cast<to = 10>(s) z = Cast<to = 1>(a) {WEIGH}",
        f"{TURN} a = Cast<to = 11>(s) b = Softmax<axis = -1>(a) p = Cast<to = 1>(b)"
        " y = MatMul(p, v)",
    ],
)
def test_leaves_alone(body: str) -> None:
    graph = graph_of(_model(QKV, body))
    assert ops_of(fuse_attention(graph)) == ops_of(graph)


@pytest.mark.parametrize("inner", ["s", "z", "p"])
def test_leaves_alone_what_is_asked_for(inner: str) -> None:
    model = _model(QKV, f"{TURN} z = Mul(s, half) {WEIGH}")
    graph = graph_of(model, ("y", inner))
    assert ops_of(fuse_attention(graph)) == ops_of(graph)


def test_keeps_keys_that_are_asked_for_in_their_heads(opened_device: Device) -> None:
    model = _model(QKV, f"{TURN} z = Mul(s, half) {WEIGH}")
    graph = assert_same_results(model, fuse_attention, opened_device, ("y", "t"))
    assert ops_of(graph) == ["Transpose", "FusedAttention"]


def test_keeps_a_dropout_whose_mask_is_asked_for(opened_device: Device) -> None:
    body = f"{TURN} p = Softmax<axis = -1>(s) o = MatMul(p, v) d, mask = Dropout(o)"
    model = _model(QKV, f"{body} u = Transpose<perm = [1, 0, 2, 3]>(d) y = Relu(u)")
    graph = fuse_attention(graph_of(model, ("y", "mask")))
    assert ops_of(graph) == ["FusedAttention", "Dropout", "Transpose", "Relu"]
    inputs = [normal(i, *graph.values[name].shape) for i, name in enumerate(graph.inputs)]
    _, mask = run_graph(graph, parameters_of(model), opened_device, inputs)
    assert mask.all()


def test_leaves_large_heads_alone() -> None:
    signature = "(float[1,1,2,300] q, float[1,1,3,300] k, float[1,1,3,4] v) => (float[1,1,2,4] y)"
    graph = graph_of(_model(signature, f"{TURN} p = Softmax<axis = -1>(s) y = MatMul(p, v)"))
    assert ops_of(fuse_attention(graph)) == ops_of(graph)


# ---- Masks


def test_a_known_mask_becomes_causality() -> None:
    model = _model(QKV, f"{TURN} z = Add(s, m) {WEIGH}")
    model.graph.initializer.append(onnx.numpy_helper.from_array(CAUSAL, "m"))
    _make_constant(model, "m")
    node, layout = _attention_of(fuse_attention(graph_of(model)))
    assert node.attributes["causal_offset"] == 0
    assert layout.biases == ()
    assert len(node.inputs) == 5


def test_a_known_mask_beside_another(opened_device: Device) -> None:
    model = _model(QKV_M, f"{TURN} a = Add(s, c) z = Add(a, m) {WEIGH}")
    model.graph.initializer.append(onnx.numpy_helper.from_array(CAUSAL, "c"))
    _make_constant(model, "c")
    node, layout = _attention_of(assert_same_results(model, fuse_attention, opened_device))
    assert node.attributes["causal_offset"] == 0
    assert node.inputs[5:] == ("m",)
    assert len(layout.biases) == 1


def test_masks_of_windows(opened_device: Device) -> None:
    """[window of batch, head, ...] plus a bias of heads, then plus a mask of windows."""
    model = build(
        "(float[6,2,5,8] q, float[6,2,5,8] k, float[6,2,5,8] v, float[3,5,5] m)"
        " => (float[6,2,5,8] y)",
        f"{TURN} a = Add(s, b) r = Reshape(a, apart) u = Unsqueeze(m, axes) w = Add(r, u)"
        f" z = Reshape(w, together) {WEIGH}",
        b=normal(3, 1, 2, 5, 5),
        apart=np.array([2, 3, 2, 5, 5]),
        axes=np.array([0, 2]),
        together=np.array([6, 2, 5, 5]),
    )
    graph = assert_same_results(model, fuse_attention, opened_device)
    assert ops_of(graph) == ["FusedAttention"]
    assert _attention_of(graph)[1].lead == (2, 3, 2)


def test_a_mask_that_can_be_loaded_is_read(opened_device: Device) -> None:
    model = _model(QKV, f"{TURN} z = Add(s, causal) {WEIGH}")
    node, _ = _attention_of(assert_same_results(model, fuse_attention, opened_device))
    assert "causal_offset" not in node.attributes
    assert node.inputs[5] == "causal"


def test_a_mask_of_a_batch_is_read_where_it_lies(opened_device: Device) -> None:
    model = build(
        QKV.replace(" v)", " v, float[2,6] m)"),
        f"u = Unsqueeze(m, axes) e = Expand(u, shape) {TURN} z = Add(s, e) {WEIGH}",
        axes=np.array([1, 2]),
        shape=np.array([2, 1, 5, 6]),
    )
    graph = assert_same_results(model, fuse_attention, opened_device)
    node, layout = _attention_of(graph)
    assert node.inputs[5] == "m"
    (bias,) = layout.biases
    assert (bias.row, bias.column) == (0, 1)
    assert ops_of(graph) == ["FusedAttention"]


def test_rows_that_a_mask_closes_are_zero(opened_device: Device) -> None:
    model = _model(
        QKV_M,
        "f = Greater(m, threshold) b = Where(f, zero, never)"
        f" {TURN} z = Add(s, b) e = Softmax<axis = -1>(z)"
        " x = ReduceMax<axes = [-1]>(b) c = Equal(x, never) p = Where(c, zero, e) y = MatMul(p, v)",
        threshold=np.array([[0.5], [5.0], [0.0], [1.0], [-1.0]], np.float32),
    )
    graph = assert_same_results(model, fuse_attention, opened_device)
    node, _ = _attention_of(graph)
    assert node.attributes["empty"] == "closed"
    assert ops_of(graph) == ["Greater", "Where", "FusedAttention"]


def test_zeros_for_other_rows_than_the_mask_closes_are_left_alone() -> None:
    model = _model(
        QKV_M,
        f"{TURN} z = Add(s, m) e = Softmax<axis = -1>(z) x = ReduceMin<axes = [-1]>(m)"
        " c = Equal(x, never) p = Where(c, zero, e) y = MatMul(p, v)",
    )
    graph = graph_of(model)
    assert ops_of(fuse_attention(graph)) == ops_of(graph)


# ---- Places

HEADS = "Transpose<perm = [0, 2, 1, 3]>"


@pytest.mark.parametrize(
    "body",
    [
        # [batch, row, 3, head, element], as in a vision transformer
        "r = Reshape(x, to_packed) t = Transpose<perm = [2, 0, 3, 1, 4]>(r)"
        " q = Gather<axis = 0>(t, first) k = Gather<axis = 0>(t, second)"
        " v = Gather<axis = 0>(t, third)"
        " a = Mul(q, half) kt = Transpose<perm = [0, 1, 3, 2]>(k) s = MatMul(a, kt)",
        "r = Reshape(x, to_packed) t = Transpose<perm = [2, 0, 3, 1, 4]>(r)"
        " c, d, e = Split<axis = 0>(t) q = Squeeze(c, axis_0) k = Squeeze(d, axis_0)"
        " v = Squeeze(e, axis_0)"
        " kt = Transpose<perm = [0, 1, 3, 2]>(k) m = MatMul(q, kt) s = Mul(m, half)",
        # side by side
        "a, b, c = Split<axis = 2>(x) qr = Reshape(a, to_heads) kr = Reshape(b, to_heads)"
        f" vr = Reshape(c, to_heads) q = {HEADS}(qr) kt = Transpose<perm = [0, 2, 3, 1]>(kr)"
        f" v = {HEADS}(vr) m = MatMul(q, kt) s = Div(m, root)",
        "a = Slice(x, at_0, at_16, axis_2) b = Slice(x, at_16, at_32, axis_2)"
        " c = Slice(x, at_32, at_48, axis_2)"
        " qr = Reshape(a, to_heads) kr = Reshape(b, to_heads)"
        f" vr = Reshape(c, to_heads) q = {HEADS}(qr) kt = Transpose<perm = [0, 2, 3, 1]>(kr)"
        f" v = {HEADS}(vr) m = MatMul(q, kt) s = Div(m, root)",
    ],
    ids=["gather", "split_and_squeeze", "split", "slice"],
)
def test_reads_packed_operands_in_place(body: str, opened_device: Device) -> None:
    model = _model(
        "(float[2,7,48] x) => (float[2,7,16] y)",
        f"{body} p = Softmax<axis = -1>(s) o = MatMul(p, v) u = {HEADS}(o)"
        " y = Reshape(u, to_hidden)",
    )
    graph = assert_same_results(model, fuse_attention, opened_device)
    assert ops_of(graph) == ["FusedAttention", "Reshape"]
    node, layout = _attention_of(graph)
    assert node.inputs[:3] == ("x", "x", "x")
    assert [place.offset for place in (layout.query, layout.key, layout.value)] == [0, 16, 32]
    assert layout.query.row == 48
    assert layout.output.row == 16


def test_batches_and_heads_may_be_one_axis(opened_device: Device) -> None:
    model = _model(
        "(float[2,5,24] q, float[2,6,24] k, float[2,6,12] v) => (float[2,5,12] y)",
        "qr = Reshape(q, split_q) kr = Reshape(k, split_q) vr = Reshape(v, split_v)"
        f" qh = {HEADS}(qr) kh = {HEADS}(kr) vh = {HEADS}(vr)"
        " q3 = Reshape(qh, to_three) k3 = Reshape(kh, to_three_k)"
        " v3 = Reshape(vh, to_three_v) kt = Transpose<perm = [0, 2, 1]>(k3) s = MatMul(q3, kt)"
        " p = Softmax<axis = -1>(s) o = MatMul(p, v3) o4 = Reshape(o, to_four)"
        f" u = {HEADS}(o4) y = Reshape(u, to_hidden_4)",
        split_q=np.array([0, 0, 3, 8]),
        split_v=np.array([0, 0, 3, 4]),
    )
    graph = assert_same_results(model, fuse_attention, opened_device)
    assert ops_of(graph) == ["FusedAttention", "Reshape"]
    assert _attention_of(graph)[1].lead == (2, 3)


def test_heads_of_a_group_share_their_keys(opened_device: Device) -> None:
    model = _model(
        "(float[2,6,5,8] q, float[2,2,7,8] k, float[2,2,7,8] v) => (float[2,6,5,8] y)",
        "ku = Unsqueeze(k, axis_2) ke = Expand(ku, groups) kg = Reshape(ke, grouped)"
        " vu = Unsqueeze(v, axis_2) ve = Expand(vu, groups) vg = Reshape(ve, grouped)"
        " t = Transpose<perm = [0, 1, 3, 2]>(kg) s = MatMul(q, t) z = Div(s, root)"
        " p = Softmax<axis = -1>(z) y = MatMul(p, vg)",
    )
    graph = assert_same_results(model, fuse_attention, opened_device)
    assert ops_of(graph) == ["FusedAttention"]
    layout = _attention_of(graph)[1]
    assert (layout.lead, layout.num_rows) == ((4,), 15)  # rows of three heads at once


def test_keys_may_be_columns(opened_device: Device) -> None:
    model = build(
        "(float[2,3,5,8] q, float[2,3,8,6] k, float[2,3,6,4] v) => (float[2,3,5,4] y)",
        "s = MatMul(q, k) p = Softmax<axis = -1>(s) y = MatMul(p, v)",
    )
    graph = assert_same_results(model, fuse_attention, opened_device)
    assert ops_of(graph) == ["FusedAttention"]
    layout = _attention_of(graph)[1]
    assert (layout.key.row, layout.key.column) == (1, 6)


def test_heads_may_be_channels_of_an_image(opened_device: Device) -> None:
    """[batch, head, element, place], and the result likewise: values @ probabilities^T."""
    model = _model(
        "(float[2,48,3,7] x) => (float[2,24,3,7] y)",
        "r = Reshape(x, heads) q, k, v = Split<axis = 2>(r, sizes)"
        " t = Transpose<perm = [0, 1, 3, 2]>(q) m = MatMul(t, k) s = Mul(m, half)"
        " p = Softmax<axis = -1>(s) u = Transpose<perm = [0, 1, 3, 2]>(p) o = MatMul(v, u)"
        " y = Reshape(o, image)",
        heads=np.array([2, 3, 16, 21]),
        sizes=np.array([4, 4, 8]),
        image=np.array([2, 24, 3, 7]),
    )
    graph = assert_same_results(model, fuse_attention, opened_device)
    assert ops_of(graph) == ["FusedAttention", "Reshape"]
    node, layout = _attention_of(graph)
    assert node.inputs[:3] == ("x", "x", "x")
    assert (layout.output.row, layout.output.column) == (1, 21)


def test_leaves_probabilities_alone_that_are_reshaped_when_turned() -> None:
    model = build(
        "(float[2,3,5,8] q, float[2,3,6,8] k, float[2,4,18] v) => (float[2,4,5] y)",
        f"{TURN} p = Softmax<axis = -1>(s) u = Transpose<perm = [0, 1, 3, 2]>(p)"
        " r = Reshape(u, shape) y = MatMul(v, r)",
        shape=np.array([2, 18, 5]),
    )
    graph = graph_of(model)
    assert ops_of(fuse_attention(graph)) == ops_of(graph)


def test_layers_that_follow_each_other(opened_device: Device) -> None:
    layer = (
        "t{0} = Transpose<perm = [0, 1, 3, 2]>(x{0}) s{0} = MatMul(x{0}, t{0})"
        " z{0} = Mul(s{0}, half)"
        " p{0} = Softmax<axis = -1>(z{0}) o{0} = MatMul(p{0}, x{0})"
        f" x{{1}} = {HEADS}(o{{0}})"
    )
    body = " ".join(layer.format(n, n + 1) for n in range(3))
    model = _model("(float[2,4,4,8] x0) => (float[2,4,4,8] y)", f"{body} y = Relu(x3)")
    graph = assert_same_results(model, fuse_attention, opened_device)
    assert ops_of(graph) == ["FusedAttention"] * 3 + ["Relu"]


# ---- Numbers


def test_the_scale_may_be_a_parameter(opened_device: Device) -> None:
    model = _model(QKV, f"{TURN} z = Mul(s, half) {WEIGH}")
    graph = fuse_attention(graph_of(model))
    node, _ = _attention_of(graph)
    assert graph.constants[node.inputs[3]].params == {"half"}
    inputs = [normal(i, *graph.values[name].shape) for i, name in enumerate(graph.inputs)]
    parameters = parameters_of(model)
    before = run_graph(graph, parameters, opened_device, inputs)
    parameters.set("half", np.zeros((), np.float32))
    after = run_graph(graph, parameters, opened_device, inputs)
    assert np.abs(before[0] - after[0]).max() > 0.01
    mean = np.broadcast_to(inputs[2].mean(2, keepdims=True), after[0].shape)
    np.testing.assert_allclose(after[0], mean, rtol=1e-5, atol=1e-6)


def test_scores_may_be_divided_by_zero() -> None:
    model = _model(QKV, f"{TURN} z = Div(s, nothing) {WEIGH}", nothing=np.zeros(1, np.float32))
    graph = fuse_attention(graph_of(model))
    inputs = [normal(i, *graph.values[name].shape) for i, name in enumerate(graph.inputs)]
    (got,) = run_graph(graph, parameters_of(model), open_device("cpu"), inputs)
    assert ops_of(graph) == ["FusedAttention"]
    assert np.isnan(got).any()  # a row with a score of +Inf


@pytest.mark.parametrize("empty", ["nan", "any"])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("operand", [0, 1, 2, 3])
def test_what_is_no_number_goes_as_far_as_before(operand: int, number: float, empty: str) -> None:
    weigh = WEIGH
    if empty == "any":
        weigh = "e = Softmax<axis = -1>(z) n = IsNaN(e) p = Where(n, zero, e) y = MatMul(p, v)"
    model = _model(QKV_M, f"{TURN} z = Add(s, m) {weigh}")
    graph = graph_of(model)
    inputs = [normal(i, *graph.values[name].shape) for i, name in enumerate(graph.inputs)]
    inputs[3][2] = -np.inf
    inputs[operand].reshape(-1)[[1, -2]] = number
    parameters, device = parameters_of(model), open_device("cpu")
    (before,) = run_graph(graph, parameters, device, inputs)
    (after,) = run_graph(fuse_attention(graph), parameters, device, inputs)
    np.testing.assert_array_equal(np.isnan(after), np.isnan(before))
    np.testing.assert_allclose(after, before, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_is_as_exact_as_its_parts(dtype: str) -> None:
    name = {"float32": "float", "float16": "float16", "float64": "double"}[dtype]
    model = _model(
        f"({name}[2,4,70,64] q, {name}[2,4,300,64] k, {name}[2,4,300,64] v)"
        f" => ({name}[2,4,70,64] y)",
        f"{TURN} z = Mul(s, eighth) {WEIGH}",
        eighth=np.array(0.125, dtype),
    )
    graph = graph_of(model)
    inputs = [normal(i, *graph.values[name].shape, dtype=dtype) for i, name in enumerate("qkv")]
    q, k, v = (array.astype(np.longdouble) for array in inputs)
    scores = np.einsum("bhrd,bhkd->bhrk", q, k) / 8
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    exact = np.einsum("bhrk,bhkd->bhrd", powers / powers.sum(-1, keepdims=True), v)
    errors = [
        np.sqrt(
            (
                (run_graph(g, parameters_of(model), open_device("cpu"), inputs)[0] - exact) ** 2
            ).mean()
        )
        for g in (graph, fuse_attention(graph))
    ]
    assert errors[1] <= errors[0]


def test_comes_before_what_would_take_a_product_away(opened_device: Device) -> None:
    model = build(
        "(float[2,3,5,8] q, float[2,3,6,8] k, float[2,3,6,4] v) => (float[2,3,5,4] y)",
        f"{TURN} z = Add(s, b) {WEIGH}",
        b=normal(9, 6),
    )
    assert ops_of(assert_same_results(model, run_passes, opened_device)) == ["FusedAttention"]
