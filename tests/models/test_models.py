"""Real models give what ONNX Runtime gives, for every case, on every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import cugraphmodel
from tests.models.files import model_path
from tests.models.references import CASES, Reference, load_reference

Array = npt.NDArray[Any]
NOISE_FACTOR = 8
RELATIVE_TOLERANCE = 1e-5

_loaded: dict[tuple[str, str], cugraphmodel.LoadedModel] = {}


def loaded(model: str, device: str) -> cugraphmodel.LoadedModel:
    """The model on a device; the cases of a model follow each other, so only one is kept."""
    if (model, device) not in _loaded:
        _loaded.clear()
        _loaded[model, device] = cugraphmodel.load(model_path(model), device=device)
    return _loaded[model, device]


def assert_close(got: Array, right: Array, noise: float, name: str) -> None:
    """Integers equal; floats within the model's own rounding noise."""
    assert got.dtype == right.dtype, name
    assert got.shape == right.shape, name
    if right.dtype.kind != "f":
        np.testing.assert_array_equal(got, right, err_msg=name)
        return
    assert np.isfinite(right).all(), f"{name}: the reference itself is not finite"
    bound = NOISE_FACTOR * noise + RELATIVE_TOLERANCE * np.abs(right).max(initial=0.0)
    gap = np.abs(got.astype(np.float64) - right.astype(np.float64))
    worst = gap.max(initial=0.0)
    where = np.unravel_index(int(gap.argmax()), gap.shape)
    assert worst <= bound, f"{name}: off by {worst:.3g} at {where}, allowed {bound:.3g}"


@pytest.mark.parametrize(
    ("model", "case"), [(model, case) for model, cases in CASES.items() for case in cases]
)
def test_model_agrees_with_onnxruntime(model: str, case: str, device: str) -> None:
    """Replays follow their inputs, agree with the oracle, and repeat bit for bit."""
    reference = load_reference(model, case)
    first, other = reference.draws
    shapes = {name: value.shape for name, value in first.inputs.items()}
    with loaded(model, device).capture_graph(input_shapes=shapes) as graph:
        assert tuple(graph.input_names) == tuple(first.inputs)
        results = [graph.run(data.inputs) for data in (first, other, first)]
        names = tuple(graph.output_names)
    check_results(names, results, reference)


def check_results(names: tuple[str, ...], results: list[list[Array]], wanted: Reference) -> None:
    """Results of the first draw, of the second, and of the first again."""
    assert names == tuple(wanted.noise)
    for draw, got in zip(wanted.draws, results, strict=False):
        for name, value in zip(names, got, strict=True):
            assert_close(value, draw.outputs[name], wanted.noise[name], name)
    for name, once, again in zip(names, results[0], results[2], strict=True):
        np.testing.assert_array_equal(once.view(np.uint8), again.view(np.uint8), err_msg=name)
    changed = [not np.array_equal(a, b) for a, b in zip(results[0], results[1], strict=True)]
    assert any(changed), "different inputs gave the same outputs"
