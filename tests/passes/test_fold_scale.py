"""fold_scale: a 1x1 convolution on tensor cores multiplies its input by a scale of channels."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import onnx
import pytest

from cugraphmodel.executors.base import Device
from cugraphmodel.ir import Graph
from cugraphmodel.ops.matmul.tensor_core import Arithmetic
from cugraphmodel.passes import Numerics, run_passes
from cugraphmodel.passes.fold_scale import fold_scale
from cugraphmodel.passes.use_tensor_cores import use_tensor_cores
from tests.api.builders import add_weights, build, normal
from tests.passes.graphs import (
    assert_as_exact,
    assert_same_results,
    graph_of,
    ops_of,
    parameters_of,
    run_graph,
)

WEIGHTS = {
    "stem": normal(1, 24, 3, 3, 3) / 5,
    "w": normal(2, 16, 24, 1, 1) / 5,
    "bias": normal(3, 16),
    "square": normal(4, 16, 24, 3, 3) / 14,
    "grouped": normal(5, 16, 12, 1, 1) / 4,
    "wide": normal(6, 24, 24, 1, 1) / 5,
    "down": normal(7, 6, 24, 1, 1),
    "up": normal(8, 24, 6, 1, 1),
    "one": np.full((), 0.5, np.float32),
    "scale": normal(9, 1, 24, 1, 1),
}
STEM = "h = Conv<pads=[1,1,1,1]>(x, stem) "
SCALE = "q = GlobalAveragePool(h) a = Conv(q, down) r = Relu(a) c = Conv(r, up) k = Sigmoid(c) "
END = " y = GlobalMaxPool(n)"
ARITHMETICS: dict[str, Arithmetic] = {"float32": "tf32x3", "float16": "f16"}


def _model(body: str, shape: str = "1,3,7,9", dtype: str = "float32") -> onnx.ModelProto:
    text = f"{STEM}{body}{END}"
    used = {
        name: array.astype(dtype)
        for name, array in WEIGHTS.items()
        if re.search(rf"\b{name}\b", text)
    }
    kind = {"float32": "float", "float16": "float16"}[dtype]
    model = build(f"({kind}[{shape}] x) => ({kind}[A,B,C,D] y)", text, opset=18)
    add_weights(model, **used)
    return model


_run = partial(run_passes, numerics=Numerics(arithmetics=ARITHMETICS))


def _without(graph: Graph) -> Graph:
    """As :func:`_run`, but for this pass."""
    return use_tensor_cores(run_passes(graph), ARITHMETICS)


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        (f"{SCALE}m = Mul(h, k) n = Conv(m, w)", "1,3,7,9"),
        (f"{SCALE}m = Mul(k, h) n = Conv(m, w, bias)", "1,3,7,9"),
        (f"{SCALE}m = Mul(h, k) o = Conv(m, wide) p = Add(o, h) n = Relu(p)", "1,3,7,9"),
        (f"{SCALE}m = Mul(h, k) n = Conv(m, w)", "2,3,16,17"),
        ("t = MaxPool<kernel_shape=[2,2]>(h) m = Mul(t, scale) n = Conv(m, w)", "1,3,7,9"),
    ],
)
def test_folds(body: str, shape: str, opened_device: Device) -> None:
    model = _model(body, shape)
    graph = assert_same_results(model, _run, opened_device)
    before = _without(graph_of(model))
    assert ops_of(graph).count("Mul") == ops_of(before).count("Mul") - 1
    folded = next(node for node in graph.nodes if len(node.inputs) == 5 and "Conv" in node.op_type)
    assert folded.inputs[4]
    x = normal(10, *graph.values["x"].shape)
    new, old = (run_graph(g, parameters_of(model), opened_device, [x]) for g in (graph, before))
    np.testing.assert_array_equal(new[0], old[0])


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        (f"{SCALE}m = Mul(h, k) n = Conv(m, w)", "2,3,7,9"),
        (f"{SCALE}m = Mul(h, k) n = Conv<pads=[1,1,1,1]>(m, square)", "1,3,7,9"),
        (f"{SCALE}m = Mul(h, k) n = Conv<strides=[2,2]>(m, w)", "1,3,7,9"),
        (f"{SCALE}m = Mul(h, k) n = Conv<group=2>(m, grouped)", "1,3,7,9"),
        (f"{SCALE}m = Mul(h, k) o = Conv(m, wide) n = Sub(o, m)", "1,3,7,9"),
        (f"{SCALE}m = Mul(h, k) o = Conv(m, wide) n = Add(o, m)", "1,3,7,9"),
        (f"{SCALE}m = Sub(h, k) n = Conv(m, w)", "1,3,7,9"),
        (f"{SCALE}m = Mul(h, k) o = Mul(m, k) n = Conv(o, w)", "1,3,7,9"),
        ("m = Mul(h, one) n = Conv(m, w)", "1,3,7,9"),
        ("m = Mul(h, h) n = Conv(m, w)", "1,3,7,9"),
    ],
)
def test_leaves_alone(body: str, shape: str, opened_device: Device) -> None:
    graph = assert_same_results(_model(body, shape), _run, opened_device)
    assert all(len(node.inputs) < 5 or node.op_type == "SqueezeExcite" for node in graph.nodes)


def test_needs_tensor_cores() -> None:
    graph = run_passes(graph_of(_model(f"{SCALE}m = Mul(h, k) n = Conv(m, w)")))
    assert fold_scale(graph).nodes == graph.nodes


def test_what_was_asked_for_stays(opened_device: Device) -> None:
    model = _model(f"{SCALE}m = Mul(h, k) n = Conv(m, w)")
    graph = assert_same_results(model, _run, opened_device, ("y", "m"))
    assert "Mul" in ops_of(graph)
    graph = assert_same_results(model, _run, opened_device, ("y", "k", "n"))
    assert "Mul" not in ops_of(graph)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rounds_as_the_mul(dtype: str, opened_device: Device) -> None:
    model = _model(f"{SCALE}m = Mul(h, k) n = Conv(m, w)", dtype=dtype)
    before, after = (run(graph_of(model)) for run in (_without, _run))
    assert ops_of(after).count("Mul") == ops_of(before).count("Mul") - 1
    x = normal(10, 1, 3, 7, 9).astype(dtype)
    old, new = (run_graph(g, parameters_of(model), opened_device, [x]) for g in (before, after))
    np.testing.assert_array_equal(new[0], old[0])
    assert_as_exact(model, _run, opened_device)
