"""The ONNX node tests that are known to pass still do, and every other one has its reason."""

from __future__ import annotations

import pytest

from tests import onnx_nodes
from tests.onnx_nodes import Outcome

# One worker of xdist runs them all, in processes of its own.
ON_CPU = pytest.param("cpu", marks=pytest.mark.xdist_group("onnx_nodes"))
ON_GPU = pytest.param("cuda", marks=pytest.mark.gpu)

_outcomes: dict[str, dict[str, Outcome]] = {}


@pytest.fixture
def outcome(name: str, device: str, request: pytest.FixtureRequest) -> Outcome:
    """How a test went. The first that asks runs all that are selected, side by side."""
    if device not in _outcomes:
        selected = [
            str(item.callspec.params["name"])
            for item in request.session.items
            if isinstance(item, pytest.Function)
            and item.function is test_passes
            and item.callspec.params["device"] == device
        ]
        _outcomes[device] = onnx_nodes.run_all(selected, device)
    return _outcomes[device][name]


@pytest.mark.parametrize("device", [ON_CPU, ON_GPU])
@pytest.mark.parametrize("name", onnx_nodes.passing_names())
def test_passes(outcome: Outcome) -> None:
    assert outcome.error is None, outcome.error


def test_every_test_passes_or_has_its_reason() -> None:
    failing = onnx_nodes.failing_names()
    assert onnx_nodes.UNEXPLAINED not in failing
    listed = [*onnx_nodes.passing_names(), *(name for names in failing.values() for name in names)]
    assert sorted(listed) == sorted(onnx_nodes.suite())
