"""Cases of the operators that prepare features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cugraphmodel.ops.case import Array, OpCase

__all__ = ["CASES"]

DTYPES = ("float32", "float64", "int64", "int32")
_X = OpCase.random(1, 5, 3) * 4


def _case(
    name: str, op_type: str, inputs: list[Array], expected: Callable[..., Any], opset: int = 1,
    **attributes: Any,
) -> OpCase:  # fmt: skip
    return OpCase(
        name, op_type, inputs, attributes, opset, domain="ai.onnx.ml",
        expected=lambda *given: [expected(*given)],
    )  # fmt: skip


def _norm(norm: str, x: Array) -> Array:
    wide = x.astype(np.float64)
    size = {
        "MAX": lambda: wide.max(-1, keepdims=True),
        "L1": lambda: np.abs(wide).sum(-1, keepdims=True),
        "L2": lambda: np.sqrt((wide * wide).sum(-1, keepdims=True)),
    }[norm]()
    return wide / np.where(size == 0, 1, size)


def _normalized(norm: str, name: str, x: Array) -> OpCase:
    return _case(f"{norm}_{name}", "Normalizer", [x], lambda x: _norm(norm, x), norm=norm)


_ZERO_ROW = np.array([[1, -5, 2], [0, 0, 0], [-1, -2, -4]], np.float32)
_HOLES = np.array([[1, np.nan, 3], [np.nan, 0, -0.0]], np.float32)

CASES = [
    *(
        _case(dtype, "Binarizer", [_X.astype(dtype)], lambda x: x > 0.5, threshold=0.5)
        for dtype in DTYPES
    ),
    _case("default", "Binarizer", [_ZERO_ROW], lambda x: x > 0),
    *(
        _case(
            dtype, "Scaler", [_X.astype(dtype)],
            lambda x: (x - np.array([1, -2, 0.5])) * [2, 0.25, -3],
            offset=[1.0, -2.0, 0.5], scale=[2.0, 0.25, -3.0],
        )
        for dtype in DTYPES
    ),
    _case("one", "Scaler", [OpCase.random(2, 2, 3, 4)], lambda x: (x - 3.0) * 0.5, offset=[3.0],
          scale=[0.5]),
    _case("nan", "Imputer", [_HOLES], lambda x: np.where(np.isnan(x), [7, 8, 9], x),
          imputed_value_floats=[7.0, 8.0, 9.0], replaced_value_float=float("nan")),
    _case("zero_float64", "Imputer", [_HOLES.astype(np.float64)], lambda x: np.where(x == 0, 5, x),
          imputed_value_floats=[5.0], replaced_value_float=0.0),
    _case("int64", "Imputer", [np.array([[1, -1], [-1, 2**40]])],
          lambda x: np.where(x == -1, [3, 4], x), imputed_value_int64s=[3, 4],
          replaced_value_int64=-1),
    _case("int32", "Imputer", [np.array([2, 3, 2], np.int32)], lambda x: np.where(x == 2, 9, x),
          imputed_value_int64s=[9], replaced_value_int64=2),
    *(_normalized(norm, "float32", _ZERO_ROW) for norm in ("MAX", "L1", "L2")),
    *(_normalized(norm, "vector", OpCase.random(3, 70)) for norm in ("MAX", "L1", "L2")),
    *(_normalized("L2", dtype, (_X * 3).astype(dtype)) for dtype in DTYPES[1:]),
    *(
        _case(dtype, "OneHotEncoder", [np.array([[1, 5], [2, 9]], dtype)],
              lambda x: x.astype(np.int64)[..., None] == [9, 1, 2], cats_int64s=[9, 1, 2])
        for dtype in DTYPES
    ),
    _case("vector", "OneHotEncoder", [np.array([3, 0])], lambda x: x[..., None] == [0, 3],
          cats_int64s=[0, 3], zeros=1),
    *(
        _case(dtype, "ArrayFeatureExtractor", [_X.astype(dtype), np.array([[2, 0, -1, 2]])],
              lambda x, places: x[:, places[0]])
        for dtype in DTYPES
    ),
    _case("vector", "ArrayFeatureExtractor", [OpCase.random(4, 6), np.array([5, 1])],
          lambda x, places: x[places][None]),
]  # fmt: skip
