"""Cases of BitCast."""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np

from cugraphmodel.dtypes import DTYPES
from cugraphmodel.ops.case import Array, OpCase

__all__ = ["CASES"]


def _expected(dtype: np.dtype, data: Array) -> list[Array]:
    return [data.view(np.uint8) != 0 if dtype == np.bool_ else data.view(dtype)]


def _case(data: Array, dtype: str) -> OpCase:
    wanted = next(t for t in DTYPES if t.numpy.name == dtype)
    attributes = {"to": wanted.onnx_code}
    expected = functools.partial(_expected, wanted.numpy)
    name = f"{data.dtype}_to_{dtype}"
    return OpCase(name, "BitCast", [data], attributes, 26, expected=expected)


def _narrow(source: str, target: str, values: range) -> OpCase:
    """By the value of the low bits, which are all that counts of a byte."""
    dtype = np.dtype(getattr(ml_dtypes, target))
    width = 2 if "2" in source else 4

    def expected(data: Array) -> list[Array]:
        codes = data.astype(np.int8) & (2**width - 1)
        if target.startswith("int"):
            codes = np.where(codes >= 2 ** (width - 1), codes - 2**width, codes)
        if target.startswith("float"):
            return [codes.astype(np.uint8).view(dtype)]
        return [codes.astype(dtype)]

    data = np.array(values).astype(getattr(ml_dtypes, source))
    attributes = {"to": next(t.onnx_code for t in DTYPES if t.numpy == dtype)}
    return OpCase(f"{source}_to_{target}", "BitCast", [data], attributes, 26, expected=expected)


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
    _case(np.arange(256).astype(np.uint8), "float8_e4m3fn"),
    _case(np.arange(256).astype(np.uint8).view(ml_dtypes.float8_e5m2), "int8"),
    _case(np.arange(0, 32000, 111).astype(np.int16), "bfloat16"),
    _narrow("uint4", "int4", range(16)),
    _narrow("int4", "uint4", range(-8, 8)),
    _narrow("int4", "float4_e2m1fn", range(-8, 8)),
    _narrow("uint2", "int2", range(4)),
]
