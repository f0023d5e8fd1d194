"""fuse_squeeze: a mean over positions and two small layers become one node."""

from __future__ import annotations

import re

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import cugraphmodel
from cugraphmodel.executors.base import Device
from cugraphmodel.ir import Graph
from cugraphmodel.passes import PASSES, run_passes
from cugraphmodel.passes.fuse_squeeze import fuse_squeeze
from tests.api.builders import add_weights, build, normal
from tests.passes.graphs import assert_as_exact, assert_same_results, graph_of, ops_of

WEIGHTS = {
    "stem": normal(1, 24, 3, 3, 3) / 5,
    "down": normal(2, 6, 24, 1, 1),
    "down_bias": normal(3, 6),
    "up": normal(4, 24, 6, 1, 1) / 2,
    "up_bias": normal(5, 24),
    "last": normal(6, 12, 24, 1, 1) / 5,
    "wide_down": normal(7, 257, 24, 1, 1),
    "wide_up": normal(8, 24, 257, 1, 1),
    "down_matrix": normal(9, 24, 6),
    "up_matrix": normal(10, 6, 24) / 2,
    "up_rows": normal(11, 24, 6) / 2,
    "three_by_three": normal(12, 6, 24, 3, 3),
    "grouped": normal(13, 6, 12, 1, 1),
    "row": normal(14, 1, 6),
    "number": normal(15, 1),
    "flat": np.array([0, -1]),
    "image": np.array([0, -1, 1, 1]),
    "axes": np.array([2, 3]),
    "one_axis": np.array([3]),
    "six": np.full((), 6, np.float32),
}
STEM = "h = Conv<pads=[1,1,1,1]>(x, stem) "
REST = " m = Mul(h, k) n = Conv(m, last) y = GlobalMaxPool(n)"
DOWN = "a = Conv(q, down, down_bias) "
UP = "c = Conv(r, up, up_bias) "
BLOCK = f"q = GlobalAveragePool(h) {DOWN}r = Relu(a) {UP}k = Sigmoid(c)"
"""Of h [2, 24, 7, 9] and its scale k."""


def _model(block: str, rest: str = REST, dtype: str = "float32") -> onnx.ModelProto:
    """A convolution, a block that makes k, and what uses it."""
    text = f"{STEM}{block}{rest}"
    used = {
        name: array.astype(dtype) if array.dtype.kind == "f" else array
        for name, array in WEIGHTS.items()
        if re.search(rf"\b{name}\b", text)
    }
    kind = {"float32": "float", "float16": "float16", "float64": "double"}[dtype]
    model = build(f"({kind}[2,3,7,9] x) => ({kind}[A,B,C,D] y)", text, opset=18)
    add_weights(model, **used)
    return model


def _before(graph: Graph) -> Graph:
    """All passes but this one."""
    for run in PASSES:
        graph = graph if run is fuse_squeeze else run(graph)
    return graph


FUSED = ["StemConv", "SqueezeExcite", "Mul", "ChannelsLastConv", "ReduceMax"]

FUSES = [
    BLOCK,
    f"q = GlobalAveragePool(h) {DOWN}r = HardSwish(a) {UP}k = HardSigmoid<alpha=0.25>(c)",
    f"q = ReduceMean<keepdims=1>(h, axes) {DOWN}r = LeakyRelu<alpha=0.2>(a) {UP}"
    "k = Celu<alpha=0.7>(c)",
    "q = GlobalAveragePool(h) a = Conv(q, down) k = Conv(a, up)",
    f"q = GlobalAveragePool(h) a = Conv(q, down) r = Relu(a) {UP}k = Sigmoid(c)",
    f"q = GlobalAveragePool(h) {DOWN}i = Identity(a) r = Relu(i) {UP}k = Sigmoid(c)",
    "q = GlobalAveragePool(h) f = Reshape(q, flat) a = MatMul(f, down_matrix) r = Relu(a) "
    "c = MatMul(r, up_matrix) s = Sigmoid(c) k = Reshape(s, image)",
    "f = ReduceMean<keepdims=0>(h, axes) a = Gemm(f, down_matrix, down_bias) r = Relu(a) "
    "c = Gemm<transB=1>(r, up_rows, up_bias) s = Sigmoid(c) k = Reshape(s, image)",
    "q = GlobalAveragePool(h) f = Flatten(q) a = Gemm(f, down_matrix) r = Relu(a) "
    "i = Reshape(r, image) c = Conv(i, up) k = Sigmoid(c)",
]


@pytest.mark.parametrize("block", FUSES)
def test_fuses(block: str, opened_device: Device) -> None:
    model = _model(block)
    assert "SqueezeExcite" not in ops_of(_before(graph_of(model)))
    graph = assert_same_results(model, run_passes, opened_device)
    assert [op for op in ops_of(graph) if op != "Reshape"] == FUSED


def test_takes_the_place_of_the_mean() -> None:
    model = _model(BLOCK)
    (fused,) = (n for n in run_passes(graph_of(model)).nodes if n.op_type == "SqueezeExcite")
    assert fused.index == [node.op_type for node in model.graph.node].index("GlobalAveragePool")
    assert fused.attributes["squeeze_activation"] == "cg_act_relu"
    assert fused.attributes["excite_activation"] == "cg_act_sigmoid"


