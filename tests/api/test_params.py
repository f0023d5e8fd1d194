"""Parameters: what is known of them, and replacing them under captured graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import cugraphmodel
from cugraphmodel.errors import DtypeError, ParameterError
from tests.api.builders import (
    Array,
    add_weights,
    affine,
    build,
    convolution,
    normal,
    reshape_by_parameter,
)


def answer(model: onnx.ModelProto, x: Array, **changed: Array) -> Array:
    """The model's first output by the ONNX reference, with some parameters replaced."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for tensor in copy.graph.initializer:
        if tensor.name in changed:
            tensor.CopyFrom(onnx.numpy_helper.from_array(changed[tensor.name], tensor.name))
    results: Any = ReferenceEvaluator(copy).run(None, {copy.graph.input[0].name: x})
    first: Array = results[0]
    return first


def test_a_parameter_changes_every_graph_from_its_next_run_on(device: str) -> None:
    proto, x, w = affine(), normal(3, 2, 4), normal(9, 4, 3)
    model = cugraphmodel.load(proto, device=device)
    with model.capture_graph(2) as first, model.capture_graph(2, ["product"]) as second:
        np.testing.assert_allclose(first.run([x])[0], answer(proto, x), rtol=1e-5, atol=1e-6)
        second.run([x])
        model.load_param("w", w)
        np.testing.assert_allclose(first.run([x])[0], answer(proto, x, w=w), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(second.run([x])[0], x @ w, rtol=1e-5, atol=1e-6)
    with model.capture_graph(2) as later:
        np.testing.assert_allclose(later.run([x])[0], answer(proto, x, w=w), rtol=1e-5, atol=1e-6)
    right = answer(proto, x, w=w)
    np.testing.assert_allclose(model.forward([x])[0], right, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["kernel", "bias", "scale", "shift", "mean", "variance"])
def test_a_parameter_reaches_its_folded_copies(name: str, device: str) -> None:
    proto, x = convolution(), normal(7, 1, 2, 5, 5)
    model = cugraphmodel.load(proto, device=device)
    old = next(info for info in model.params if info.name == name)
    fresh = np.abs(normal(8, *(int(size or 0) for size in old.shape or ()))) + np.float32(0.25)
    with model.capture_graph(1) as graph:
        np.testing.assert_allclose(graph.run([x])[0], answer(proto, x), rtol=1e-4, atol=1e-5)
        model.load_param(name, fresh)
        right = answer(proto, x, **{name: fresh})
        np.testing.assert_allclose(graph.run([x])[0], right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "body",
    [
        "t = Transpose<perm=[1,0]>(w) y = MatMul(x, t)",
        "y = Gemm<transB=1>(x, w)",
        "f = Reshape(w, flat) r = Reshape(f, square) t = Transpose(r) y = MatMul(x, t)",
        "d = Add(w, w) t = Transpose(d) h = Mul(t, half) y = MatMul(x, h)",
    ],
)
def test_a_parameter_reaches_its_derived_copies(body: str, device: str) -> None:
    proto = build(
        "(float[N,4] x) => (float[N,3] y)",
        body,
        w=normal(1, 3, 4),
        flat=np.array([-1]),
        square=np.array([3, 4]),
        half=np.array(0.5, np.float32),
    )
    x, w = normal(3, 2, 4), normal(9, 3, 4)
    model = cugraphmodel.load(proto, device=device)
    with model.capture_graph(2) as graph:
        graph.run([x])
        model.load_param("w", w)
        np.testing.assert_allclose(graph.run([x])[0], x @ w.T, rtol=1e-5, atol=1e-5)


def test_folding_gives_nan_and_infinity_without_a_warning(device: str) -> None:
    proto, x = convolution(), normal(7, 1, 2, 5, 5)
    model = cugraphmodel.load(proto, device=device)
    variance = np.array([-1, 1, 1], np.float32)
    scale = np.array([1, np.inf, 1], np.float32)
    with model.capture_graph(1, ["n"]) as graph:
        model.load_param("variance", variance)
        model.load_param("scale", scale)
        folded = graph.run([x])[0]
    assert np.isnan(folded[:, 0]).all()
    assert not np.isfinite(folded[:, 1]).any()
    assert np.isfinite(folded[:, 2]).all()


def test_a_parameter_that_is_an_output_is_given_anew(device: str) -> None:
    model = cugraphmodel.load(affine(), device=device)
    fresh = normal(9, 3)
    with model.capture_graph(2, ["b"]) as graph:
        model.load_param("b", fresh)
        np.testing.assert_array_equal(graph.run([normal(3, 2, 4)])[0], fresh)


def test_the_array_is_copied(device: str) -> None:
    model = cugraphmodel.load(affine(), device=device)
    fresh = normal(9, 3)
    model.load_param("b", fresh[::-1])
    kept = fresh[::-1].copy()
    fresh[...] = 0
    with model.capture_graph(2, ["b"]) as graph:
        np.testing.assert_array_equal(graph.run([normal(3, 2, 4)])[0], kept)


def test_a_parameter_that_decides_shapes_is_refused_while_a_graph_uses_it(device: str) -> None:
    model = cugraphmodel.load(reshape_by_parameter(), device=device)
    x = normal(1, 2, 6)
    graph = model.capture_graph()
    right = graph.run([x])[0]
    with pytest.raises(ParameterError, match=r"'target' decided shapes of graph 1 of"):
        model.load_param("target", np.array([4, 3]))
    np.testing.assert_array_equal(graph.run([x])[0], right)
    model.load_param("factor", np.array(3, np.float32))
    np.testing.assert_array_equal(graph.run([x])[0], x.reshape(3, 4) * np.float32(3))
    graph.close()
    model.load_param("target", np.array([4, 3]))
    with model.capture_graph() as other:
        np.testing.assert_array_equal(other.run([x])[0], x.reshape(4, 3) * np.float32(3))


def test_a_number_that_kernels_have_built_in_is_refused_while_a_graph_uses_it(device: str) -> None:
    model = cugraphmodel.load(
        build(
            "(float[6,8] x) => (float[6,8] y)",
            "p = MatMul(x, w) y = Clip(p, low, high)",
            w=normal(1, 8, 8),
            low=np.array(-0.5, np.float32),
            high=np.array(1.0, np.float32),
        ),
        device=device,
    )
    x = normal(2, 6, 8)
    with model.capture_graph() as graph:
        right = graph.run([x])[0]
        assert (right.min(), right.max()) == (-0.5, 1.0)
        with pytest.raises(ParameterError, match=r"'high' is built into graph 1 of"):
            model.load_param("high", np.array(2.0, np.float32))
        model.load_param("w", normal(3, 8, 8))
        assert graph.run([x])[0].max() == 1.0
    model.load_param("high", np.array(2.0, np.float32))
    assert model.forward([x])[0].max() == 2.0
    with model.capture_graph() as graph:
        assert graph.run([x])[0].max() == 2.0


def test_forward_does_not_hold_on_to_a_parameter_that_decides_shapes(device: str) -> None:
    model = cugraphmodel.load(reshape_by_parameter(), device=device)
    x = normal(1, 2, 6)
    assert model.forward([x])[0].shape == (3, 4)
    model.load_param("target", np.array([4, 3]))
    np.testing.assert_array_equal(model.forward([x])[0], x.reshape(4, 3) * np.float32(2))


@pytest.mark.parametrize(
    ("name", "array", "error", "words"),
    [
        ("nothing", np.zeros(3, np.float32), ParameterError, ["'nothing'", ".params"]),
        ("B", np.zeros(3, np.float32), ParameterError, ["'B'", ".params"]),
        ("bb", np.zeros(3, np.float32), ParameterError, ["'bb'", "close to it are ['b']"]),
        ("x", np.zeros((2, 4), np.float32), ParameterError, ["'x'"]),
        ("b", np.zeros(4, np.float32), ParameterError, ["(3,)", "(4,)"]),
        ("b", np.zeros((1, 3), np.float32), ParameterError, ["(3,)", "(1, 3)"]),
        ("b", np.zeros(3), DtypeError, ["float32", "float64"]),
        ("b", [0.0, 0.0, 0.0], TypeError, ["float32", "list"]),
        ("b", np.zeros(3, ">f4"), TypeError, ["'>f4'", "'<f4'"]),
        ("b", np.ma.masked_array(np.zeros(3, np.float32), mask=True), DtypeError, ["masked"]),
    ],
)
def test_a_wrong_parameter_is_refused_and_changes_nothing(
    name: str, array: Any, error: type[Exception], words: list[str], device: str
) -> None:
    model = cugraphmodel.load(affine(), device=device)
    x = normal(3, 2, 4)
    with model.capture_graph(2) as graph:
        right = graph.run([x])[0]
        with pytest.raises(error) as caught:
            model.load_param(name, array)
        missing = [word for word in words if word not in str(caught.value)]
        assert not missing, str(caught.value)
        np.testing.assert_array_equal(graph.run([x])[0], right)


def test_a_parameter_that_nothing_reads_is_one_too(device: str) -> None:
    proto = affine()
    add_weights(proto, spare=np.zeros(2, np.float32))
    model = cugraphmodel.load(proto, device=device)
    assert [info.name for info in model.params] == ["w", "b", "spare"]
    with model.capture_graph(2) as graph:
        model.load_param("spare", np.ones(2, np.float32))
        graph.run([normal(3, 2, 4)])
    with model.capture_graph(2, ["spare"]) as graph:
        np.testing.assert_array_equal(graph.run([normal(3, 2, 4)])[0], [1, 1])


@pytest.mark.parametrize("flat", [True, False])
def test_a_sparse_parameter_is_the_array_it_stands_for(flat: bool, device: str) -> None:
    proto = build("(float[N,4] x) => (float[N,3] y)", "y = MatMul(x, w)")
    dense = np.zeros((4, 3), np.float32)
    dense[0, 2], dense[3, 1] = 5, -2
    where = np.array([2, 10]) if flat else np.array([[0, 2], [3, 1]])
    values = onnx.numpy_helper.from_array(np.array([5, -2], np.float32), "w")
    indices = onnx.numpy_helper.from_array(where, "w_indices")
    proto.graph.sparse_initializer.append(
        onnx.helper.make_sparse_tensor(values, indices, dense.shape)
    )
    x = normal(3, 2, 4)
    with cugraphmodel.load(proto, device=device).capture_graph(2) as graph:
        np.testing.assert_allclose(graph.run([x])[0], x @ dense, rtol=1e-6)


def test_parameters_keep_the_files_names_and_dtypes() -> None:
    proto = build(
        "(float[N,4] x) => (float[N,4] y)",
        "h = Cast<to=1>(factor) y = Mul(x, h)",
        factor=np.array(0.5, np.float16),
    )
    model = cugraphmodel.load(proto, device="cpu")
    (info,) = model.params
    assert info.name == "factor"
    assert info.shape == ()
    assert info.dtype == np.float16
