"""channels_last: regions around convolutions work on [N, *spatial, C] tensors."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest

import cugraphmodel
from cugraphmodel.executors.base import Device
from cugraphmodel.ir import Graph
from cugraphmodel.ops.spec import registered
from cugraphmodel.passes import run_passes
from cugraphmodel.passes.channels_last import channels_last
from cugraphmodel.passes.channels_last_rules import ELEMENTWISE, REDUCTIONS, RULES
from tests.api.builders import add_weights, build, normal
from tests.passes.graphs import assert_same_results, graph_of, ops_of

CONV = "ChannelsLastConv"


WEIGHTS = {
    "stem": normal(1, 8, 3, 3, 3) / 4,
    "w": normal(2, 8, 8, 3, 3) / 8,
    "v": normal(3, 8, 8, 1, 1) / 3,
    "pair": normal(4, 8, 2, 3, 3) / 3,
    "depthwise": normal(5, 8, 1, 3, 3),
    "bias": normal(6, 8),
    "per_channel": normal(7, 8, 1, 1),
    "full": normal(8, 2, 8, 9, 8),
    "row": normal(9, 8),
    "one": np.full((), 0.5, np.float32),
    "low": np.full((), -0.5, np.float32),
    "scale": normal(10, 8),
    "mean": normal(11, 8),
    "variance": np.abs(normal(12, 8)) + np.float32(0.5),
    "parts": np.array([3, 5]),
    "axes": np.array([2, 3]),
    "channel_axis": np.array([1]),
    "pads": np.array([0, 1, 2, 0, 0, 0, 1, 3]),
    "two_pads": np.array([1, 0, 2, 1]),
    "starts": np.array([6, 7]),
    "ends": np.array([1, 0]),
    "slice_axes": np.array([1, -1]),
    "steps": np.array([-1, -3]),
    "scales": np.array([1, 1, 2, 1.5], np.float32),
    "square": np.array([2, 8, 6, 12]),
    "split": np.array([2, 2, 4, 9, 8]),
    "joined": np.array([2, 8, 9, 8]),
}


def _region(
    body: str,
    signature: str = "(float[2,3,9,8] x) => (float[A,B,C,D] y)",
    opset: int = 18,
) -> onnx.ModelProto:
    """A stem that makes h [2, 8, 9, 8], and a body with the constants that it names."""
    text = f"h = Conv<pads=[1,1,1,1]>(x, stem) {body}"
    used = {name: array for name, array in WEIGHTS.items() if re.search(rf"\b{name}\b", text)}
    model = build(signature, text, opset=opset)
    add_weights(model, **used)
    return model


def _block() -> onnx.ModelProto:
    """A residual block with a depthwise convolution, squeeze-and-excite, pool and classifier."""
    return build(
        "(float[2,3,11,9] x) => (float[2,5] y)",
        "c = Conv<strides=[2,2], pads=[1,1,1,1]>(x, stem, stem_bias) p = Relu(c) "
        "d = Conv<group=8, pads=[1,1,1,1]>(p, depthwise) "
        "s = Sigmoid(d) r = Mul(d, s) "
        "q = GlobalAveragePool(r) u = Conv(q, down) a = Relu(u) e = Conv(a, up) k = Sigmoid(e) "
        "m = Mul(r, k) n = Conv<pads=[1,1,1,1]>(m, w, bias) t = Add(n, p) z = Relu(t) "
        "l = MaxPool<kernel_shape=[2,2], strides=[1,1]>(z) g = GlobalAveragePool(l) "
        "f = Flatten(g) y = Gemm(f, last)",
        stem=normal(1, 8, 3, 3, 3),
        stem_bias=normal(2, 8),
        depthwise=normal(3, 8, 1, 3, 3),
        down=normal(4, 4, 8, 1, 1),
        up=normal(5, 8, 4, 1, 1),
        w=normal(6, 8, 8, 3, 3),
        bias=normal(7, 8),
        last=normal(8, 8, 5),
    )


def _converted(graph: Graph) -> set[str]:
    """Operators that work on channels-last tensors: those of nodes that make twins."""
    return {
        node.op_type
        for node in graph.nodes
        if any(n.endswith("(channels last)") for n in node.outputs)
    }


def test_a_network_has_no_transpose(opened_device: Device) -> None:
    model = _block()
    graph = assert_same_results(model, run_passes, opened_device)
    ops = ops_of(graph)
    assert "Transpose" not in ops
    assert ops.count(CONV) == 1
    assert "SqueezeExcite" in ops
    assert "StemConv" in ops
    assert "ChannelsLastDirectConv" in ops
    assert "ChannelsLastMaxPool" in ops
    assert ops.count("ReduceMean") == 1
    assert graph.outputs == ("y",)
    shapes = {node.outputs[0]: graph.values[node.outputs[0]].shape for node in graph.nodes}
    assert (2, 6, 5, 8) in shapes.values()
    assert (2, 8, 6, 5) not in shapes.values()


@pytest.mark.parametrize(
    "wanted", ["c", "p", "d", "s", "r", "q", "k", "m", "n", "t", "l", "g", "f"]
)
def test_outputs_keep_name_and_shape(wanted: str, opened_device: Device) -> None:
    model = _block()
    graph = assert_same_results(model, run_passes, opened_device, ("y", wanted))
    before = graph_of(model, ("y", wanted))
    assert graph.outputs == ("y", wanted)
    assert graph.values[wanted] == before.values[wanted]


def test_all_outputs_at_once(opened_device: Device) -> None:
    names = ("x", "y", "c", "p", "d", "s", "r", "m", "n", "t", "z", "g", "f")
    assert_same_results(_block(), channels_last, opened_device, names)


RULES_IN_A_REGION = [
    ("t = Relu(h)", "Relu"),
    ("t = PRelu(h, per_channel)", "PRelu"),
    ("t = Clip(h, low, one)", "Clip"),
    ("q = QuantizeLinear(h, one) t = DequantizeLinear(q, one)", "QuantizeLinear"),
    ("t = Add(h, one)", "Add"),
    ("t = Sub(per_channel, h)", "Sub"),
    ("t = Mul(h, full)", "Mul"),
    ("t = Mul(row, h)", "Mul"),
    ("g = GlobalMaxPool(h) t = Div(h, g)", "Div"),
    ("g = ReduceMean<keepdims=1>(h, channel_axis) t = Sub(h, g)", "ReduceMean"),
    ("g = ReduceMean<keepdims=1>(h, axes) t = Sub(h, g)", "ReduceMean"),
    ("b = Greater(h, one) t = Where(b, h, per_channel)", "Where"),
    ("b = Cast<to=11>(h) t = Cast<to=1>(b)", "Cast"),
    ("a = Relu(h) b = Abs(h) c = Neg(h) t = Max(a, b, c)", "Max"),
    ("t = BatchNormalization(h, scale, bias, mean, variance)", "ChannelsLastBatchNormalization"),
    ("a = Conv(h, v) t = Concat<axis=1>(a, h)", "Concat"),
    ("t = Concat<axis=-2>(h, full)", "Concat"),
    ("a, b = Split<axis=1>(h, parts) t = Concat<axis=1>(b, a)", "Split"),
    ("t = MaxPool<kernel_shape=[3,2], strides=[2,1], pads=[1,0,1,1]>(h)", "ChannelsLastMaxPool"),
    ("t = AveragePool<kernel_shape=[3,2], ceil_mode=1>(h)", "ChannelsLastAveragePool"),
    ("t = Pad(h, pads, one)", "Pad"),
    ('t = Pad<mode="reflect">(h, two_pads, , axes)', "Pad"),
    ("t = Slice(h, starts, ends, slice_axes, steps)", "Slice"),
    ('t = Resize<mode="nearest">(h, , scales)', "Resize"),
    ('t = Resize<mode="linear">(h, , scales)', "Resize"),
    ("t = Softmax<axis=1>(h)", "Softmax"),
    ("t = Identity(h)", "Reshape"),
    ("t = Reshape(h, square)", "Reshape"),
    (
        "a = Reshape(h, split) b = Transpose<perm=[0,2,1,3,4]>(a) t = Reshape(b, joined)",
        "Transpose",
    ),
    ("t = Conv<group=4, pads=[1,1,1,1]>(h, pair)", "ChannelsLastDirectConv"),
    ("t = Conv<group=8>(h, depthwise, bias)", "ChannelsLastDirectConv"),
]


@pytest.mark.parametrize(("body", "op_type"), RULES_IN_A_REGION)
def test_rules(body: str, op_type: str, opened_device: Device) -> None:
    """Between convolutions nothing is transposed; the output is, once."""
    channels = graph_of(_region(body.replace("t =", "y ="))).values["y"].shape[1]
    model = _region(f"{body} u = Conv(t, after) y = Conv<pads=[1,1,1,1]>(u, w)")
    add_weights(model, after=normal(20, 8, channels, 1, 1))
    graph = assert_same_results(model, channels_last, opened_device)
    assert op_type in _converted(graph)
    moves = [node for node in graph.nodes if node.op_type == "Transpose"]
    assert [node.outputs for node in moves if node.index < 0] == [("y",)]


@pytest.mark.parametrize(
    ("body", "op_type", "opset"),
    [
        ("t = Upsample(h, scales)", "Upsample", 9),
        ("t = Slice<axes=[1,2], starts=[1,0], ends=[7,-2]>(h)", "Slice", 9),
        ("t = Pad<pads=[0,0,1,2,0,1,0,3], value=0.5>(h)", "Pad", 9),
        ("t = Clip<min=-0.5, max=0.5>(h)", "Clip", 9),
        ("t = Resize(h, scales)", "Resize", 10),
        ("a, b = Split<axis=1, split=[3,5]>(h) t = Concat<axis=1>(b, a)", "Split", 11),
        ("a = ReduceMax<axes=[-2,-1]>(h) t = Sub(h, a)", "ReduceMax", 11),
    ],
)
def test_rules_of_older_opsets(body: str, op_type: str, opset: int, opened_device: Device) -> None:
    before = _region(body.replace("t =", "y ="), opset=opset)
    channels = graph_of(before).values["y"].shape[1]
    model = _region(f"{body} u = Conv(t, after) y = Conv<pads=[1,1,1,1]>(u, w)", opset=opset)
    add_weights(model, after=normal(20, 8, channels, 1, 1))
    graph = assert_same_results(model, channels_last, opened_device)
    assert op_type in _converted(graph)
    assert ops_of(graph).count("Transpose") == 1


@pytest.mark.parametrize("axis", [2, 3])
def test_axes_that_vanish(axis: int, opened_device: Device) -> None:
    """Of an image that has become a line, or a vector, nothing is copied."""
    window = [2, 2]
    window[axis - 2] = (9, 8)[axis - 2]
    model = _region(
        f"a = Conv(h, v) b = MaxPool<kernel_shape={window}>(a) c = Squeeze(b, gone) "
        "d = Transpose<perm=[0,2,1]>(c) e = Transpose<perm=[2,0,1]>(c) "
        "f = ReduceSum<keepdims=0>(b, axes) g = MatMul(f, square_of_8) "
        "i = Unsqueeze(c, last) k = Conv(i, v) y = Relu(k)"
    )
    add_weights(model, gone=np.array([axis]), last=np.array([-1]), square_of_8=normal(21, 8, 8))
    graph = assert_same_results(model, channels_last, opened_device, ("y", "d", "e", "g"))
    moves = [node.outputs for node in graph.nodes if node.op_type == "Transpose"]
    assert moves == [("e",), ("y",)]


def test_every_rule_is_tested() -> None:
    """Those of many operators by some of them."""
    written = " ".join(body for body, _ in RULES_IN_A_REGION) + "GlobalAveragePool( Flatten( "
    rules = {
        rule
        for (_, op_type), rule in RULES.items()
        if f"{op_type}(" in written or f"{op_type}<" in written
    }
    assert rules == set(RULES.values())


def test_every_elementwise_operator_and_reduction_has_a_rule() -> None:
    """CastLike is none: only the dtype of its second input counts."""
    families = {"binary", "unary", "variadic"}
    elementwise = {
        spec.op_type
        for spec in registered()
        if not spec.domain and spec.infer.__module__.rpartition(".")[2] in families
    }
    assert elementwise - {"CastLike"} == ELEMENTWISE
    reductions = {
        spec.op_type for spec in registered() if spec.infer.__module__.endswith("reduce.reduce")
    }
    assert reductions == REDUCTIONS


TWO_CONVS = "c = Conv<pads=[1,1,1,1]>(h, w) d = Conv(c, v)"


def test_one_transpose_for_all_readers(opened_device: Device) -> None:
    body = f"{TWO_CONVS} a = LRN<size=3>(d) b = LRN<size=5>(d) y = Add(a, b)"
    graph = assert_same_results(_region(body), channels_last, opened_device)
    assert ops_of(graph) == ["StemConv", CONV, CONV, "Transpose", "LRN", "LRN", "Add"]


def test_an_input_is_transposed_once(opened_device: Device) -> None:
    model = _region(
        "a = Conv<pads=[1,1,1,1]>(z, w) b = Conv(z, v) c = Add(a, b) d = Conv(c, v) "
        "y = GlobalAveragePool(d)",
        "(float[2,8,7,6] z, float[2,3,9,8] x) => (float[A,B,C,D] y)",
    )
    graph = assert_same_results(model, channels_last, opened_device)
    assert ops_of(graph) == ["Transpose", CONV, CONV, "Add", CONV, "ReduceMean", "Reshape"]
    assert graph.nodes[0].inputs == ("z",)


def test_transposes_of_the_model_go(opened_device: Device) -> None:
    """A model that was channels-last itself has none left."""
    model = _region(
        "a = Transpose<perm=[0,3,1,2]>(z) b = Conv(a, v) c = Conv<pads=[1,1,1,1]>(b, w) "
        "y = Transpose<perm=[0,2,3,1]>(c)",
        "(float[2,7,6,8] z, float[2,3,9,8] x) => (float[A,B,C,D] y)",
    )
    graph = assert_same_results(model, channels_last, opened_device)
    assert ops_of(graph) == ["Identity", CONV, CONV, "Identity"]


def test_a_transpose_with_other_readers_stays(opened_device: Device) -> None:
    model = _region(
        "a = Transpose<perm=[0,3,1,2]>(z) b = Conv(a, v) c = Conv<pads=[1,1,1,1]>(b, w) "
        "d = Add(c, a) y = Transpose<perm=[2,0,3,1]>(d)",
        "(float[2,7,6,8] z, float[2,3,9,8] x) => (float[A,B,C,D] y)",
    )
    assert_same_results(model, channels_last, opened_device, ("y", "a", "d"))


@pytest.mark.parametrize(
    ("signature", "weights"),
    [
        ("(float[2,3,40] x) => (float[A,B,C] y)", (3,)),
        ("(float[1,3,6,7,5] x) => (float[A,B,C,D,E] y)", (3, 3, 3)),
    ],
)
def test_one_and_three_axes(
    signature: str, weights: tuple[int, ...], opened_device: Device
) -> None:
    rank = len(weights)
    pads = str([1] * rank * 2)
    model = build(
        signature,
        f"a = Conv<pads={pads}>(x, u) b = Relu(a) c = Conv<pads={pads}>(b, v) d = Add(c, b) "
        f"e = MaxPool<kernel_shape={[2] * rank}>(d) f = Conv<group=8, pads={pads}>(e, w) "
        f"y = Conv<pads={pads}>(f, v)",
        u=normal(1, 8, 3, *weights),
        v=normal(2, 8, 8, *weights) / 8,
        w=normal(3, 8, 1, *weights),
    )
    graph = assert_same_results(model, channels_last, opened_device)
    assert ops_of(graph).count(CONV) == 2
    assert ops_of(graph).count("Transpose") == 1


@pytest.mark.parametrize("residual", ["h", "full"])
def test_a_residual_of_the_convolution_itself(residual: str, opened_device: Device) -> None:
    """FusedConv adds its fourth input before the activation."""
    model = _region(
        f"c = Conv<pads=[1,1,1,1]>(h, w, bias) s = Add(c, {residual}) d = Relu(s) y = Conv(d, v)"
    )

    def fuse_residual(graph: Graph) -> Graph:
        stem, conv, _, relu, last = graph.nodes
        fused = replace(
            conv,
            op_type="FusedConv",
            domain="cugraphmodel",
            version=1,
            inputs=(*conv.inputs, residual),
            outputs=relu.outputs,
            attributes={**conv.attributes, "activation": "cg_act_relu"},
        )
        return channels_last(graph.replace(nodes=(stem, fused, last)))

    graph = assert_same_results(model, fuse_residual, opened_device)
    assert ops_of(graph) == ["StemConv", CONV, CONV, "Transpose"]
    assert graph.values[graph.nodes[1].inputs[3]].shape == (2, 9, 8, 8)


@pytest.mark.parametrize(
    "body",
    [
        "y = Relu(h)",
        "y = Conv(h, v)",
        "a = Conv(h, v) b = LRN<size=3>(a) c = Conv(b, v) y = LRN<size=3>(c)",
        "y = Conv<group=8>(h, depthwise)",
        "y = Conv<pads=[1,1,1,1], group=4>(h, pair)",
        "t = Relu(v) a = Conv(h, t) b = Conv(a, t) y = Conv(b, t)",
    ],
)
def test_leaves_alone(body: str) -> None:
    """Too few convolutions for the transposes, too few channels, weights that are computed."""
    model = _region(body.replace("Relu(v)", "Mul(z, v)"), SIGNATURE_WITH_FACTOR)
    graph = graph_of(model)
    assert channels_last(graph) is graph


SIGNATURE_WITH_FACTOR = "(float[2,3,9,8] x, float[8,8,1,1] z) => (float[A,B,C,D] y)"


def test_parameters_reach_their_packed_copies(device: str) -> None:
    model = _block()
    loaded = cugraphmodel.load(model, device=device)
    x = normal(30, 2, 3, 11, 9)
    with loaded.capture_graph() as graph:
        for tensor in model.graph.initializer:
            fresh = normal(31, *tensor.dims) / 3
            loaded.load_param(tensor.name, fresh)
            tensor.CopyFrom(onnx.numpy_helper.from_array(fresh, tensor.name))
            session = onnxruntime.InferenceSession(
                model.SerializeToString(), providers=["CPUExecutionProvider"]
            )
            (expected,) = session.run(None, {"x": x})
            scale = float(np.abs(expected).max())
            np.testing.assert_allclose(graph.run([x])[0], expected, rtol=2e-5, atol=2e-5 * scale)


def test_packed_constants_name_their_parameters() -> None:
    graph = run_passes(graph_of(_block()))
    packed = {
        node.op_type: graph.constants[node.inputs[1]]
        for node in graph.nodes
        if node.op_type in (CONV, "ChannelsLastDirectConv")
    }
    assert packed["ChannelsLastDirectConv"].params == {"depthwise"}
    assert packed["ChannelsLastDirectConv"].type.shape == (3, 3, 1, 8)
    assert packed[CONV].params == {"w"}
    assert packed[CONV].type.shape == (8, 3, 3, 8)
