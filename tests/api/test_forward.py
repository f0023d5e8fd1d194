"""``forward``: eager, shapes from the arrays, the same answers within tolerance."""

from __future__ import annotations

import numpy as np
import pytest

import cugraphmodel
from cugraphmodel.errors import ArgumentError, DtypeError, PositionError, ShapeError
from tests.api.builders import affine, affine_steps, build, convolution, normal, two_inputs


def test_open_dimensions_come_from_the_arrays(device: str) -> None:
    model = cugraphmodel.load(affine(), device=device)
    for batch_size in (1, 5, 1, 2):
        x = normal(batch_size, batch_size, 4)
        results = model.forward([x])
        assert type(results) is list
        np.testing.assert_allclose(results[0], affine_steps(x)[2], rtol=1e-5, atol=1e-6)


def test_forward_agrees_with_a_captured_graph(device: str) -> None:
    model = cugraphmodel.load(convolution(), device=device)
    x = normal(7, 1, 2, 5, 5)
    with model.capture_graph(1) as graph:
        np.testing.assert_allclose(model.forward([x])[0], graph.run([x])[0], rtol=1e-4, atol=1e-5)


def test_forward_gives_the_outputs_asked_for(device: str) -> None:
    model = cugraphmodel.load(affine(), device=device)
    x = normal(3, 2, 4)
    results = model.forward({"x": x}, [0, "shifted", "y", "x"])
    for result, right in zip(results, [*affine_steps(x), x], strict=True):
        np.testing.assert_allclose(result, right, rtol=1e-5, atol=1e-6)


def test_results_are_fresh(device: str) -> None:
    model = cugraphmodel.load(affine(), device=device)
    x = normal(3, 2, 4)
    first = model.forward([x])[0]
    kept = first.copy()
    model.forward([-x])
    np.testing.assert_array_equal(first, kept)


def test_wrong_inputs_are_refused_as_by_run(device: str) -> None:
    model = cugraphmodel.load(two_inputs(), device=device)
    left, spare = normal(1, 2, 3), np.zeros(2, np.float32)
    with pytest.raises(ArgumentError, match="3 inputs"):
        model.forward([left])
    with pytest.raises(ArgumentError, match=r"missing: \['spare'\]"):
        model.forward({"left": left, "right": left})
    with pytest.raises(TypeError, match=r"pass \[x\]"):
        model.forward(left)  # type: ignore[arg-type]
    with pytest.raises(DtypeError, match="'right'"):
        model.forward([left, left.astype(np.float64), spare])
    with pytest.raises(ShapeError, match="'N'"):
        model.forward([left, left[:1], spare])
    with pytest.raises(ShapeError, match="'left'"):
        model.forward([left[:, :2], left, spare])
    with pytest.raises(PositionError):
        model.forward([left, left, spare], [7])
    assert model.forward([left, left, spare])[0].shape == (2, 3)


def test_forward_takes_one_dimension_of_the_same_count_where_no_size_is_open(device: str) -> None:
    model = build("(float[2,3] x, float s) => (float[2,3] y)", "y = Mul(x, s)")
    loaded = cugraphmodel.load(model, device=device)
    x = normal(1, 6)
    for scale in (np.float32(2), np.array([2], np.float32)):
        np.testing.assert_array_equal(loaded.forward([x, scale])[0], x.reshape(2, 3) * 2)
    with pytest.raises(ShapeError, match=r"'x' cannot have shape \(5,\)"):
        loaded.forward([x[:5], np.float32(2)])
