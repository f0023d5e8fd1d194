"""use_tensor_cores: products and their weights in the form that tensor cores read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cugraphmodel
from cugraphmodel.executors.base import Device
from cugraphmodel.ir import Graph
from cugraphmodel.ops.matmul.product import Product
from cugraphmodel.ops.matmul.tensor_core import fits_tensor_cores
from cugraphmodel.passes import Numerics, run_passes
from cugraphmodel.passes.use_tensor_cores import use_tensor_cores
from tests.api.builders import build, normal
from tests.passes.graphs import assert_same_results, graph_of, ops_of

ARITHMETICS = {"float32": "tf32x3", "float16": "f16"}


def _pass(graph: Graph) -> Graph:
    return use_tensor_cores(graph, ARITHMETICS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("signature", "body", "fused_op"),
    [
        ("float[9,8] x", "y = MatMul(x, w)", "FusedMatMul"),
        ("float[2,5,8] x", "y = MatMul(x, w)", "FusedMatMul"),
        ("float[9,8] x", "y = Gemm(x, w, b)", "FusedGemm"),
        ("float[9,8] x", "y = Gemm<transB=1>(x, v, b)", "FusedGemm"),
    ],
)
def test_gives_products_to_tensor_cores(
    signature: str, body: str, fused_op: str, opened_device: Device
) -> None:
    shape = "2,5,12" if "2,5" in signature else "9,12"
    weights = {"w": normal(1, 8, 12), "v": normal(1, 12, 8), "b": normal(2, 12)}
    used: dict[str, Any] = {
        name: array for name, array in weights.items() if name in body.split("(")[1]
    }
    model = build(f"({signature}) => (float[{shape}] y)", body, **used)
    graph = assert_same_results(model, _pass, opened_device)
    [node] = graph.nodes
    assert (node.op_type, node.attributes["arithmetic"], node.index) == (fused_op, "tf32x3", 0)
    assert graph.values[node.inputs[1]].shape == (12, 8)


@pytest.mark.parametrize(
    ("inputs", "output", "body"),
    [
        ("float[4,8] x, float[12,8] z", "float[4,12]", "y = Gemm<transB=1>(x, z)"),
        ("float[9,8] x, float[8,12] z", "float[9,12]", "y = MatMul(x, z)"),
        ("float[9,6] x, float[12,6] z", "float[9,12]", "y = Gemm<transB=1>(x, z)"),
        ("float[8,9] x, float[12,8] z", "float[9,12]", "y = Gemm<transA=1, transB=1>(x, z)"),
        ("float[9,8] x, float[7,8] z", "float[9,7]", "y = Gemm<transB=1>(x, z)"),
        ("float[8] x, float[8] z", "float", "y = MatMul(x, z)"),
        ("double[9,8] x, double[12,8] z", "double[9,12]", "y = Gemm<transB=1>(x, z)"),
    ],
    ids=["few rows", "depth outside", "odd depth", "left", "few columns", "vectors", "float64"],
)
def test_leaves_alone(inputs: str, output: str, body: str) -> None:
    graph = graph_of(build(f"({inputs}) => ({output} y)", body))
    assert ops_of(_pass(graph)) == ops_of(graph)
    assert "arithmetic" not in _pass(graph).nodes[0].attributes


def test_weights_stay_loadable(device: str) -> None:
    weights, more = normal(1, 8, 12), normal(2, 8, 12)
    model = cugraphmodel.load(
        build("(float[9,8] x) => (float[9,12] y)", "y = MatMul(x, w)", w=weights), device=device
    )
    x = normal(3, 9, 8)
    with model.capture_graph(precision="tf32") as graph:
        for loaded in (weights, more):
            model.load_param("w", loaded)
            right = x.astype(np.float64) @ loaded.astype(np.float64)
            np.testing.assert_allclose(graph.run([x])[0], right, rtol=0, atol=4e-3)
            assert np.abs(graph.run([x])[0] - right).max() > 1e-5  # so it was tf32


def test_all_passes_keep_an_intermediate_that_is_asked_for(opened_device: Device) -> None:
    model = build(
        "(float[9,8] x) => (float[9,12] y)",
        "p = MatMul(x, w) q = Add(p, b) y = Relu(q)",
        w=normal(1, 8, 12),
        b=normal(2, 12),
    )
    for outputs in (("y",), ("y", "p"), ("q", "y")):
        graph = assert_same_results(
            model,
            lambda graph: run_passes(graph, Numerics(arithmetics=ARITHMETICS)),  # type: ignore[arg-type]
            opened_device,
            outputs,
        )
        assert graph.nodes[0].attributes["arithmetic"] == "tf32x3"


@pytest.mark.parametrize(("depth", "fits"), [(2**24 - 4, True), (2**24, False)])
def test_a_depth_that_32_bits_do_not_count_is_left_alone(depth: int, fits: bool) -> None:
    product = Product(64, 64, depth, transpose_right=True)
    assert fits_tensor_cores(product, np.dtype(np.float32)) == fits
