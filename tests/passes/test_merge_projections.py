"""merge_projections: the products that make queries, keys and values become one."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import cugraphmodel
from cugraphmodel.executors.base import Device
from cugraphmodel.ir import Graph
from cugraphmodel.passes.fuse_attention import fuse_attention
from cugraphmodel.passes.fuse_matmul_bias import fuse_matmul_bias
from cugraphmodel.passes.merge_projections import merge_projections
from tests.api.builders import build, normal
from tests.passes.graphs import assert_same_results, graph_of, ops_of

HEADS = (
    "{0}4 = Reshape({0}, heads) {0}h = Transpose<perm = [0, 2, 1, 3]>({0}4) "  # [batch, 2, 5, 8]
)
ATTENTION = (
    "kt = Transpose<perm = [0, 1, 3, 2]>(kh) s = MatMul(qh, kt) "
    "p = Softmax<axis = -1>(s) a = MatMul(p, vh) "
    "t = Transpose<perm = [0, 2, 1, 3]>(a) y = Reshape(t, hidden)"
)
SIGNATURE = "(float[3,5,12] x, float[3,5,12] other) => (float[3,5,16] y)"


def _model(projections: str, signature: str = SIGNATURE, tail: str = "") -> onnx.ModelProto:
    body = projections + " ".join(HEADS.format(name) for name in "qkv") + ATTENTION + tail
    weights: dict[str, Any] = {f"w{name}": normal(ord(name), 12, 16) for name in "qkv"}
    weights |= {f"b{name}": normal(1 + ord(name), 16) for name in "qkv"}
    used = {name: array for name, array in weights.items() if name in body}
    return build(signature, body, heads=np.array([0, 0, 2, 8]), hidden=np.array([0, 0, 16]), **used)


def _fused(graph: Graph) -> Graph:
    return fuse_matmul_bias(fuse_attention(graph))


def _pass(graph: Graph) -> Graph:
    return merge_projections(_fused(graph))


WITH_BIAS = "".join(f"{n}0 = MatMul(x, w{n}) {n} = Add({n}0, b{n}) " for n in "qkv")
PLAIN = "".join(f"{n} = MatMul(x, w{n}) " for n in "qkv")


@pytest.mark.parametrize(
    ("projections", "num_products"),
    [
        (WITH_BIAS, 1),
        (PLAIN, 1),
        (WITH_BIAS.replace("x, wq", "other, wq"), 2),
        (PLAIN.replace("x, wv", "other, wv"), 2),
        (WITH_BIAS.replace("Add(v0, bv)", "Identity(v0)"), 2),
    ],
    ids=["bias", "no bias", "cross attention", "values of another", "values without bias"],
)
def test_merges(projections: str, num_products: int, opened_device: Device) -> None:
    signature = (
        SIGNATURE if "other" in projections else SIGNATURE.replace(", float[3,5,12] other", "")
    )
    graph = assert_same_results(_model(projections, signature), _pass, opened_device)
    products = [node for node in graph.nodes if "MatMul" in node.op_type]
    assert len(products) == num_products
    assert ops_of(graph).count("FusedAttention") == 1


@pytest.mark.parametrize(
    ("projections", "tail", "outputs"),
    [
        (PLAIN.replace("x, wq", "other, wq").replace("x, wv", "y2, wv"), "", ("y",)),
        (PLAIN, "", ("y", "q", "k")),
        (PLAIN, " z = Add(q, k)", ("y", "z")),
        (PLAIN.replace("MatMul(x, wk)", "MatMul(x, wq)").replace("wk", "wq"), "", ("y", "q", "v")),
    ],
    ids=["three operands", "outputs", "read elsewhere", "shared and an output"],
)
def test_leaves_alone(projections: str, tail: str, outputs: tuple[str, ...]) -> None:
    signature = SIGNATURE
    if "y2" in projections:
        signature = SIGNATURE.replace("other)", "other, float[3,5,12] y2)")
    graph = _fused(graph_of(_model(projections, signature, tail), outputs))
    assert ops_of(merge_projections(graph)) == ops_of(graph)


def test_weights_stay_loadable(device: str) -> None:
    model = cugraphmodel.load(
        _model(WITH_BIAS, SIGNATURE.replace(", float[3,5,12] other", "")), device=device
    )
    x = normal(7, 3, 5, 12)
    with model.capture_graph() as graph:
        before = graph.run([x])[0]
        for name, array in (("wk", normal(8, 12, 16)), ("bv", normal(9, 16))):
            model.load_param(name, array)
        after = graph.run([x])[0]
        assert np.abs(after - before).max() > 0.1
        np.testing.assert_allclose(after, model.forward([x])[0], rtol=1e-4, atol=1e-5)
