"""Real models give what ONNX Runtime gives, for every case, on every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import cugraphmodel
from tests.models.files import model_path
from tests.models.references import CASES, Draw, Reference, load_reference

Array = npt.NDArray[Any]
NOISE_FACTOR = 8
RELATIVE_TOLERANCE = 1e-5

_loaded: dict[str, tuple[str, cugraphmodel.LoadedModel]] = {}


def loaded(model: str, device: str) -> cugraphmodel.LoadedModel:
    """The model on a device. The tests of a model follow each other, so only the last is kept."""
    if _loaded.get(device, ("", None))[0] != model:
        _loaded.pop(device, None)
        _loaded[device] = (model, cugraphmodel.load(model_path(model), device=device))
    return _loaded[device][1]


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


ALL_CASES = [(model, case) for model, cases in CASES.items() for case in cases]


@pytest.fixture(scope="module", params=ALL_CASES, ids="-".join)
def model_case(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A model and a case; of module scope, so that pytest runs all tests of one in a row."""
    pair: tuple[str, str] = request.param
    return pair


def test_model_agrees_with_onnxruntime(model_case: tuple[str, str], device: str) -> None:
    """Replays follow their inputs, agree with the oracle, and repeat bit for bit."""
    reference = load_reference(*model_case)
    first, other = reference.draws
    shapes = {name: value.shape for name, value in first.inputs.items()}
    with loaded(model_case[0], device).capture_graph(input_shapes=shapes) as graph:
        assert graph.input_names == tuple(first.inputs)
        assert graph.output_names == tuple(first.outputs)
        results = [graph.run(data.inputs) for data in (first, other, first)]
    assert_right(results[0], first, reference)
    assert_right(results[1], other, reference)
    assert [a.tobytes() for a in results[0]] == [b.tobytes() for b in results[2]]
    changed = [not np.array_equal(a, b) for a, b in zip(results[0], results[1], strict=True)]
    assert any(changed), "different inputs gave the same outputs"


def test_forward_agrees_with_onnxruntime(model_case: tuple[str, str], device: str) -> None:
    """The same without fusion, folding into weights, or reuse of memory."""
    reference = load_reference(*model_case)
    first = reference.draws[0]
    assert_right(loaded(model_case[0], device).forward(first.inputs), first, reference)


def assert_right(results: list[Array], draw: Draw, reference: Reference) -> None:
    for (name, right), got in zip(draw.outputs.items(), results, strict=True):
        assert_close(got, right, reference.noise[name], name)
