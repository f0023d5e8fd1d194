"""Every trap gives what is right, at the first replay and after others."""

from __future__ import annotations

import re

import numpy as np
import pytest

import cugraphmodel
from tests.cases import arithmetic, files, layers, movement, windows
from tests.cases.trap import TRAPS, Array, Trap

MODULES = (arithmetic, files, layers, movement, windows)
DEVICES = ["cpu", "cpu:check", pytest.param("cuda", marks=pytest.mark.gpu)]


def assert_right(results: list[Array], expected: list[Array]) -> None:
    for got, right in zip(results, expected, strict=True):
        assert got.dtype == right.dtype
        assert got.shape == right.shape
        if right.dtype.kind == "f":
            scale = np.abs(right[np.isfinite(right)]).max(initial=0.0)
            np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-6 * scale)
        else:
            np.testing.assert_array_equal(got, right)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_trap(trap: Trap, device: str) -> None:
    model, inputs, expected = trap.make()
    with cugraphmodel.load(model, device=device).capture_graph() as graph:
        first = graph.run(inputs)
        graph.run({name: array[::-1].copy() for name, array in inputs.items()})
        again = graph.run(inputs)
    assert_right(first, list(expected))
    assert [a.tobytes() for a in first] == [b.tobytes() for b in again]


def test_every_trap_says_what_it_is() -> None:
    assert len({trap.name for trap in TRAPS}) == len(TRAPS) == 39
    assert {trap.make.__module__ for trap in TRAPS} == {module.__name__ for module in MODULES}
    for trap in TRAPS:
        assert trap.make.__doc__
        assert trap.reports
        assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", report) for report in trap.reports)
