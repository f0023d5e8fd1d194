"""Cases of BitCast."""

from __future__ import annotations

import functools

import numpy as np

from cugraphmodel.dtypes import DTYPES
from cugraphmodel.ops.case import Array, OpCase

__all__ = ["CASES"]


def _expected(dtype: str, data: Array) -> list[Array]:
    return [data.view(np.uint8) != 0 if dtype == "bool" else data.view(dtype)]


def _case(data: Array, dtype: str) -> OpCase:
    attributes = {"to": next(t.onnx_code for t in DTYPES if t.numpy == dtype)}
    expected = functools.partial(_expected, dtype)
    name = f"{data.dtype}_to_{dtype}"
    return OpCase(name, "BitCast", [data], attributes, 26, expected=expected)


_FLOATS = np.array([[1.0, -0.0, np.inf], [-np.inf, 1e-40, 3.5]], np.float32)
_WORDS = np.array([0, 1, -1, 0x7FC00001, -(2**31)], np.int32)

CASES = [
    _case(_FLOATS, "int32"),
    _case(_FLOATS, "uint32"),
    _case(_FLOATS, "float32"),
    _case(_WORDS, "float32"),
    _case(OpCase.random(1, 3, 5, dtype="float64"), "int64"),
    _case(OpCase.random(2, 7, dtype="int64"), "float64"),
    _case(np.arange(-4, 5, dtype=np.int16), "float16"),
    _case(OpCase.random(3, 33, dtype="float16"), "uint16"),
    _case(np.array([-128, -1, 0, 127], np.int8), "uint8"),
    _case(np.array([0, 1, 2, 128, 255], np.uint8), "bool"),
    _case(np.array([False, True, True]), "int8"),
]
