"""Random images and places against the definitions in NumPy."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from cugraphmodel.executors import open_device
from cugraphmodel.ir import Node, Value
from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.sampling.grid_sample_cases import grid_sampled
from cugraphmodel.ops.sampling.roi_cases import roi_aligned
from cugraphmodel.ops.spec import Unsupported, find
from tests.ops import harness

SIZES = st.integers(1, 6)


def _uniform(seed: int, low: float, high: float, shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def _assert_close(got: Any, right: Any) -> None:
    """Within what the places' own rounding to float32 can do to interpolated data near 1."""
    np.testing.assert_allclose(got, right, rtol=0, atol=2e-5)


@given(
    st.tuples(SIZES, SIZES),
    st.tuples(SIZES, SIZES),
    st.sampled_from(["nearest", "linear", "cubic"]),
    st.sampled_from(["zeros", "border", "reflection"]),
    st.integers(0, 1),
    st.integers(0, 2**16),
)
def test_grid_sample_agrees_with_its_definition(
    size: tuple[int, int],
    output: tuple[int, int],
    mode: str,
    padding: str,
    align_corners: int,
    seed: int,
) -> None:
    x = _uniform(seed, -1, 1, (2, 2, *size))
    grid = _uniform(seed + 1, -3, 3, (2, *output, 2))
    attributes = {"mode": mode, "padding_mode": padding, "align_corners": align_corners}
    case = OpCase("random", "GridSample", [x, grid], attributes, 20)
    (got,) = harness.run(case, open_device("cpu"))
    _assert_close(got, grid_sampled(x, grid, mode, padding, align_corners))


@given(
    st.tuples(SIZES, SIZES),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.sampled_from(["avg", "max"]),
    st.sampled_from(["half_pixel", "output_half_pixel"]),
    st.integers(0, 3),
    st.integers(0, 2**16),
)
def test_roi_align_agrees_with_its_definition(
    size: tuple[int, int],
    pooled: tuple[int, int],
    mode: str,
    coordinates: str,
    ratio: int,
    seed: int,
) -> None:
    x = _uniform(seed, -1, 1, (2, 5, *size))
    regions = _uniform(seed + 1, -4, 10, (3, 4))
    image_of = np.array([0, 1, 0])
    attributes: dict[str, Any] = {
        "mode": mode,
        "coordinate_transformation_mode": coordinates,
        "sampling_ratio": ratio,
        "output_height": pooled[0],
        "output_width": pooled[1],
    }
    case = OpCase("random", "RoiAlign", [x, regions, image_of], attributes, 16)
    (got,) = harness.run(case, open_device("cpu"))
    _assert_close(got, roi_aligned(x, regions, image_of, **attributes))


@pytest.mark.parametrize(
    ("op_type", "shapes", "attributes", "part"),
    [
        ("GridSample", [(1, 2, 3, 3), (2, 4, 4, 2)], {}, "does not give locations"),
        ("GridSample", [(1, 2, 3, 3), (1, 4, 4, 3)], {}, "does not give locations"),
        ("GridSample", [(1, 2, 0, 3), (1, 4, 4, 2)], {}, "nothing to sample"),
        ("GridSample", [(1, 2, 3, 3), (1, 4, 4, 2)], {"mode": "area"}, "none of nearest"),
        ("RoiAlign", [(1, 2, 3), (2, 4), (2,)], {}, r"is not \[N, C, height, width\]"),
        ("RoiAlign", [(1, 2, 3, 3), (2, 5), (2,)], {}, r"is not \[regions, 4\]"),
        (
            "RoiAlign",
            [(1, 2, 3, 3), (2, 4), (2,)],
            {"sampling_ratio": 10**9},
            "up to 1024 are supported",
        ),
        ("MaxRoiPool", [(1, 2, 3, 3), (2, 5)], {}, "not a height and a width"),
        ("DeformConv", [(1, 2, 3, 3), (2, 2, 2, 2), (1, 9, 2, 2)], {}, "should be of shape"),
        ("DeformConv", [(1, 3, 3, 3), (2, 2, 2, 2), (1, 8, 2, 2)], {"group": 2}, "2 groups"),
    ],
)
def test_what_does_not_fit_is_refused(
    op_type: str, shapes: list[tuple[int, ...]], attributes: dict[str, Any], part: str
) -> None:
    spec = find("", op_type, 20)
    assert spec is not None
    values = [
        Value(np.dtype("int64" if len(shape) == 1 else "float32"), shape, f"in{position}")
        for position, shape in enumerate(shapes)
    ]
    node = Node(
        op_type, tuple(value.name for value in values), ("y",), version=20, attributes=attributes
    )
    with pytest.raises(Unsupported, match=part):
        spec.infer(node, values)
