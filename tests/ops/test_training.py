"""Steps of training on random tensors and attributes, against the operators' formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cugraphmodel.executors.base import Device
from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.spec import Unsupported
from cugraphmodel.ops.training.optimizers_cases import OPTIMIZERS, optimizer_case
from tests.ops import harness

# The device outlives the examples, which share nothing else of the fixture's.
many_examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
shapes = st.lists(st.lists(st.integers(1, 40), max_size=2).map(tuple), min_size=1, max_size=3)
factors = st.floats(0.0625, 0.9375, width=16)


@st.composite
def attributes_of(draw: st.DrawFn, op_type: str) -> dict[str, Any]:
    names = {
        "Adagrad": ("decay_factor", "epsilon", "norm_coefficient"),
        "Adam": ("alpha", "beta", "epsilon", "norm_coefficient", "norm_coefficient_post"),
        "Momentum": ("alpha", "beta", "norm_coefficient"),
    }[op_type]
    drawn: dict[str, Any] = {name: draw(factors) for name in names}
    if op_type == "Momentum":
        drawn["mode"] = draw(st.sampled_from(["standard", "nesterov"]))
    return drawn


@many_examples
@given(
    data=st.data(),
    op_type=st.sampled_from(sorted(OPTIMIZERS)),
    shapes=shapes,
    updates=st.integers(0, 50),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_optimizers_follow_their_formulas(
    opened_device: Device,
    data: st.DataObject,
    op_type: str,
    shapes: list[tuple[int, ...]],
    updates: int,
    dtype: str,
) -> None:
    step, num_kinds = OPTIMIZERS[op_type]
    attributes = data.draw(attributes_of(op_type))
    case = optimizer_case("random", step, num_kinds, shapes, updates, dtype, dtype, **attributes)
    for got, right in zip(
        harness.run(case, opened_device), harness.expected_outputs(case), strict=True
    ):
        harness.assert_close(case, got, right)


X = np.zeros((2, 3), np.float32)
SCALARS = [np.array(0.1, np.float32), np.array(1)]
REJECTED = [
    (OpCase("shapes", "Adagrad", [*SCALARS, X, X, X[0]], opset=1), "are not alike"),
    (OpCase("number", "Adam", [*SCALARS, X, X, X], opset=1), "3 tensors are no multiple of 4"),
    (OpCase("rate", "Adagrad", [X, SCALARS[1], X, X, X], opset=1), "are not one number each"),
    (
        OpCase("mode", "Momentum", [*SCALARS, X, X, X], {"mode": "heavy"}, opset=1),
        "mode 'heavy' is neither",
    ),
]


@pytest.mark.parametrize(("case", "reason"), REJECTED, ids=lambda value: str(value))
def test_optimizers_that_cannot_run_say_why(case: OpCase, reason: str) -> None:
    placed = OpCase(
        case.name, case.op_type, case.inputs, case.attributes, 1, domain="ai.onnx.preview.training"
    )
    with pytest.raises(Unsupported) as caught:
        harness.graph_of(placed)
    assert reason in str(caught.value)
