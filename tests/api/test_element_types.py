"""Element types that NumPy itself lacks, from a file to the caller's arrays and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper

import cugraphmodel
from cugraphmodel.dtypes import BFLOAT16, DTYPES, DType
from cugraphmodel.errors import DtypeError, UnsupportedModelError
from tests.api.builders import normal

Array = npt.NDArray[Any]

STORAGE = [entry for entry in DTYPES if entry.is_storage]
NUMBERS = np.array([[1, 0, 2, 1], [3, 1, 0, 2], [2, 3, 1, 1]])


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: dict[str, tuple[int, Sequence[int]]],
    outputs: dict[str, int],
    weights: dict[str, Array] | None = None,
) -> onnx.ModelProto:
    """A model in the newest opset; inputs have an ONNX type and a shape, outputs a type."""
    graph = helper.make_graph(
        list(nodes),
        "types",
        [helper.make_tensor_value_info(name, *type_) for name, type_ in inputs.items()],
        [helper.make_tensor_value_info(name, code, None) for name, code in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)])


def bits(array: Array) -> Array:
    return array.view(f"u{array.dtype.itemsize}")


@pytest.mark.parametrize("entry", STORAGE, ids=lambda entry: entry.numpy.name)
def test_what_is_only_stored_is_moved_bit_by_bit(device: str, entry: DType) -> None:
    """An input, and a weight, which a file packs if it is smaller than a byte."""
    code, x = entry.onnx_code, NUMBERS.astype(entry.numpy)
    weight = NUMBERS[:, ::-1].astype(entry.numpy)
    nodes = [
        helper.make_node("Transpose", ["x"], ["turned"], perm=[1, 0]),
        helper.make_node("Concat", ["turned", "w"], ["joined"], axis=0),
        helper.make_node("Gather", ["joined", "rows"], ["picked"], axis=0),
        helper.make_node("Reshape", ["picked", "shape"], ["y"]),
        helper.make_node("Cast", ["w"], ["wide"], to=1),
        helper.make_node("Identity", ["x"], ["same"]),
    ]
    weights = {"w": weight.T.copy(), "rows": np.array([7, 0, 4]), "shape": np.array([9])}
    model = model_of(nodes, {"x": (code, x.shape)}, {"y": code, "wide": 1, "same": code}, weights)
    with cugraphmodel.load(model, device=device).capture_graph() as graph:
        assert graph.input_dtypes == (entry.numpy,)
        y, wide, same = graph.run([x])
        np.testing.assert_array_equal(
            bits(y), bits(np.concatenate([x.T, weight.T])[[7, 0, 4]].ravel())
        )
        np.testing.assert_array_equal(wide, weight.T.astype(np.float32))
        np.testing.assert_array_equal(bits(same), bits(x))
        graph.input_slice_mut(0)[:] = x[::-1]
        graph.run_inplace()
        np.testing.assert_array_equal(bits(graph.output_slice(2)), bits(x[::-1].copy()))


def test_what_is_only_stored_cannot_be_computed_with() -> None:
    model = model_of(
        [helper.make_node("TopK", ["x", "k"], ["y", "at"])],
        {"x": (17, [4])},
        {"y": 17},
        {"k": np.array([2])},
    )
    with pytest.raises(UnsupportedModelError, match="float8_e4m3fn; the kernels take"):
        cugraphmodel.load(model, device="cpu").capture_graph()


def bfloat16_perceptron() -> onnx.ModelProto:
    """Relu(x[2, 16] @ w + b), shape [2, 8], all in bfloat16."""
    return model_of(
        [
            helper.make_node("MatMul", ["x", "w"], ["product"]),
            helper.make_node("Add", ["product", "b"], ["shifted"]),
            helper.make_node("Relu", ["shifted"], ["y"]),
        ],
        {"x": (16, [2, 16])},
        {"y": 16},
        {"w": normal(1, 16, 8).astype(BFLOAT16), "b": normal(2, 8).astype(BFLOAT16)},
    )


def perceptron(x: Array, w: Array, b: Array) -> Array:
    """In float64."""
    wide = [part.astype(np.float64) for part in (x, w, b)]
    return np.maximum(wide[0] @ wide[1] + wide[2], 0)


def test_bfloat16_is_computed_in_float32_and_rounded(device: str) -> None:
    x, w, b = normal(3, 2, 16).astype(BFLOAT16), normal(1, 16, 8).astype(BFLOAT16), normal(2, 8)
    model = cugraphmodel.load(bfloat16_perceptron(), device=device)
    with model.capture_graph() as graph:
        exact = perceptron(x, w, b.astype(BFLOAT16))
        [y] = graph.run([x])
        assert y.dtype == BFLOAT16
        np.testing.assert_allclose(y.astype(np.float64), exact, rtol=2.0**-7, atol=1e-6)
        [eager] = model.forward([x])  # rounds after each node
        np.testing.assert_allclose(eager.astype(np.float64), exact, rtol=2.0**-6, atol=1e-2)
        graph.input_slice_mut(0)[:] = 0
        graph.run_inplace()
        np.testing.assert_array_equal(graph.output_slice(0)[0], np.maximum(b.astype(BFLOAT16), 0))
        model.load_param("b", np.zeros(8, BFLOAT16))
        [y] = graph.run([x])
        exact = perceptron(x, w, np.zeros(8))
        np.testing.assert_allclose(y.astype(np.float64), exact, rtol=2.0**-7, atol=1e-6)


def test_another_type_is_an_error_that_names_the_conversion() -> None:
    model = cugraphmodel.load(bfloat16_perceptron(), device="cpu")
    x = normal(3, 2, 16)
    with model.capture_graph() as graph:
        with pytest.raises(DtypeError, match=r"x\.astype\(ml_dtypes\.bfloat16\)"):
            graph.run([x])
        raw = x.astype(BFLOAT16).view("V2")  # as numpy.load gives it
        with pytest.raises(DtypeError, match=r"x\.view\(ml_dtypes\.bfloat16\)"):
            graph.run([raw])
        graph.run([raw.view(BFLOAT16)])
    with pytest.raises(DtypeError, match=r"x\.astype\(ml_dtypes\.bfloat16\)"):
        model.load_param("b", np.zeros(8, np.float32))


@pytest.mark.parametrize("number", [1 + 2.0**-8 + 2.0**-40, 2**24 + 2**16 + 1])
def test_a_constant_is_rounded_once(device: str, number: float) -> None:
    """By way of float32, as NumPy casts, both would round to the number below."""
    dtype = np.int64 if isinstance(number, int) else np.float64
    nodes = [
        helper.make_node("Cast", ["c"], ["narrow"], to=16),
        helper.make_node("Add", ["x", "narrow"], ["y"]),
    ]
    model = model_of(nodes, {"x": (16, [1])}, {"y": 16}, {"c": np.array([number], dtype)})
    with cugraphmodel.load(model, device=device).capture_graph() as graph:
        [y] = graph.run([np.zeros(1, BFLOAT16)])
    step = 2.0 ** (np.floor(np.log2(number)) - 7)
    assert float(y[0]) == np.ceil(number / step) * step


def test_a_sum_of_constants_is_rounded_once(device: str) -> None:
    parts = np.full((1, 1000), 0.01, BFLOAT16)
    nodes = [
        helper.make_node("ReduceSum", ["parts", "axes"], ["total"], keepdims=0),
        helper.make_node("Add", ["x", "total"], ["y"]),
    ]
    weights = {"parts": parts, "axes": np.array([1])}
    model = model_of(nodes, {"x": (16, [1])}, {"y": 16}, weights)
    with cugraphmodel.load(model, device=device).capture_graph() as graph:
        [y] = graph.run([np.zeros(1, BFLOAT16)])
    np.testing.assert_array_equal(y, parts.astype(np.float64).sum(1).astype(ml_dtypes.bfloat16))
