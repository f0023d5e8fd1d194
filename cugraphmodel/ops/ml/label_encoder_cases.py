"""Cases of LabelEncoder."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraphmodel.ops.case import Array, OpCase

__all__ = ["CASES"]


def _case(
    name: str, x: Array, keys: Array, values: Array, default: Any, opset: int, **attributes: Any
) -> OpCase:
    def expected(x: Array) -> list[Array]:
        found = np.full(x.shape, default, values.dtype)
        for key, value in zip(keys, values, strict=True):
            found[np.isnan(x) if key != key else x == key] = value
        return [found]

    return OpCase(
        name, "LabelEncoder", [x], attributes, opset, expected=expected, domain="ai.onnx.ml"
    )


_INTS = np.array([[5, -3, 9], [2**40, 0, 5]])
_FLOATS = np.array([0.5, np.nan, -0.0, np.inf, 7], np.float32)
_KEYS = np.array([9, 5, 2**40])
_FLOAT_KEYS = np.array([np.inf, np.nan, 0.0], np.float32)

CASES = [
    _case("ints_to_floats", _INTS, _KEYS, np.array([1.5, 2, -3], np.float32), -0.0, 2,
          keys_int64s=_KEYS.tolist(), values_floats=[1.5, 2.0, -3.0]),
    _case("ints_to_ints", _INTS, _KEYS, np.array([1, 2, 3]), 77, 3,
          keys_int64s=_KEYS.tolist(), values_int64s=[1, 2, 3], default_int64=77),
    _case("floats_to_ints", _FLOATS, _FLOAT_KEYS, np.array([1, 2, 3]), -1, 2,
          keys_floats=_FLOAT_KEYS.tolist(), values_int64s=[1, 2, 3]),
    _case("tensors", _INTS.astype(np.float64), _KEYS.astype(np.float64),
          np.array([3, 4, 5], np.int16), 8, 4, keys_tensor=_KEYS.astype(np.float64),
          values_tensor=np.array([3, 4, 5], np.int16), default_tensor=np.array([8], np.int16)),
    _case("many", OpCase.random(1, 600, dtype="int64"), np.arange(-20, 20), np.arange(40) * 3, 5, 4,
          keys_int64s=list(range(-20, 20)), values_int64s=list(range(0, 120, 3)), default_int64=5),
]  # fmt: skip
