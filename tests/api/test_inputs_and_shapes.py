"""Capture: open dimensions, their order of precedence, and what is said when some stay open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest

import cugraphmodel
from cugraphmodel.errors import ArgumentError, DtypeError, ShapeError
from tests.api.builders import build, normal, relu


def open_model() -> onnx.ModelProto:
    """A Relu with named, shared and unnamed open dimensions."""
    model = build(
        "(float[batch,seq,C] x, float[batch,seq] mask) => (float[batch,seq,C] y)", "y = Relu(x)"
    )
    model.graph.input[0].type.tensor_type.shape.dim[2].ClearField("dim_param")
    return model


def shapes_of(
    model: onnx.ModelProto, batch_size: int | None = None, **options: Any
) -> tuple[tuple[int, ...], ...]:
    with cugraphmodel.load(model, device="cpu").capture_graph(batch_size, **options) as graph:
        return graph.input_shapes


def test_batch_size_is_one_where_nothing_else_binds() -> None:
    assert shapes_of(relu()) == ((1, 4),)
    assert shapes_of(relu(), 5) == ((5, 4),)


def test_named_dimensions_are_bound_wherever_they_occur() -> None:
    got = shapes_of(open_model(), 2, dims={"seq": 7}, input_shapes={"x": (2, 7, 3)})
    assert got == ((2, 7, 3), (2, 7))


def test_input_shapes_bind_the_names_they_meet() -> None:
    assert shapes_of(open_model(), input_shapes={"x": (2, 7, 3)}) == ((2, 7, 3), (2, 7))


def test_dims_go_before_batch_size() -> None:
    assert shapes_of(relu(), dims={"N": 6}) == ((6, 4),)


@pytest.mark.parametrize("size", [0, -1])
def test_a_declared_size_that_is_not_positive_is_open(size: int) -> None:
    model = relu()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = size
    assert shapes_of(model, 3) == ((3, 4),)


def test_dimensions_called_by_a_question_mark_have_no_name() -> None:
    model = build("(float[B,H,W] x) => (float[B,H,W] y)", "y = Relu(x)")
    for dim in model.graph.input[0].type.tensor_type.shape.dim[1:]:
        dim.dim_param = "?"
    assert shapes_of(model, 2, input_shapes={"x": (2, 48, 192)}) == ((2, 48, 192),)


def test_a_scalar_input_takes_no_batch() -> None:
    model = build("(float[N,4] x, float s) => (float[N,4] y)", "y = Mul(x, s)")
    assert shapes_of(model, 3) == ((3, 4), ())


def test_every_dimension_that_stayed_open_is_listed() -> None:
    with pytest.raises(ShapeError) as caught:
        shapes_of(open_model(), 2)
    text = str(caught.value)
    assert "input 'x' dimension 1 ('seq')" in text
    assert "input 'x' dimension 2;" in text
    assert "input 'mask' dimension 1 ('seq')" in text
    assert "dims=" in text
    assert "input_shapes=" in text


def test_two_names_for_the_batch_are_an_error_that_lists_them() -> None:
    model = build("(float[M,4] a, float[N,4] b) => (float[M,4] y)", "y = Relu(a)")
    with pytest.raises(ShapeError, match=r"'M' and 'N'"):
        shapes_of(model, 2)
    assert shapes_of(model, 2, dims={"M": 3}) == ((3, 4), (2, 4))
    assert shapes_of(model, 2, input_shapes={"a": (3, 4)}) == ((3, 4), (2, 4))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": -1}, "batch_size is -1"),
        ({"batch_size": 2.0}, "batch_size is 2.0"),
        ({"batch_size": True}, "batch_size is True"),
        ({"batch_size": 2, "dims": {"N": 3}}, "batch_size=2"),
        ({"dims": {"N": -2}}, "dims['N'] is -2"),
        ({"dims": {"n": 2}}, "dims names ['n']"),
        ({"input_shapes": {"z": (2, 4)}}, "input_shapes names ['z']"),
        ({"input_shapes": {"x": (2, 5)}}, "(2, 5)"),
        ({"input_shapes": {"x": (2,)}}, "(2,)"),
        ({"input_shapes": {"x": 2}}, "input_shapes['x'] is 2"),
        ({"input_shapes": {"x": "24"}}, "input_shapes['x'] is '24'"),
        ({"dims": {"N": 10**5000}}, "over 2**63"),
        ({"constant_inputs": {"x": [[1, 2, 3, 4], [5]]}}, "constant_inputs['x'] is no array"),
        ({"input_shapes": {"x": (2, 4)}, "dims": {"N": 3}}, "'N'"),
        ({"constant_inputs": {"z": np.zeros(1, np.float32)}}, "'z'"),
        ({"precision": "fp4"}, "'fp4'"),
    ],
)
def test_a_wrong_argument_is_named(options: Mapping[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        cugraphmodel.load(relu(), device="cpu").capture_graph(**options)
    assert words in str(caught.value)


def test_a_batch_size_that_nothing_takes_is_an_error() -> None:
    fixed = build("(float[3,4] x) => (float[3,4] y)", "y = Relu(x)")
    with pytest.raises(ShapeError, match="batch_size=2"):
        shapes_of(fixed, 2)
    assert shapes_of(fixed) == ((3, 4),)


def test_a_constant_input_is_gone_from_the_graph_and_folded(device: str) -> None:
    model = build(
        "(float[2,6] x, int64[2] target) => (float[A,B] y)", "r = Reshape(x, target) y = Relu(r)"
    )
    loaded = cugraphmodel.load(model, device=device)
    x = normal(1, 2, 6)
    with loaded.capture_graph(constant_inputs={"target": np.array([3, 4])}) as graph:
        assert graph.input_names == ("x",)
        assert graph.output_shapes == ((3, 4),)
        np.testing.assert_array_equal(graph.run([x])[0], np.maximum(x.reshape(3, 4), 0))


def test_a_constant_input_of_another_dtype_is_refused() -> None:
    model = build("(float[2] x, float s) => (float[2] y)", "y = Mul(x, s)")
    with pytest.raises(DtypeError, match=r"'s'.*float64.*float32"):
        cugraphmodel.load(model, device="cpu").capture_graph(constant_inputs={"s": np.array(2.0)})


@pytest.mark.parametrize("argument", ["dims", "input_shapes", "constant_inputs"])
@pytest.mark.parametrize("given", [5, "N", ["N"], [("N", 2)]])
def test_what_is_no_dict_is_a_type_error(argument: str, given: Any) -> None:
    with pytest.raises(TypeError, match=f"{argument} takes a dict"):
        cugraphmodel.load(relu(), device="cpu").capture_graph(**{argument: given})


@pytest.mark.parametrize(
    ("onnx_type", "value", "is_held"),
    [
        ("float", 2, True),
        ("float", 0.1, True),
        ("float", float("nan"), True),
        ("float", float("-inf"), True),
        ("float", 1e300, False),
        ("float", 2**24 + 1, False),
        ("float", 2**53 + 1, False),
        ("double", 2**53 + 1, False),
        ("int64", 2.0, True),
        ("int64", 2.5, False),
        ("int64", float("nan"), False),
        ("int64", 2**63, False),
        ("int64", 1e19, False),
        ("int32", 2**31, False),
        ("uint8", -1, False),
        ("float", np.ma.masked_array(np.float32(2), mask=True), False),
    ],
)
def test_python_numbers_are_constants_where_the_dtype_holds_them(
    onnx_type: str, value: Any, is_held: bool
) -> None:
    model = build(f"(float[N,4] x, {onnx_type} s) => ({onnx_type} y)", "y = Identity(s)")
    loaded = cugraphmodel.load(model, device="cpu")
    if is_held:
        with loaded.capture_graph(constant_inputs={"s": value}) as graph:
            got = graph.run([np.zeros((1, 4), np.float32)])[0]
        np.testing.assert_array_equal(got, np.array(value, got.dtype))
    else:
        with pytest.raises(DtypeError, match=r"constant_inputs\['s'\]"):
            loaded.capture_graph(constant_inputs={"s": value})


@pytest.mark.parametrize("wanted", [(0,), (0, -1), ("y",)])
def test_a_failed_capture_leaves_the_model_usable(wanted: Sequence[int | str], device: str) -> None:
    model = cugraphmodel.load(relu(), device=device)
    with pytest.raises(ShapeError):
        model.capture_graph(0, wanted)
    x = normal(1, 2, 4)
    with model.capture_graph(2, wanted) as graph:
        for result in graph.run([x]):
            np.testing.assert_array_equal(result, np.maximum(x, 0))


def test_computed_output_shapes_win_over_declared_ones(device: str) -> None:
    model = build("(float[N,4] x) => (float[7,N] y)", "y = Transpose<perm=[1,0]>(x)")
    with cugraphmodel.load(model, device=device).capture_graph(3) as graph:
        assert graph.output_shapes == ((4, 3),)
