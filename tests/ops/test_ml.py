"""Operators of ai.onnx.ml: random trees as ONNX Runtime walks them, and what cannot run."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper

import cugraphmodel
from cugraphmodel.errors import UnsupportedModelError
from cugraphmodel.executors.base import Device
from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.ml.svm_cases import svm_case
from cugraphmodel.ops.ml.trees_cases import random_trees
from cugraphmodel.ops.spec import Unsupported
from tests.ops import harness

# The device outlives the examples, which share nothing else of the fixture's.
many_examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
DOMAIN = "ai.onnx.ml"
X = np.zeros((3, 4), np.float32)


def model_of(case: OpCase) -> onnx.ModelProto:
    outputs = [f"out{position}" for position in range(case.num_outputs)]
    (x,) = case.inputs
    assert x is not None
    node = helper.make_node(case.op_type, ["in0"], outputs, domain=DOMAIN, **case.attributes)
    infos = [onnx.ValueInfoProto(name=name) for name in outputs]
    data = helper.make_tensor_value_info("in0", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    graph = helper.make_graph([node], "case", [data], infos)
    opsets = [helper.make_opsetid(DOMAIN, case.opset), helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def by_onnxruntime(case: OpCase) -> list[harness.Array]:
    session = onnxruntime.InferenceSession(
        model_of(case).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, {"in0": case.inputs[0]}))


def check(case: OpCase, device: Device) -> None:
    for got, right in zip(harness.run(case, device), by_onnxruntime(case), strict=True):
        harness.assert_close(case, got, right)


@st.composite
def rows(draw: st.DrawFn, num_features: int) -> harness.Array:
    """Halves, so that they often equal what a node compares with."""
    number = st.sampled_from([-2.0, -0.5, 0.0, 0.5, 1.0, 1.5, 3.0, float("nan")])
    row = st.lists(number, min_size=num_features, max_size=num_features)
    return np.array(draw(st.lists(row, min_size=1, max_size=5)), np.float32)


forests = st.tuples(st.integers(0, 10**6), st.integers(1, 40), st.integers(0, 4), st.integers(1, 4))


@many_examples
@given(
    data=st.data(),
    forest=forests,
    aggregate=st.sampled_from(["SUM", "AVERAGE", "MIN", "MAX"]),
    transform=st.sampled_from(["NONE", "SOFTMAX", "LOGISTIC"]),
)
def test_regressor_agrees_with_onnxruntime(
    opened_device: Device,
    data: st.DataObject,
    forest: tuple[int, int, int, int],
    aggregate: str,
    transform: str,
) -> None:
    # With one target, ONNX Runtime leaves the transform out.
    num_targets = data.draw(st.integers(1 if transform == "NONE" else 2, 4))
    trees = random_trees(*forest, num_targets)
    attributes = trees | {
        "n_targets": num_targets,
        "aggregate_function": aggregate,
        "post_transform": transform,
    }
    x = data.draw(rows(forest[3]))
    check(
        OpCase("random", "TreeEnsembleRegressor", [x], attributes, 3, domain=DOMAIN), opened_device
    )


@many_examples
@given(data=st.data(), forest=forests, offset=st.sampled_from([0.0, 9.0]))
def test_classifier_agrees_with_onnxruntime(
    opened_device: Device, data: st.DataObject, forest: tuple[int, int, int, int], offset: float
) -> None:
    num_classes = data.draw(st.integers(2, 5))
    if num_classes > 2:  # ONNX Runtime passes over a class of score 0 that has no votes
        offset = 9.0
    attributes: dict[str, Any] = random_trees(*forest, num_classes, "class", offset)
    if num_classes == 2:  # for votes of two classes, ONNX Runtime's labels are not the highest's
        attributes["class_ids"] = [0] * len(attributes["class_ids"])
    attributes["classlabels_int64s"] = [10 * label + 3 for label in range(num_classes)]
    attributes["post_transform"] = data.draw(st.sampled_from(["NONE", "LOGISTIC"]))
    case = OpCase(
        "random",
        "TreeEnsembleClassifier",
        [data.draw(rows(forest[3]))],
        attributes,
        3,
        num_outputs=2,
        domain=DOMAIN,
    )
    check(case, opened_device)


@many_examples
@given(data=st.data(), norm=st.sampled_from(["MAX", "L1", "L2"]), size=st.integers(1, 70))
def test_normalizer_agrees_with_onnxruntime(
    opened_device: Device, data: st.DataObject, norm: str, size: int
) -> None:
    x = OpCase.random(data.draw(st.integers(0, 10**6)), data.draw(st.integers(1, 6)), size)
    check(OpCase("random", "Normalizer", [x], {"norm": norm}, 1, domain=DOMAIN), opened_device)


@many_examples
@given(
    data=st.data(),
    kernel=st.sampled_from(["LINEAR", "POLY", "RBF", "SIGMOID"]),
    sizes=st.tuples(st.integers(1, 6), st.integers(1, 9), st.integers(1, 80)),
    one_class=st.integers(0, 1),
)
def test_svm_agrees_with_onnxruntime(
    opened_device: Device,
    data: st.DataObject,
    kernel: str,
    sizes: tuple[int, int, int],
    one_class: int,
) -> None:
    num_rows, num_features, num_vectors = sizes
    x = OpCase.random(data.draw(st.integers(0, 10**6)), num_rows, num_features)
    case = svm_case("random", x, kernel, num_vectors, one_class)
    for got, right in zip(harness.run(case, opened_device), by_onnxruntime(case), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-4)  # of its sums in float32


STUMP = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [0, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 0],
    "target_weights": [1.0, 2.0],
    "n_targets": 1,
}
CIRCLE = {
    **STUMP,
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"],
    "nodes_truenodeids": [1, 1, 0],
    "nodes_falsenodeids": [2, 2, 0],
    "target_nodeids": [2, 2],
}
REJECTED = [
    ("TreeEnsembleRegressor", {"nodes_featureids": [4, 0, 0]}, "Feature 4 is asked for"),
    ("TreeEnsembleRegressor", {"nodes_truenodeids": [7, 0, 0]}, "Tree 0 has no node 7"),
    ("TreeEnsembleRegressor", {"nodes_nodeids": [0, 1, 1]}, "Node 1 of tree 0 stands twice"),
    ("TreeEnsembleRegressor", CIRCLE, "lead in a circle"),
    ("TreeEnsembleRegressor", {"target_ids": [0, 1]}, "A vote is for none of the 1 targets"),
    ("TreeEnsembleRegressor", {"target_nodeids": [0, 1]}, "belongs to a node that is no leaf"),
    ("TreeEnsembleRegressor", {"post_transform": "PROBIT"}, "post_transform 'PROBIT' has no"),
    ("TreeEnsembleRegressor", {"aggregate_function": "MEDIAN"}, "aggregate_function 'MEDIAN'"),
    ("TreeEnsembleRegressor", {"base_values": [1.0, 2.0]}, "2 base values do not fit 1 scores"),
]


@pytest.mark.parametrize(("op_type", "changes", "reason"), REJECTED)
def test_trees_that_cannot_run_say_why(op_type: str, changes: dict[str, Any], reason: str) -> None:
    case = OpCase("rejected", op_type, [X], STUMP | changes, 3, domain=DOMAIN)
    with pytest.raises(Unsupported) as caught:
        harness.graph_of(case)
    assert reason in str(caught.value)


TWO_NAMES = """
<ir_version: 9, opset_import: ["ai.onnx.ml": 1, "": 17]>
g (float[2,2] x) => (string[2] label, float[2,2] scores) {
    label, scores = ai.onnx.ml.LinearClassifier <
        coefficients = [1.0, -1.0], intercepts = [0.0], post_transform = "LOGISTIC",
        classlabels_strings = ["no", "yes"]
    > (x)
}
"""


def test_scores_run_where_labels_are_strings(device: str) -> None:
    model = cugraphmodel.load(onnx.parser.parse_model(TWO_NAMES), device=device)
    with pytest.raises(UnsupportedModelError, match=r"labels of output 'label' are strings"):
        model.capture_graph()
    with model.capture_graph(output_node_indices=["scores"]) as graph:
        (scores,) = graph.run([np.array([[2, 0.5], [0, 1]], np.float32)])
    right = 1 / (1 + np.exp(-np.array([[-1.5, 1.5], [1, -1]])))
    np.testing.assert_allclose(scores, right, rtol=1e-6)
