"""Real models give what ONNX Runtime gives, for every case, on every device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import cugraphmodel
from cugraphmodel.errors import UnsupportedModelError
from tests.models.files import model_path
from tests.models.references import CASES, Reference, Step, load_reference

Array = npt.NDArray[Any]
Shapes = dict[str, tuple[int, ...]]
NOISE_FACTOR = 8
RELATIVE_TOLERANCE = 1e-5

_loaded: dict[str, tuple[str, cugraphmodel.LoadedModel]] = {}


def loaded(model: str, device: str) -> cugraphmodel.LoadedModel:
    """The model on a device. The tests of a model follow each other, so only the last is kept."""
    if _loaded.get(device, ("", None))[0] != model:
        _loaded.pop(device, None)
        _loaded[device] = (model, cugraphmodel.load(model_path(model), device=device))
    return _loaded[device][1]


def captured(model: cugraphmodel.LoadedModel, reference: Reference, step: Step) -> Any:
    """A graph for the shapes of a step."""
    return model.capture_graph(input_shapes=shapes_of(step), constant_inputs=reference.bound)


def shapes_of(step: Step) -> Shapes:
    return {name: value.shape for name, value in step.inputs.items()}


def assert_right(results: Sequence[Array], step: Step, reference: Reference) -> None:
    """Integers equal; floats within the model's own rounding noise, at worst and on average."""
    for (name, right), got in zip(step.outputs.items(), results, strict=True):
        assert got.dtype == right.dtype, name
        assert got.shape == right.shape, name
        if right.dtype.kind != "f":
            np.testing.assert_array_equal(got, right, err_msg=name)
            continue
        assert np.isfinite(right).all(), f"{name}: the reference itself is not finite"
        base = RELATIVE_TOLERANCE * np.abs(right).max(initial=0.0)
        base += reference.oracle_error.get(name, 0.0)
        bound = NOISE_FACTOR * reference.noise[name] + base
        mean_bound = NOISE_FACTOR * reference.mean_noise[name] + base
        gap = np.abs(got.astype(np.float64) - right.astype(np.float64))
        worst = gap.max(initial=0.0)
        where = np.unravel_index(int(gap.argmax()), gap.shape)
        assert worst <= bound, f"{name}: off by {worst:.3g} at {where}, allowed {bound:.3g}"
        assert gap.mean() <= mean_bound, f"{name}: off by {gap.mean():.3g} in the mean"


def groups(steps: Iterable[Step]) -> list[list[Step]]:
    """Steps of the same shapes together: they are calls of one graph."""
    found: list[list[Step]] = []
    for step in steps:
        if not found or shapes_of(found[-1][0]) != shapes_of(step):
            found.append([])
        found[-1].append(step)
    return found


ONE_SIDED = {("silero-vad", "16k"), ("silero-vad", "16kb4")}
"""An ``If`` chooses by an input, and one of its sides cannot take these shapes: ``forward``, which
fixes no input, refuses."""

ALL_CASES = [(model, case) for model, cases in CASES.items() for case in cases]


@pytest.fixture(scope="module", params=ALL_CASES, ids="-".join)
def model_case(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A model and a case; of module scope, so that pytest runs all tests of one in a row."""
    pair: tuple[str, str] = request.param
    return pair


def test_model_agrees_with_onnxruntime(model_case: tuple[str, str], device: str) -> None:
    """Replays follow their inputs, agree with the oracle, and repeat bit for bit."""
    reference = load_reference(*model_case)
    for steps in groups(reference.steps):
        with captured(loaded(model_case[0], device), reference, steps[0]) as graph:
            assert graph.input_names == tuple(steps[0].inputs)
            assert graph.output_names == tuple(steps[0].outputs)
            assert graph.output_labels == tuple(map(reference.labels.get, graph.output_names))
            results = [graph.run(step.inputs) for step in (*steps, steps[0])]
        for step, result in zip(steps, results, strict=False):
            assert_right(result, step, reference)
        assert [a.tobytes() for a in results[0]] == [b.tobytes() for b in results[-1]]
        if len(steps) > 1:
            assert not equal(results[0], results[1]), "different inputs gave the same outputs"


def equal(left: Iterable[Array], right: Iterable[Array]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


def test_forward_agrees_with_onnxruntime(model_case: tuple[str, str], device: str) -> None:
    """The same without fusion, folding into weights, or reuse of memory."""
    reference = load_reference(*model_case)
    first = reference.steps[0]
    forward = loaded(model_case[0], device).forward
    if model_case in ONE_SIDED:
        with pytest.raises(UnsupportedModelError, match="LSTM"):
            forward(first.inputs | reference.bound)
    else:
        assert_right(forward(first.inputs | reference.bound), first, reference)
