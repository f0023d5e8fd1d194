"""Cases of Det and Inverse."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _det(x: Array) -> list[Array]:
    return [np.asarray(np.linalg.det(x.astype(np.float64)))]


def _case(name: str, x: Array, opset: int = 17) -> OpCase:
    return OpCase(
        name, "Det", [x], {}, opset, expected=_det, rtol=1e-11 if x.dtype == np.float64 else None
    )


def _inverse(name: str, x: Array, rtol: float | None = None, atol: float | None = None) -> OpCase:
    return OpCase(
        name,
        "Inverse",
        [x],
        opset=1,
        domain="com.microsoft",
        expected=lambda x: [np.linalg.inv(x.astype(np.float64))],
        rtol=rtol,
        atol=atol,
    )


def _matrices(seed: int, *shape: int, dtype: str = "float32") -> Array:
    """Far from singular."""
    noise = OpCase.random(seed, *shape) + np.float32(2 * np.sqrt(shape[-1])) * np.eye(shape[-1])
    return np.asarray(noise[..., ::-1].astype(dtype))  # the pivots are not on the diagonal


_SINGULAR = np.array([[1, 2, 3], [2, 4, 6], [1, 0, 1]], np.float32)
_SWAPPED = np.array([[0, 2, 1], [3, 0, 1], [0, 0, 4]], np.float32)

CASES = [
    _case("matrix", OpCase.random(1, 3, 3), 11),
    _case("stack", OpCase.random(2, 2, 3, 5, 5)),
    _case("one", OpCase.random(3, 4, 1, 1)),
    _case("none", np.zeros((2, 0, 0), np.float32)),
    _case("singular", _SINGULAR),
    _case("zero_pivot", _SWAPPED),
    _case("nan", np.stack([_SWAPPED, _SWAPPED * np.float32(np.nan)])),
    _case("overflows_on_the_way", np.diag(np.array([1e30, 1e30, 1e-30, 1e-30], np.float32))),
    _case("many_rows", OpCase.random(4, 2, 33, 33)),
    _case("in_scratch", OpCase.random(5, 2, 81, 81, dtype="float64") / 4),
    _case("bfloat16", OpCase.random(6, 3, 4, 4, dtype="bfloat16"), 22),
    _case("float16", OpCase.random(6, 3, 4, 4, dtype="float16")),
    _inverse("matrix", _matrices(1, 3, 3)),
    _inverse("stack", _matrices(2, 2, 3, 5, 5)),
    _inverse("one", _matrices(3, 4, 1, 1)),
    _inverse("swapped", _SWAPPED),
    _inverse("many_rows", _matrices(4, 2, 33, 33)),
    _inverse("in_scratch", _matrices(5, 2, 57, 57, dtype="float64"), rtol=1e-10, atol=1e-13),
    _inverse("float16", _matrices(6, 3, 4, 4, dtype="float16"), rtol=1e-3, atol=1e-3),
]
