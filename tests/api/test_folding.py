"""Nodes over constants are evaluated at load, as their kernels would."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import cugraphmodel
from cugraphmodel.errors import ModelLoadError
from tests.api.builders import build, normal

Array = npt.NDArray[Any]


@pytest.mark.parametrize(
    ("data", "indices", "axis"),
    [
        (normal(1, 1, 512), np.arange(128)[None], 1),
        (normal(2, 40, 3), np.array([[39, 0, -40], [-1, 38, 1]]), 0),
        (normal(3, 4, 5, 6), np.arange(24).reshape(2, 3, 4) % 6 - 3, 2),
        (normal(4, 7), np.array([6, -7, 3]), -1),
    ],
    ids=["wide", "many rows", "three axes", "vector"],
)
def test_gather_elements_of_constants(data: Array, indices: Array, axis: int, device: str) -> None:
    place = list(np.meshgrid(*map(np.arange, indices.shape), indexing="ij"))
    place[axis] = indices
    right = data[tuple(place)] + np.float32(1)
    shape = ",".join(map(str, indices.shape))
    model = build(
        f"(float[{shape}] x) => (float[{shape}] y)",
        f"g = GatherElements<axis = {axis}>(data, indices) y = Add(x, g)",
        data=data,
        indices=indices,
    )
    with cugraphmodel.load(model, device=device).capture_graph() as graph:
        assert graph.num_kernels == 1
        np.testing.assert_array_equal(graph.run([np.ones(indices.shape, np.float32)])[0], right)


def test_an_index_outside_is_named() -> None:
    model = build(
        "(float[2] x) => (float[2] y)",
        "g = GatherElements(data, indices) y = Add(x, g)",
        data=normal(1, 3),
        indices=np.array([0, 3]),
    )
    with pytest.raises(ModelLoadError, match=r"GatherElements.*outside"):
        cugraphmodel.load(model, device="cpu").capture_graph()
