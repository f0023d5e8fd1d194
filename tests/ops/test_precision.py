"""Errors of matrix products against float64, for each arithmetic and over the depth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cugraphmodel.executors.base import Device
from cugraphmodel.ops.case import OpCase
from tests.ops import harness

ROWS, COLUMNS = 48, 40


def _operands(depth: int, activations: str) -> tuple[npt.NDArray[np.float32], ...]:
    left, right = OpCase.random(1, ROWS, depth), OpCase.random(2, COLUMNS, depth)
    return (np.maximum(left, 0) if activations == "relu" else left), right


def _error(device: Device, depth: int, activations: str, arithmetic: str | None) -> float:
    """Of a whole product: ``norm(y - exact) / norm(exact)``."""
    left, right = _operands(depth, activations)
    attributes = {"transB": 1} | ({"arithmetic": arithmetic} if arithmetic else {})
    case = OpCase(
        "precision", "FusedMatMul", [left, right], attributes, opset=1, domain="cugraphmodel"
    )
    exact = left.astype(np.float64) @ right.astype(np.float64).T
    [y] = harness.run(case, device)
    return float(np.linalg.norm(y - exact) / np.linalg.norm(exact))


@pytest.mark.parametrize("activations", ["normal", "relu"])
@pytest.mark.parametrize("depth", [16, 64, 384, 1024, 4096])
def test_three_tf32_are_as_exact_as_multiply_adds(
    depth: int, activations: str, opened_device: Device
) -> None:
    fused = _error(opened_device, depth, activations, None)
    assert _error(opened_device, depth, activations, "tf32x3") < min(2 * fused, 2.5e-7)


@pytest.mark.parametrize("activations", ["normal", "relu"])
def test_tf32_has_ten_bits(activations: str, opened_device: Device) -> None:
    error = _error(opened_device, 384, activations, "tf32")
    assert 1e-5 < error < 4e-4
