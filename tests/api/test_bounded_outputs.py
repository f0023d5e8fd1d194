"""Outputs with as many entries as the data of a run decide, and what no replay can repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import cugraphmodel
from cugraphmodel.errors import UnsupportedModelError


def _model(nodes: list[onnx.NodeProto], **outputs: int) -> onnx.ModelProto:
    """From ``x`` float32 [n, 4] to outputs of the given element types."""
    graph = helper.make_graph(
        nodes,
        "bounded",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info(name, type_, None) for name, type_ in outputs.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _nonzero() -> onnx.ModelProto:
    return _model(
        [helper.make_node("NonZero", ["x"], ["at"]), helper.make_node("Relu", ["x"], ["r"])],
        at=TensorProto.INT64,
        r=TensorProto.FLOAT,
    )


DATA = np.array([[0, 1, 0, -2], [3, 0, 0, 0], [0, 0, 0, 4]], np.float32)


def test_entries_come_first_then_a_fill_and_their_number_is_an_output(device: str) -> None:
    model = cugraphmodel.load(_nonzero(), device=device)
    with model.capture_graph(3, bounded_outputs=True) as graph:
        assert graph.output_names == ("at", "r", "at.count")
        assert graph.output_shapes == ((2, 12), (3, 4), ())
        for data in (DATA, DATA[::-1], np.zeros_like(DATA), np.ones_like(DATA)):
            at, relu, count = graph.run([data])
            np.testing.assert_array_equal(at[:, : int(count)], np.nonzero(data))
            assert (at[:, int(count) :] == -1).all()
            np.testing.assert_array_equal(relu, np.maximum(data, 0))


def test_without_the_option_the_error_names_it(device: str) -> None:
    model = cugraphmodel.load(_nonzero(), device=device)
    with pytest.raises(UnsupportedModelError, match=r"NonZero.*bounded_outputs=True"):
        model.capture_graph(3)
    with model.capture_graph(3, ["r"]) as graph:
        np.testing.assert_array_equal(graph.run([DATA])[0], np.maximum(DATA, 0))


def test_the_number_comes_only_with_the_output(device: str) -> None:
    model = cugraphmodel.load(_nonzero(), device=device)
    with model.capture_graph(3, ["r"], bounded_outputs=True) as graph:
        assert graph.output_names == ("r",)
    with model.capture_graph(3, ["at", "at"], bounded_outputs=True) as graph:
        assert graph.output_names == ("at", "at", "at.count")


@pytest.mark.parametrize("reader", ["Transpose", "Shape", "Identity"])
def test_no_other_node_reads_such_an_output(reader: str, device: str) -> None:
    nodes = [helper.make_node("NonZero", ["x"], ["at"]), helper.make_node(reader, ["at"], ["y"])]
    model = cugraphmodel.load(_model(nodes, y=TensorProto.INT64), device=device)
    with pytest.raises(UnsupportedModelError, match="'at' hangs on data"):
        model.capture_graph(3, bounded_outputs=True)


def test_an_output_of_fixed_size_beside_it_can_be_read(device: str) -> None:
    nodes = [
        helper.make_node("Unique", ["x"], ["values", "", "places", "counts"]),
        helper.make_node("Neg", ["places"], ["y"]),
    ]
    outputs: dict[str, Any] = {"y": TensorProto.INT64, "counts": TensorProto.INT64}
    model = cugraphmodel.load(_model(nodes, **outputs), device=device)
    with model.capture_graph(3, bounded_outputs=True) as graph:
        assert graph.output_names == ("y", "counts", "counts.count")
        y, counts, count = graph.run([DATA])
    _, places, expected = np.unique(DATA, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(y, -places.ravel())
    np.testing.assert_array_equal(counts, [*expected, *[0] * (DATA.size - len(expected))])
    assert count == len(expected)


def test_what_is_known_at_capture_has_its_own_size(device: str) -> None:
    nodes = [
        helper.make_node(
            "Constant", [], ["c"], value=onnx.numpy_helper.from_array(DATA.astype(np.float32))
        ),
        helper.make_node("NonZero", ["c"], ["at"]),
        helper.make_node("Transpose", ["at"], ["rows"]),
        helper.make_node("GatherND", ["x", "rows"], ["y"]),
    ]
    model = cugraphmodel.load(_model(nodes, y=TensorProto.FLOAT), device=device)
    with model.capture_graph(3) as graph:
        np.testing.assert_array_equal(graph.run([DATA])[0], DATA[DATA != 0])


@pytest.mark.parametrize("op_type", ["RandomNormalLike", "Multinomial"])
def test_random_numbers_are_refused_with_the_reason(op_type: str, device: str) -> None:
    model = cugraphmodel.load(
        _model([helper.make_node(op_type, ["x"], ["y"])], y=TensorProto.FLOAT), device=device
    )
    with pytest.raises(UnsupportedModelError, match="makes random numbers"):
        model.capture_graph(3)
