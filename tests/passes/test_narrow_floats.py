"""narrow_floats: values between nodes are of 16 bits, and what the caller sees is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cugraphmodel
from cugraphmodel.dtypes import BFLOAT16
from cugraphmodel.executors.base import Device
from cugraphmodel.ir import Graph
from cugraphmodel.passes import Numerics, Precision, run_passes
from cugraphmodel.passes.narrow_floats import narrow_floats
from tests.api.builders import build, normal
from tests.passes.graphs import assert_same_results, graph_of, ops_of

FLOAT16 = np.dtype(np.float16)
EPSILON = {FLOAT16: 2.0**-11, BFLOAT16: 2.0**-8}


def _inner_dtypes(graph: Graph) -> set[str]:
    """Of the floats that nodes make and that are no outputs."""
    made = {name for node in graph.nodes for name in node.outputs} - set(graph.kept)
    return {graph.values[name].dtype.name for name in made} & {"float32", "float16", "bfloat16"}


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16])
@pytest.mark.parametrize(
    "body",
    [
        "a = MatMul(x, w) r = Relu(a) c = MatMul(r, v) y = Softmax(c)",
        "a = Gemm(x, w, b) m = ReduceMean<axes = [1]>(a) c = Sub(a, m) y = MatMul(c, v)",
        "i = Cast<to = 7>(x) f = Cast<to = 1>(i) a = MatMul(f, w) y = MatMul(a, v)",
        "a = MatMul(x, w) s = Shape(a) z = ConstantOfShape(s) c = Add(a, z) y = MatMul(c, v)",
    ],
)
def test_values_between_nodes_are_narrow(body: str, dtype: np.dtype, opened_device: Device) -> None:
    weights = {"w": normal(1, 8, 12), "b": normal(2, 12), "v": normal(3, 12, 6)}
    read = body.replace(",", " ").replace(")", " ").split()
    used: dict[str, Any] = {name: array for name, array in weights.items() if name in read}
    model = build("(float[5,8] x) => (float[5,6] y)", body, **used)
    graph = assert_same_results(
        model, lambda graph: narrow_floats(graph, dtype), opened_device, rtol=16 * EPSILON[dtype]
    )
    assert _inner_dtypes(graph) == {dtype.name}
    assert graph.values["y"].dtype == graph.values["x"].dtype == np.float32


def test_an_output_that_is_read_inside_and_one_that_is_an_input(opened_device: Device) -> None:
    model = build("(float[5,8] x) => (float[5,8] y)", "a = Relu(x) b = Neg(a) y = Add(b, b)")
    graph = assert_same_results(
        model, lambda g: narrow_floats(g, FLOAT16), opened_device, ("y", "a", "x"), rtol=2e-3
    )
    assert ops_of(graph).count("Cast") == 3


def test_what_cannot_be_narrow_stays_wide(opened_device: Device) -> None:
    model = build(
        "(float[5,8] x) => (float[5,8] y)",
        "a = Relu(x) q = QuantizeLinear(a, s, z) d = DequantizeLinear(q, s, z) y = Neg(d)",
        s=np.array(0.02, np.float32),
        z=np.array(3, np.uint8),
    )
    graph = assert_same_results(
        model, lambda g: narrow_floats(g, FLOAT16), opened_device, rtol=2e-2
    )
    assert ops_of(graph) == [
        *("Cast", "Relu", "Cast", "QuantizeLinear", "DequantizeLinear", "Cast", "Neg", "Cast")
    ]


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16])
def test_a_constant_beyond_the_range_stays_finite(dtype: np.dtype) -> None:
    lowest = np.array([np.finfo(np.float32).min, -np.inf, 1.0], np.float32)
    model = build("(float[3] x) => (float[3] y)", "y = Mul(x, c)", c=lowest)
    graph = narrow_floats(graph_of(model), dtype)
    [name] = [name for name in graph.constants if "(" in name]
    array = graph.constants[name].compute(graph.parameters).astype(np.float32)
    assert np.isfinite(array[0])
    assert array[0] < -65000
    assert array[1] == -np.inf
    assert array[2] == 1


@pytest.mark.parametrize(("precision", "digits"), [("fp16", 2e-3), ("bf16", 2e-2)])
def test_a_model_keeps_its_types_and_loads_parameters(
    precision: Precision, digits: float, device: str
) -> None:
    body = "c = Conv<pads = [1, 1, 1, 1]>(x, w) r = Relu(c) g = GlobalAveragePool(r) y = Flatten(g)"
    model = cugraphmodel.load(
        build("(float[2,8,9,9] x) => (float[2,16] y)", body, w=normal(1, 16, 8, 3, 3)),
        device=device,
    )
    x = normal(2, 2, 8, 9, 9)
    with model.capture_graph() as wide, model.capture_graph(precision=precision) as narrow:
        assert (narrow.input_dtypes, narrow.output_dtypes) == (
            wide.input_dtypes,
            wide.output_dtypes,
        )
        for _ in range(2):
            right = wide.run([x])[0]
            error = np.abs(narrow.run([x])[0] - right).max() / np.abs(right).max()
            assert 0 < error < digits
            model.load_param("w", normal(3, 16, 8, 3, 3))


def test_all_passes_together(opened_device: Device) -> None:
    model = build(
        "(float[6,16] x) => (float[6,16] y)",
        "a = MatMul(x, w) b = Add(a, r) c = Relu(b) y = MatMul(c, w)",
        w=normal(1, 16, 16),
        r=normal(2, 16),
    )
    numerics = Numerics(FLOAT16, {"float16": "f16"})
    graph = assert_same_results(model, lambda g: run_passes(g, numerics), opened_device, rtol=4e-3)
    assert ops_of(graph) == ["Cast", "FusedMatMul", "FusedMatMul", "Cast"]
    assert {node.attributes.get("arithmetic") for node in graph.nodes[1:3]} == {"f16"}
