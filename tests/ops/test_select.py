"""Random data for the operators whose output has as many elements as the data decide."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from cugraphmodel.executors import open_device
from cugraphmodel.ir import Node, Value
from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.select.select_cases import CASES as SELECT_CASES
from cugraphmodel.ops.select.select_cases import chosen_boxes, nonzero_coordinates, unique_slices
from cugraphmodel.ops.spec import Unsupported, find
from tests.ops import harness

SEEDS = st.integers(0, 2**16)


def _run(op_type: str, inputs: list[Any], num_outputs: int, **attributes: Any) -> list[Any]:
    case = OpCase(
        "random",
        f"Bounded{op_type}",
        inputs,
        attributes,
        17,
        num_outputs=num_outputs,
        domain="cugraphmodel",
    )
    return harness.run(case, open_device("cpu"))


def _assert_equal(got: list[Any], right: list[Any]) -> None:
    for one, other in zip(got, right, strict=True):
        np.testing.assert_array_equal(one, other)


@given(st.lists(st.integers(1, 40), max_size=3), st.floats(0, 1), SEEDS)
def test_nonzero_agrees_with_numpy(shape: list[int], share: float, seed: int) -> None:
    x = (np.random.default_rng(seed).random(shape) < share).astype(np.float32)
    _assert_equal(_run("NonZero", [np.asarray(x)], 2), nonzero_coordinates(np.asarray(x)))


@given(st.integers(1, 4), st.integers(1, 12), st.integers(0, 2), st.booleans(), SEEDS)
def test_unique_agrees_with_numpy(
    alike: int, size: int, axis: int, is_sorted: bool, seed: int
) -> None:
    shape = [2, 2, 2]
    shape[axis] = size
    x = np.random.default_rng(seed).integers(0, alike, shape).astype(np.float32)
    got = _run("Unique", [x], 5, axis=axis, sorted=int(is_sorted))
    _assert_equal(got, list(unique_slices(axis, is_sorted)(x)))


@given(st.integers(1, 30), st.integers(0, 30), st.floats(0, 1), SEEDS)
def test_boxes_are_chosen_as_the_definition_says(
    num_boxes: int, most: int, threshold: float, seed: int
) -> None:
    """Corners are small integers, so that areas are exact; scores meet often."""
    generator = np.random.default_rng(seed)
    boxes = generator.integers(0, 6, (2, num_boxes, 4)).astype(np.float32)
    scores = generator.integers(0, 5, (2, 2, num_boxes)).astype(np.float32)
    # A quotient of small integers and a threshold halfway between two of them round alike.
    threshold = (np.floor(threshold * 5000) + 0.5) / 5000
    inputs = [boxes, scores, np.array(most), np.array([threshold], np.float32)]
    _assert_equal(_run("NonMaxSuppression", inputs, 2), chosen_boxes(*inputs))


@pytest.mark.parametrize(
    ("op_type", "shapes", "part"),
    [
        ("Compress", [(3, 4), (13,)], "at most 12 decisions"),
        ("Compress", [(3, 4), (3, 4)], "at most 12 decisions"),
        ("NonMaxSuppression", [(1, 5, 3), (1, 2, 5)], "scores of"),
        ("NonMaxSuppression", [(1, 5, 4), (1, 2, 6)], "scores of"),
        ("Unique", [(20_000,)], "compared with each"),
        ("NonZero", [(1,) * 9], "8 dimensions"),
    ],
)
def test_what_does_not_fit_is_refused(
    op_type: str, shapes: list[tuple[int, ...]], part: str
) -> None:
    spec = find("cugraphmodel", f"Bounded{op_type}", 17)
    assert spec is not None
    values = [Value(np.dtype("float32"), shape, f"in{k}") for k, shape in enumerate(shapes)]
    if op_type == "Compress":
        values[1] = Value(np.dtype("bool"), shapes[1], "in1")
    names = tuple(value.name for value in values)
    node = Node(op_type, names, ("y", "n"), version=17, domain="cugraphmodel")
    with pytest.raises(Unsupported, match=part):
        spec.infer(node, values)


def test_every_operator_has_a_case_with_a_fill() -> None:
    def has_fill(case: OpCase) -> bool:
        assert case.expected is not None
        first, *_, count = case.expected(*case.inputs)
        return int(count) not in first.shape

    with_fill = {case.op_type for case in SELECT_CASES if has_fill(case)}
    assert with_fill == {case.op_type for case in SELECT_CASES}
