"""One table of element types: ONNX code, NumPy dtype, C++ type in the kernels.

ONNX codes are those of ``TensorProto.DataType`` (onnx.proto, "DataType").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["DTYPES", "DType", "c_type", "from_onnx", "plain_bools"]


@dataclass(frozen=True)
class DType:
    """One element type.

    Attributes:
        onnx_code: number in ``TensorProto.DataType``.
        numpy: NumPy dtype, native byte order.
        c_type: type name inside ``.cu`` files; ``half`` comes from ``device.cuh``.
    """

    onnx_code: int
    numpy: np.dtype
    c_type: str


DTYPES = tuple(
    DType(code, np.dtype(name), c_type)
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


def plain_bools(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array; if it is bool, with 1 for every byte but 0, as C++ has it.

    NumPy takes any byte for True, so ``mask.view(bool)`` of a mask of 0 and 255 is a bool array.
    """
    return array.view(np.uint8) != 0 if array.dtype == np.bool_ else array
