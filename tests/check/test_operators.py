"""Every case of every operator has no finding, through the plan that a GPU gets."""

from __future__ import annotations

import numpy as np
import pytest

from cugraphmodel.executors import open_device
from cugraphmodel.executors.host.device import HostExecutable
from cugraphmodel.ops.case import OpCase
from tests.ops import harness
from tests.ops.test_cases import CASES


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=str(case), marks=[pytest.mark.slow] if case.slow else [])
        for case in CASES
    ],
)
def test_case_has_no_finding(case: OpCase) -> None:
    with harness.prepared(case, open_device("cpu:check")) as executable:
        assert isinstance(executable, HostExecutable)
        harness.write_inputs(case, executable, case.inputs)
        assert executable.findings() == []
        with np.errstate(all="ignore"):
            expected = harness.expected_outputs(case)
        for got, right in zip(harness.replay(executable), expected, strict=True):
            harness.assert_close(case, got, right)
