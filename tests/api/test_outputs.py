"""Which values a graph gives back: by index, by name, twice, intermediate, or an input itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import cugraphmodel
from cugraphmodel.errors import ArgumentError, PositionError
from tests.api.builders import affine, affine_steps, build, convolution, normal, two_inputs

X = normal(3, 2, 4)


def run(model: onnx.ModelProto, device: str, wanted: list[int | str] | None) -> list[np.ndarray]:
    with cugraphmodel.load(model, device=device).capture_graph(2, wanted) as graph:
        return graph.run([X])


@pytest.mark.parametrize(
    ("wanted", "steps"),
    [
        (None, [2]),
        ([0], [0]),
        ([2, 0, 1], [2, 0, 1]),
        ([-1, -3], [2, 0]),
        (["product", "y"], [0, 2]),
        ([1, "shifted", 1], [1, 1, 1]),
        ([np.int64(1)], [1]),
    ],
)
def test_outputs_come_in_the_order_asked_for(
    wanted: list[int | str] | None, steps: list[int], device: str
) -> None:
    results = run(affine(), device, wanted)
    assert len(results) == len(steps)
    for result, step in zip(results, steps, strict=True):
        np.testing.assert_allclose(result, affine_steps(X)[step], rtol=1e-5, atol=1e-6)


def test_one_output_asked_for_twice_is_two_arrays(device: str) -> None:
    first, second = run(affine(), device, ["y", "y"])
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, second)


def test_an_input_and_a_parameter_may_be_outputs(device: str) -> None:
    x, w, y = run(affine(), device, ["x", "w", "y"])
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(w, normal(1, 4, 3))
    np.testing.assert_allclose(y, affine_steps(X)[2], rtol=1e-5, atol=1e-6)


def test_a_model_whose_output_is_its_input(device: str) -> None:
    model = build("(float[N,4] x) => (float[N,4] x)", "unused = Relu(x)")
    with cugraphmodel.load(model, device=device).capture_graph(2) as graph:
        assert graph.output_names == ("x",)
        np.testing.assert_array_equal(graph.run([X])[0], X)
        np.testing.assert_array_equal(graph.run([-X])[0], -X)


def test_a_model_that_only_reshapes(device: str) -> None:
    model = build("(float[N,4] x) => (float[A] y)", "y = Flatten<axis=0>(x)")
    with cugraphmodel.load(model, device=device).capture_graph(2) as graph:
        np.testing.assert_array_equal(graph.run([X])[0], X.reshape(1, 8))


def test_a_model_that_is_constant(device: str) -> None:
    model = build("(float[N,4] x) => (float[2] y)", "y = Add(a, a)", a=np.ones(2, np.float32))
    with cugraphmodel.load(model, device=device).capture_graph(2) as graph:
        np.testing.assert_array_equal(graph.run([X])[0], [2, 2])


def test_intermediates_that_fusion_would_remove_are_given_when_asked_for(device: str) -> None:
    x = normal(7, 1, 2, 5, 5)
    model = cugraphmodel.load(convolution(), device=device)
    with model.capture_graph(1) as fused, model.capture_graph(1, ["c", "n", 2, "y"]) as whole:
        c, n, by_index, y = whole.run([x])
        plain = fused.run([x])[0]
    eager = model.forward([x], ["c", "n", "y"])
    for got, right in zip((c, n, y), eager, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(by_index, y)
    np.testing.assert_array_equal(y, np.maximum(n, 0))
    np.testing.assert_allclose(plain, y, rtol=1e-4, atol=1e-5)


def test_a_value_name_goes_before_a_node_name(device: str) -> None:
    model = affine()
    model.graph.node[0].name = "y"
    model.graph.node[1].name = "middle"
    by_value, by_node = run(model, device, ["y", "middle"])
    np.testing.assert_allclose(by_value, affine_steps(X)[2], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(by_node, affine_steps(X)[1], rtol=1e-5, atol=1e-6)


def test_several_outputs_keep_the_files_order(device: str) -> None:
    left, right = normal(1, 2, 3), normal(2, 2, 3)
    with cugraphmodel.load(two_inputs(), device=device).capture_graph(2) as graph:
        assert graph.output_names == ("difference", "total")
        difference, total = graph.run([left, right, np.zeros(2, np.float32)])
    np.testing.assert_array_equal(difference, left - right)
    np.testing.assert_array_equal(total, left + right)


@pytest.mark.parametrize(
    ("wanted", "error", "words"),
    [
        ([3], PositionError, "node index 3 is outside"),
        ([-4], PositionError, "node index -4 is outside"),
        ([0, 99], IndexError, "3 nodes"),
        (["nothing"], ArgumentError, "'nothing'"),
        (["prodcut"], ArgumentError, "close to it are ['product']"),
        ([""], ArgumentError, "''"),
        ([], ArgumentError, "empty"),
        ("y", TypeError, "['y']"),
        (0, TypeError, "[0]"),
        ([0.0], TypeError, "0.0"),
        ([True], TypeError, "True"),
        ([None], TypeError, "None"),
    ],
)
def test_a_wrong_request_is_named(wanted: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        cugraphmodel.load(affine(), device="cpu").capture_graph(1, wanted)
    assert words in str(caught.value)


def test_a_node_name_that_occurs_twice_lists_the_indices() -> None:
    model = affine()
    model.graph.node[0].name = model.graph.node[2].name = "same"
    with pytest.raises(ArgumentError, match=r"\[0, 2\]"):
        cugraphmodel.load(model, device="cpu").capture_graph(1, ["same"])


def test_an_output_that_is_left_out_cannot_be_asked_for_by_index() -> None:
    model = build("(float[N,4] x) => (float[N,2] b)", ", b = Split<axis=1>(x, sizes)", opset=13)
    assert list(model.graph.node[0].output) == ["", "b"]
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([2, 2]), "sizes"))
    with pytest.raises(ArgumentError, match=r"leaves its first output out.*'b'"):
        cugraphmodel.load(model, device="cpu").capture_graph(1, [0])


def test_a_zip_map_gives_its_scores_as_one_array_and_its_labels_beside(device: str) -> None:
    node = helper.make_node(
        "ZipMap", ["scores"], ["classes"], domain="ai.onnx.ml", classlabels_strings=["no", "yes"]
    )
    score = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    record = helper.make_map_type_proto(TensorProto.STRING, score)
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["scores"]), node],
        "classifier",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2])],
        [helper.make_value_info("classes", helper.make_sequence_type_proto(record))],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    x = normal(3, 3, 2)
    captured = cugraphmodel.load(proto, device=device).capture_graph(3, ["classes", "scores"])
    classes, scores = captured.run([x])
    np.testing.assert_array_equal(classes, np.maximum(x, 0))
    np.testing.assert_array_equal(scores, classes)
    assert captured.output_labels == (("no", "yes"), None)
