"""Broadcasting, the index space it collapses to, and what the elementwise operators refuse."""

from __future__ import annotations

import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from cugraphmodel.ir import Node, Value
from cugraphmodel.ops.spec import Unsupported, find
from cugraphmodel.ops.strides import broadcast_shapes, broadcast_strides, merge_axes

SHAPES = mutually_broadcastable_shapes(num_shapes=3, max_dims=8, max_side=3)


@given(SHAPES)
def test_broadcast_shapes_agrees_with_numpy(shapes: Any) -> None:
    assert broadcast_shapes(shapes.input_shapes) == shapes.result_shape


def _merged(shape: Any, operands: Any) -> Any:
    return merge_axes(shape, [broadcast_strides(operand, len(shape)) for operand in operands])


@given(SHAPES)
def test_merged_axes_visit_what_numpy_broadcasts(shapes: Any) -> None:
    shape, all_strides = _merged(shapes.result_shape, shapes.input_shapes)
    assert math.prod(shape) == math.prod(shapes.result_shape)
    assert 1 not in shape
    for operand, strides in zip(shapes.input_shapes, all_strides, strict=True):
        elements = np.arange(math.prod(operand))
        expected = np.broadcast_to(elements.reshape(operand), shapes.result_shape).ravel()
        byte_strides = [stride * elements.itemsize for stride in strides]
        visited = np.lib.stride_tricks.as_strided(elements, shape, byte_strides)
        np.testing.assert_array_equal(visited.ravel(), expected)


@given(st.lists(st.integers(2, 4), min_size=1, max_size=8))
def test_equal_shapes_merge_into_one_axis(shape: list[int]) -> None:
    assert _merged(shape, [shape, (), shape]) == ((math.prod(shape),), ((1,), (0,), (1,)))


def _reason(op_type: str, *inputs: Value, **attributes: Any) -> str:
    spec = find("", op_type, 17)
    assert spec is not None
    with pytest.raises(Unsupported) as caught:
        spec.infer(
            Node(op_type, tuple(v.name for v in inputs), ("y",), attributes=attributes), inputs
        )
    return str(caught.value)


def _value(name: str, dtype: str, *shape: int) -> Value:
    return Value(np.dtype(dtype), shape, name)


def test_refusals_say_what_was_found_and_what_would_do() -> None:
    x, y = _value("x", "float32", 2, 3), _value("y", "float32", 4)
    assert _reason("Add", x, y) == ("The shapes [2, 3] and [4] do not broadcast to one another.")
    assert _reason("Add", x, _value("y", "float64", 3)) == (
        "Input 'y' is float64; the kernels take float32."
    )
    assert _reason("Sqrt", _value("x", "int32", 2)) == (
        "Input 'x' is int32; the kernels take float16, bfloat16, float32, float64."
    )
    assert _reason("PRelu", y, _value("slope", "float32", 2, 4)) == (
        "The shape [2, 4] does not broadcast to [4]."
    )
    assert _reason("Mod", x, x) == (
        "Before opset 28, Mod with fmod=0 is for integers, not float32; set fmod=1."
    )
    assert _reason("Clip", x, y) == "The bound 'y' has shape [4], not a scalar's."
    assert _reason("Cast", x, to=8) == "Casting to ONNX type 8 has no kernel."
