"""One table of element types: ONNX code, NumPy dtype, C++ type in the kernels.

ONNX codes are those of ``TensorProto.DataType`` (onnx.proto, "DataType").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

__all__ = [
    "BFLOAT16",
    "DTYPES",
    "DType",
    "c_type",
    "from_onnx",
    "kind_of",
    "plain_bools",
    "written_dtype",
]


BFLOAT16_CODE = 16


@dataclass(frozen=True)
class DType:
    """One element type.

    Attributes:
        onnx_code: number in ``TensorProto.DataType``.
        numpy: NumPy dtype, native byte order; of ``ml_dtypes`` where NumPy has none.
        c_type: type name inside ``.cu`` files; ``half`` and ``bfloat16`` come from ``device.cuh``,
            those of 8 bits and less that C++ lacks from ``narrow.cuh``.
        kind: what NumPy's ``dtype.kind`` would be if it knew the type: ``f``, ``i``, ``u``, ``b``.
    """

    onnx_code: int
    numpy: np.dtype
    c_type: str
    kind: str

    @property
    def is_storage(self) -> bool:
        """Whether it is only kept, moved and converted: the narrow types that C++ lacks."""
        return self.onnx_code > BFLOAT16_CODE


BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

DTYPES = (
    *(
        DType(code, np.dtype(name), c_type, np.dtype(name).kind)
        for code, name, c_type in (
            (1, "float32", "float"),
            (2, "uint8", "unsigned char"),
            (3, "int8", "signed char"),
            (4, "uint16", "unsigned short"),
            (5, "int16", "short"),
            (6, "int32", "int"),
            (7, "int64", "long long"),
            (9, "bool", "bool"),
            (10, "float16", "half"),
            (11, "float64", "double"),
            (12, "uint32", "unsigned int"),
            (13, "uint64", "unsigned long long"),
        )
    ),
    DType(BFLOAT16_CODE, BFLOAT16, "bfloat16", "f"),
    DType(17, np.dtype(ml_dtypes.float8_e4m3fn), "float8_e4m3fn", "f"),
    DType(18, np.dtype(ml_dtypes.float8_e4m3fnuz), "float8_e4m3fnuz", "f"),
    DType(19, np.dtype(ml_dtypes.float8_e5m2), "float8_e5m2", "f"),
    DType(20, np.dtype(ml_dtypes.float8_e5m2fnuz), "float8_e5m2fnuz", "f"),
    DType(21, np.dtype(ml_dtypes.uint4), "uint4_t", "u"),
    DType(22, np.dtype(ml_dtypes.int4), "int4_t", "i"),
    DType(23, np.dtype(ml_dtypes.float4_e2m1fn), "float4_e2m1fn", "f"),
    DType(24, np.dtype(ml_dtypes.float8_e8m0fnu), "float8_e8m0fnu", "f"),
    DType(25, np.dtype(ml_dtypes.uint2), "uint2_t", "u"),
    DType(26, np.dtype(ml_dtypes.int2), "int2_t", "i"),
    DType(27, np.dtype(ml_dtypes.float6_e2m3fn), "float6_e2m3fn", "f"),
    DType(28, np.dtype(ml_dtypes.float6_e3m2fn), "float6_e3m2fn", "f"),
)
_BY_CODE = {entry.onnx_code: entry for entry in DTYPES}
_BY_NUMPY = {entry.numpy: entry for entry in DTYPES}


def from_onnx(code: int) -> np.dtype | None:
    """NumPy dtype of an ONNX element type, or None for one that has no kernels (yet)."""
    entry = _BY_CODE.get(code)
    return None if entry is None else entry.numpy


def c_type(dtype: np.dtype) -> str:
    """Name of a dtype inside ``.cu`` files.

    Raises:
        KeyError: the dtype is not in the table.
    """
    return _BY_NUMPY[np.dtype(dtype)].c_type


def kind_of(dtype: np.dtype) -> str:
    """``f``, ``i``, ``u`` or ``b``; NumPy's own ``kind`` calls all types of ``ml_dtypes`` ``V``."""
    entry = _BY_NUMPY.get(dtype)
    return dtype.kind if entry is None else entry.kind


def written_dtype(dtype: np.dtype) -> str:
    """How a program names a dtype: ``np.float32``, ``ml_dtypes.bfloat16``."""
    if dtype.type.__module__ == "ml_dtypes":
        return f"ml_dtypes.{dtype.name}"
    return f"np.{dtype.name}" if dtype != np.bool_ else "np.bool_"


def plain_bools(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array; if it is bool, with 1 for every byte but 0, as C++ has it.

    NumPy takes any byte for True, so ``mask.view(bool)`` of a mask of 0 and 255 is a bool array.
    """
    return array.view(np.uint8) != 0 if array.dtype == np.bool_ else array
