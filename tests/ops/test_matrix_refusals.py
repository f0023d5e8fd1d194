"""Matrix products, convolutions and pools say why a node cannot run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.spec import Unsupported
from tests.ops import harness


def _zeros(*shapes: tuple[int, ...] | None, dtype: str = "float32") -> list[Any]:
    return [None if shape is None else np.zeros(shape, dtype) for shape in shapes]


IMAGE, WEIGHTS = (1, 4, 5, 5), (6, 4, 3, 3)


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "reason"),
    [
        ("MatMul", _zeros((2, 3), (2, 3)), {}, "do not fit a matrix product"),
        ("MatMul", _zeros((2, 3), ()), {}, "takes no scalars"),
        (
            "MatMul",
            _zeros((2, 4, 3), (3, 3, 5)),
            {},
            r"batch axes \[2\] and \[3\] do not broadcast",
        ),
        ("MatMul", _zeros((2, 3), (3, 2), dtype="int8"), {}, "is int8; the kernels take float16"),
        (
            "MatMul",
            [*_zeros((2, 3)), np.zeros((3, 2))],
            {},
            "is float64; the kernels take float32",
        ),
        ("Gemm", _zeros((2, 3, 1), (1, 3)), {}, "takes matrices"),
        ("Gemm", _zeros((2, 3), (2, 3)), {"transA": 1, "transB": 1}, "transA=1, transB=1"),
        ("Gemm", _zeros((2, 3), (3, 4), (3,)), {}, r"C of shape \(3,\) does not broadcast"),
        ("Gemm", _zeros((2, 3), (3, 4), (1, 2, 4)), {}, "does not broadcast"),
        ("Gemm", _zeros((2, 3), (3, 4), dtype="int32"), {"alpha": 0.5}, "no meaning for int32"),
        ("Conv", _zeros(IMAGE, WEIGHTS[:3]), {}, "do not fit"),
        ("Conv", _zeros(IMAGE, (6, 3, 3, 3)), {}, "group=1 do not fit 4 channels"),
        ("Conv", _zeros(IMAGE, (5, 2, 3, 3)), {"group": 2}, "group=2 do not fit"),
        ("Conv", _zeros(IMAGE, WEIGHTS, (5,)), {}, "A bias of shape"),
        ("Conv", _zeros(IMAGE, WEIGHTS), {"kernel_shape": [2, 2]}, r"kernel_shape=\[2, 2\]"),
        ("Conv", _zeros(IMAGE, WEIGHTS, dtype="int32"), {}, "is int32; the kernels take float16"),
        ("Conv", [*_zeros(IMAGE), np.zeros(WEIGHTS)], {}, "is float64; the kernels take float32"),
        ("ConvTranspose", _zeros(IMAGE, (5, 4, 3, 3)), {}, "do not fit 4 channels"),
        ("ConvTranspose", _zeros(IMAGE, (4, 5, 3, 3)), {"pads": [9] * 4}, "padding is larger"),
        ("ConvTranspose", _zeros(IMAGE, (4, 5, 3, 3), (4,)), {}, "does not fit 5 filters"),
        ("MaxPool", _zeros(IMAGE), {}, "kernel_shape is left out"),
        ("MaxPool", _zeros(IMAGE, dtype="int32"), {"kernel_shape": [1, 1]}, "is int32"),
        ("AveragePool", _zeros(IMAGE), {"kernel_shape": [6, 1]}, "A window of 6 does not fit"),
        ("GlobalMaxPool", _zeros((3,)), {}, "has no channels"),
        ("GlobalAveragePool", _zeros((1, 3, 0)), {}, "no positions"),
        ("GlobalAveragePool", _zeros(IMAGE, dtype="uint8"), {}, "is uint8"),
    ],
)
def test_refuses(op_type: str, inputs: list[Any], attributes: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        harness.graph_of(OpCase("refused", op_type, inputs, attributes))


@pytest.mark.parametrize(
    ("op_type", "inputs"),
    [
        ("FusedConv", _zeros(IMAGE, WEIGHTS, None, (1, 6, 3, 1))),
        ("FusedMatMul", _zeros((2, 3), (3, 4), (4,), (1, 4))),
        ("FusedGemm", [*_zeros((2, 3), (3, 4), None), np.zeros((2, 4))]),
    ],
)
def test_refuses_a_residual_that_is_not_as_the_result(op_type: str, inputs: list[Any]) -> None:
    case = OpCase("refused", op_type, inputs, opset=1, domain="cugraphmodel")
    with pytest.raises(Unsupported, match="does not fit a result"):
        harness.graph_of(case)
