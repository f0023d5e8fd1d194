"""How reductions are cut up."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from cugraphmodel.ir import Node, Value
from cugraphmodel.ops.launch import Launch
from cugraphmodel.ops.reduce.geometry import column_plan, row_plan
from cugraphmodel.ops.reduce.reduce import split_dimensions
from cugraphmodel.ops.spec import find


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_plans_have_a_thread_for_every_element(count: int, size: int) -> None:
    rows = row_plan(count, size)
    rows_of_a_block = rows.block[0] // rows.row_threads
    assert (rows.grid[0] - 1) * rows_of_a_block < count <= rows.grid[0] * rows_of_a_block
    assert rows.items == 0 or rows.items * rows.row_threads >= size
    columns = column_plan(count, size)
    assert (columns.grid[0] - 1) * columns.width < count <= columns.grid[0] * columns.width
    assert columns.block[0] * columns.block[1] <= 1024


@given(st.lists(st.integers(1, 3), max_size=8), st.integers(0, 255))
def test_kept_and_reduced_dimensions_visit_each_element_once(shape: list[int], bits: int) -> None:
    axes = frozenset(axis for axis in range(len(shape)) if bits >> axis & 1)
    kept, reduced = split_dimensions(tuple(shape), axes)
    elements = np.arange(math.prod(shape))
    pairs = [*kept, *reduced]
    visited = np.lib.stride_tricks.as_strided(
        elements,
        [size for size, _ in pairs],
        [stride * elements.itemsize for _, stride in pairs],
    )
    order = [axis for axis in range(len(shape)) if axis not in axes] + sorted(axes)
    expected = elements.reshape(shape).transpose(order)
    np.testing.assert_array_equal(visited.ravel(), expected.ravel())


def _launches(*shape: int, axes: list[int]) -> list[Launch]:
    spec = find("", "ReduceSum", 11)
    assert spec is not None
    x = Value(np.dtype("float32"), shape, "x")
    node = Node("ReduceSum", ("x",), ("y",), version=11, attributes={"axes": axes})
    (inferred,) = spec.infer(node, [x])
    return list(spec.lower(node, [x], [Value(inferred.dtype, inferred.shape, "y")]))


def test_a_long_reduction_to_few_outputs_fills_the_grid() -> None:
    first, second = _launches(1, 4_000_000, axes=[1])
    assert first.grid[0] * first.grid[1] >= 128
    assert second.grid == (1, 1, 1)


def test_a_reduction_to_many_outputs_is_one_launch() -> None:
    assert len(_launches(4096, 100_000, axes=[1])) == 1
    assert len(_launches(1, 1000, axes=[1])) == 1
