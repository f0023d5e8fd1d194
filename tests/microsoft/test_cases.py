"""Every case gives what ONNX Runtime gives, or what the operator's documentation says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import parser

import cugraphmodel
from cugraphmodel.errors import UnsupportedModelError
from cugraphmodel.front.microsoft import COMPOSED
from cugraphmodel.ops.spec import find
from tests.microsoft import attention_cases, layer_cases, quantized_cases
from tests.microsoft.case import Array, Case

CASES = (*layer_cases.CASES, *attention_cases.CASES, *quantized_cases.CASES)
TOLERANCES = {"float16": 2e-3, "float32": 2e-6}


def outputs(case: Case, device: str) -> list[list[Array]]:
    """Of two runs with the same data."""
    with cugraphmodel.load(case.model(), device=device).capture_graph() as graph:
        return [graph.run(case.fed()), graph.run(case.fed())]


def assert_right(results: Sequence[Array], expected: Sequence[Array]) -> None:
    for got, right in zip(results, expected, strict=True):
        assert got.shape == right.shape
        if got.dtype.kind != "f":
            assert got.dtype == right.dtype
            np.testing.assert_array_equal(got, right)
            continue
        tolerance = TOLERANCES[got.dtype.name]
        scale = np.abs(right.astype(np.float64)).max(initial=0)
        np.testing.assert_allclose(got, right, rtol=5 * tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case, device: str) -> None:
    first, again = outputs(case, device)
    assert_right(first, case.right())
    assert [a.dtype.name for a in first] == case.dtypes()
    assert [a.tobytes() for a in first] == [b.tobytes() for b in again]


def test_what_a_cache_holds_beyond_its_length_is_not_looked_at(device: str) -> None:
    case = next(case for case in attention_cases.GROUP_QUERY if case.name == "one_more_uneven")
    fed = case.fed()
    with cugraphmodel.load(case.model(), device=device).capture_graph() as graph:
        right = graph.run(fed)[0]
        for name in ("in3", "in4"):
            fed[name] = np.where(fed[name] == 0, np.float32(1e30), fed[name])
        np.testing.assert_array_equal(graph.run(fed)[0], right)


def model_of(text: str) -> onnx.ModelProto:
    head = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>'
    return parser.parse_model(f"{head} graph {text}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "(float[2,5,6] q, float[2,5,6] k, float[2,5,6] v, int32[8] mask) => (float[a,b,c] y)"
            '{ y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v, "", mask) }',
            "the mask mask: int32[8] is not covered; of the shapes [2], [4], [2, 5] and [2, 5, 5]",
        ),
        (
            "(float[2,5,7] q, float[2,5,7] k, float[2,5,7] v) => (float[a,b,c] y)"
            "{ y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v) }",
            "7 elements do not split into 2 heads.",
        ),
        (
            "(float[2,5,6] x, float[6,18] w) => (float[a,b,c] y)"
            "{ y = com.microsoft.Attention <num_heads = 2, do_rotary = 1> (x, w) }",
            "do_rotary=1 is not covered; only 0 is.",
        ),
        (
            "(float[1,1,64] q, float[1,1,32] k, float[1,1,32] v, float[1,2,3,16] pk,"
            " float[1,2,3,16] pv, int32[1] last, int32 total) => (float[a,b,c] y)"
            "{ y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2>"
            " (q, k, v, pk, pv, last, total) }",
            "input 6 ('total') decides the size of the cache and must be known at capture.",
        ),
        (
            "(float[2,3] a, float[3,4] b) => (float[c,d] y)"
            '{ y = com.microsoft.FusedGemm <activation = "Magic"> (a, b) }',
            "the activation 'Magic' is not covered.",
        ),
    ],
    ids=["mask", "heads", "rotary", "cache", "activation"],
)
def test_what_is_not_covered_is_said(text: str, reason: str) -> None:
    with pytest.raises(UnsupportedModelError) as caught:
        cugraphmodel.load(model_of(text), device="cpu").capture_graph()
    assert reason in str(caught.value)


def test_a_part_that_cannot_run_is_reported_once() -> None:
    text = (
        "(int32[2,3,8] x, int32[2,3,8] skip, int32[8] gamma) => (float[a,b,c] y)"
        "{ y = com.microsoft.SkipLayerNormalization (x, skip, gamma) }"
    )
    with pytest.raises(UnsupportedModelError) as caught:
        cugraphmodel.load(model_of(text), device="cpu").capture_graph()
    assert len(caught.value.problems) == 1
    assert "is int32; the kernels take" in str(caught.value)


def test_nothing_runs_that_nobody_reads() -> None:
    case = next(case for case in attention_cases.MULTI_HEAD if case.name == "scores")
    with cugraphmodel.load(case.model(), device="cpu").capture_graph() as graph:
        found = [step.node.op_type for step in graph.plan.steps]
    assert found == ["Transpose"] * 3 + ["MatMul", "Mul", "Softmax", "MatMul", "Transpose"]


def test_every_composition_is_used_and_has_a_case() -> None:
    assert {(case.domain, case.op_type) for case in CASES} == set(COMPOSED)
    for domain, op_type in COMPOSED:
        assert domain == "" or find(domain, op_type, 1) is None, f"{op_type} has a kernel"
