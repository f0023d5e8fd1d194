"""Every case of every operator, on every device, in several thread orders and replays."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest

import cugraphmodel.ops
from cugraphmodel.executors.base import Device
from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.spec import find, registered
from tests.ops import harness


def _all_cases() -> list[OpCase]:
    cases: list[OpCase] = []
    for module in pkgutil.walk_packages(cugraphmodel.ops.__path__, "cugraphmodel.ops."):
        if module.name.endswith("_cases"):
            with np.errstate(all="ignore"):  # data with special values overflows narrow types
                cases += importlib.import_module(module.name).CASES
    return cases


CASES = _all_cases()


def _params() -> list[object]:
    return [
        pytest.param(case, id=str(case), marks=[pytest.mark.slow] if case.slow else [])
        for case in CASES
    ]


@pytest.mark.parametrize("case", _params())
def test_case_gives_the_right_outputs(
    case: OpCase, opened_device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = harness.expected_outputs(case)
    results = []
    for order in ("forward", "reverse") if opened_device.name == "cpu" else ("forward",):
        monkeypatch.setenv("CUGRAPHMODEL_HOST_ORDER", order)
        with harness.prepared(case, opened_device) as executable:
            for inputs in (case.inputs, harness.other_inputs(case), case.inputs):
                harness.write_inputs(case, executable, inputs)
                results.append(harness.replay(executable))
            del results[-2]
    for got, right in zip(results[0], expected, strict=True):
        harness.assert_close(case, got, right)
    for other in results[1:]:
        for got, first in zip(other, results[0], strict=True):
            np.testing.assert_array_equal(_bits(got), _bits(first))


def _bits(array: harness.Array) -> harness.Array:
    """The bytes of an array: NaN equals itself, and -0 differs from 0."""
    return np.frombuffer(array.tobytes(), np.uint8)


def test_case_names_are_unique() -> None:
    names = [str(case) for case in CASES]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize(
    "spec", registered(), ids=lambda spec: f"{spec.domain}.{spec.op_type}-{spec.since_version}"
)
def test_every_registered_operator_has_a_case(spec: object) -> None:
    tested = [find(case.domain, case.op_type, case.opset) for case in CASES]
    assert spec in tested
