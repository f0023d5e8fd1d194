"""fuse_integer_scale: an integer product, Cast, Mul and Add become one node."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from cugraphmodel.executors.base import Device
from cugraphmodel.passes.fuse_integer_scale import fuse_integer_scale
from tests.api.builders import build, normal
from tests.passes.graphs import assert_same_results, graph_of, ops_of, parameters_of, run_graph

QUANTIZED = "q, s, z = DynamicQuantizeLinear(x) "
MATMUL = "p = MatMulInteger(q, w, z, v) c = Cast <to = 1> (p) "
CONV = "p = ConvInteger <pads = [1, 1, 1, 1]> (q, k, z, u) c = Cast <to = 1> (p) "


def _model(body: str, x: str = "9,7", y: str = "9,5") -> onnx.ModelProto:
    random = np.random.default_rng(1)
    return build(
        f"(float[{x}] x) => (float[{y}] y)",
        QUANTIZED + body,
        w=random.integers(-128, 128, (7, 5), np.int8),
        v=random.integers(-128, 128, 5, np.int8),
        k=random.integers(-128, 128, (4, 3, 3, 3), np.int8),
        u=np.array(3, np.int8),
        one=np.array([0.02], np.float32),
        row=np.abs(normal(2, 5)),
        table=np.abs(normal(2, 9, 5)),
        bias=normal(3, 5),
        planes=normal(4, 1, 4, 1, 1),
    )


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (MATMUL + "t = Mul(s, one) y = Mul(c, t)", []),
        (MATMUL + "t = Mul(row, s) m = Mul(t, c) y = Add(m, bias)", []),
        (MATMUL + "m = Mul(c, row) y = Add(bias, m)", []),
        (MATMUL + "y = Mul(c, s)", []),
        (MATMUL + "t = Mul(row, one) u2 = Mul(s, t) y = Mul(c, u2)", []),
        (
            MATMUL + "t = Mul(s, one) m = Mul(c, t) a = Relu(t) y = Add(m, a)",
            ["Mul", "Relu", "Add"],
        ),
    ],
)
def test_fuses_a_product(body: str, left: list[str], opened_device: Device) -> None:
    model = _model(body)
    graph = assert_same_results(model, fuse_integer_scale, opened_device)
    fused = ops_of(graph)
    assert sorted(fused) == sorted(["DynamicQuantizeLinear", "FusedMatMulInteger", *left])
    assert graph.nodes[fused.index("FusedMatMulInteger")].index == 1
    _assert_same_bits(model, opened_device)


@pytest.mark.parametrize("tail", ["y = Mul(c, t)", "m = Mul(c, t) y = Add(m, planes)"])
def test_fuses_a_convolution(tail: str, opened_device: Device) -> None:
    model = _model(CONV + "t = Mul(s, one) " + tail, "2,3,5,6", "2,4,5,6")
    graph = assert_same_results(model, fuse_integer_scale, opened_device)
    assert ops_of(graph) == ["DynamicQuantizeLinear", "FusedConvInteger"]
    _assert_same_bits(model, opened_device)


def _assert_same_bits(model: onnx.ModelProto, device: Device) -> None:
    graph, parameters = graph_of(model), parameters_of(model)
    inputs = [normal(9, *graph.values[name].shape) for name in graph.inputs]
    before = run_graph(graph, parameters, device, inputs)
    after = run_graph(fuse_integer_scale(graph), parameters, device, inputs)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    ("body", "outputs"),
    [
        (MATMUL + "y = Mul(c, table)", ("y",)),
        (MATMUL + "y = Mul(c, c)", ("y",)),
        (MATMUL + "y = Add(c, s)", ("y",)),
        (MATMUL + "y = Mul(c, s)", ("y", "p")),
        (MATMUL + "m = Mul(c, s) y = Add(m, c)", ("y",)),
        (
            "p = MatMulInteger(q, w, z) c = Cast <to = 11> (p) d = Cast <to = 1> (c) y = Mul(d, s)",
            ("y",),
        ),
    ],
)
def test_leaves_alone(body: str, outputs: tuple[str, ...]) -> None:
    graph = graph_of(_model(body), outputs)
    assert ops_of(fuse_integer_scale(graph)) == ops_of(graph)


@pytest.mark.parametrize(
    ("tail", "left"),
    [("y = Mul(c, c)", ["MatMulInteger", "Cast", "Mul"]), ("m = Mul(c, s) y = Add(m, m)", ["Add"])],
)
def test_a_vector_is_no_scale_of_its_own(tail: str, left: list[str], opened_device: Device) -> None:
    graph = assert_same_results(_model(MATMUL + tail, "7", "5"), fuse_integer_scale, opened_device)
    assert [op for op in ops_of(graph) if not op.startswith(("Dynamic", "Fused"))] == left


def test_leaves_a_bias_that_is_none(opened_device: Device) -> None:
    model = _model(MATMUL + "m = Mul(c, s) y = Add(m, table)")
    graph = assert_same_results(model, fuse_integer_scale, opened_device)
    assert ops_of(graph) == ["DynamicQuantizeLinear", "FusedMatMulInteger", "Add"]