@pytest.mark.parametrize(("wanted", "is_fused"), [("q", 0), ("a", 0), ("r", 0), ("c", 1), ("k", 1)])
def test_what_was_asked_for_stays(wanted: str, is_fused: int, opened_device: Device) -> None:
    graph = assert_same_results(_model(BLOCK), run_passes, opened_device, ("y", wanted))
    assert ops_of(graph).count("SqueezeExcite") == is_fused


@pytest.mark.parametrize(
    ("block", "rest"),
    [
        (BLOCK, " m = Mul(h, k) n = Add(m, q) o = Conv(n, last) y = GlobalMaxPool(o)"),
        (
            BLOCK,
            " u = ReduceMax(r) m = Mul(h, k) n = Add(m, u) o = Conv(n, last) y = GlobalMaxPool(o)",
        ),
        (BLOCK.replace("GlobalAveragePool", "GlobalMaxPool"), REST),
        (BLOCK.replace("GlobalAveragePool(h)", "ReduceMean<keepdims=1>(h, one_axis)"), REST),
        ("q = GlobalAveragePool(h) a = Conv(q, wide_down) k = Conv(a, wide_up)", REST),
        (BLOCK.replace("Conv(q, down", "Conv<pads=[1,1,1,1]>(q, three_by_three"), REST),
        (BLOCK.replace("Conv(q, down", "Conv<group=2>(q, grouped"), REST),
        (BLOCK.replace("r = Relu(a)", "r = Min(a, six)"), REST),
        ("q = GlobalAveragePool(h) k = Conv(q, last)", " y = Relu(k)"),
        (
            "q = GlobalAveragePool(h) f = Flatten(q) a = Gemm<alpha=0.5>(f, down_matrix) "
            "c = MatMul(a, up_matrix) k = Reshape(c, image)",
            REST,
        ),
        (
            "q = GlobalAveragePool(h) f = Flatten(q) a = Gemm(f, down_matrix, row) "
            "c = MatMul(a, up_matrix) k = Reshape(c, image)",
            REST,
        ),
        (
            "q = GlobalAveragePool(h) f = Flatten(q) a = Gemm(f, down_matrix, number) "
            "c = MatMul(a, up_matrix) k = Reshape(c, image)",
            REST,
        ),
    ],
)
def test_leaves_alone(block: str, rest: str, opened_device: Device) -> None:
    graph = assert_same_results(_model(block, rest), run_passes, opened_device)
    assert "SqueezeExcite" not in ops_of(graph)


def test_leaves_a_residual_alone(opened_device: Device) -> None:
    """The sum of both layers' results is no product alone."""
    block = f"q = GlobalAveragePool(h) {DOWN}r = Relu(a) {UP}k = Add(c, q)"
    graph = assert_same_results(_model(block), run_passes, opened_device)
    assert "SqueezeExcite" not in ops_of(graph)


def test_leaves_a_scale_of_another_rank_alone(opened_device: Device) -> None:
    model = build(
        "(float[2,3,4,5,6] x) => (float[A,B,C,D,E] y)",
        "h = Conv<pads=[1,1,1,1,1,1]>(x, cubes) q = GlobalAveragePool(h) i = Reshape(q, image) "
        "a = Conv(i, down) r = Relu(a) c = Conv(r, up) k = Reshape(c, volume) m = Mul(h, k) "
        "y = GlobalMaxPool(m)",
        cubes=normal(1, 24, 3, 3, 3, 3) / 9,
        volume=np.array([0, -1, 1, 1, 1]),
        image=WEIGHTS["image"],
        down=WEIGHTS["down"],
        up=WEIGHTS["up"],
    )
    graph = assert_same_results(model, run_passes, opened_device)
    assert "ChannelsLastConv" in ops_of(graph)
    assert "SqueezeExcite" not in ops_of(graph)


def test_leaves_weights_alone_that_are_read_too_often() -> None:
    """Each image reads 288 floats: above 32 MiB products of all images are better."""
    for images, is_fused in ((29127, True), (29128, False)):
        model = _model(BLOCK)
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = images
        assert ("SqueezeExcite" in ops_of(run_passes(graph_of(model)))) == is_fused


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("rest", [REST, " y = Mul(k, six)"])
def test_is_as_exact(dtype: str, rest: str, opened_device: Device) -> None:
    model = _model(BLOCK, rest, dtype)
    assert "SqueezeExcite" in ops_of(run_passes(graph_of(model)))
    assert_as_exact(model, run_passes, opened_device)


def test_weights_can_be_replaced(device: str) -> None:
    model = _model(FUSES[-2])
    loaded = cugraphmodel.load(model, device=device)
    x = normal(20, 2, 3, 7, 9)
    with loaded.capture_graph() as graph:
        for name in ("down_matrix", "down_bias", "up_rows", "up_bias"):
            fresh = normal(30, *WEIGHTS[name].shape)
            loaded.load_param(name, fresh)
            (tensor,) = (t for t in model.graph.initializer if t.name == name)
            tensor.CopyFrom(onnx.numpy_helper.from_array(fresh, name))
            (right,) = map(np.asarray, ReferenceEvaluator(model).run(None, {"x": x}))
            scale = float(np.abs(right).max())
            np.testing.assert_allclose(graph.run([x])[0], right, rtol=2e-5, atol=2e-5 * scale)
