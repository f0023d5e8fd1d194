"""QuantizeLinear and DequantizeLinear.

With one scale for all and integers of C++ they are elementwise operators; else they have kernels of
their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import BFLOAT16, c_type, from_onnx
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, normalize_axis, optional, required
from cugraphmodel.ops.elementwise.elementwise import Operand, elementwise_launch, operand
from cugraphmodel.ops.launch import Launch, ceil_div, index_type
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__ = ["REAL", "check_zero_point"]

THREADS = 128
VECTOR = 4
INT32, FLOAT32, FLOAT64 = map(np.dtype, ("int32", "float32", "float64"))
REAL = (np.dtype("float16"), FLOAT32, BFLOAT16)
POWER_OF_TWO = np.dtype(ml_dtypes.float8_e8m0fnu)
INTEGERS = tuple(map(np.dtype, ("int8", "uint8", "int16", "uint16")))
QUANTIZED = (
    *INTEGERS,
    *map(np.dtype, (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2)),
    *map(np.dtype, (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz)),
    *map(np.dtype, (ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz)),
    *map(np.dtype, (ml_dtypes.float4_e2m1fn, ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn)),
)


@dataclass(frozen=True)
class _Scales:
    """Where the scale of each element lies: ``struct Scales`` of ``scales.cuh``."""

    axis_size: int = 1
    inner_size: int = 1
    block_size: int = 1
    outer_stride: int = 0
    block_stride: int = 0
    inner_stride: int = 0

    @staticmethod
    def of(node: Node, x: Value, scale: Value) -> _Scales:
        """One scale, one for each position of an axis, or one for each block along an axis."""
        if scale.size == 1 and len(scale.shape) <= 1:
            return _Scales(inner_size=max(x.size, 1))
        block_size = int(node.attributes.get("block_size", 0))
        # A tensor of one axis has no other one to choose: opset 21, "axis".
        given = int(node.attributes.get("axis", 1)) if len(x.shape) > 1 else 0
        axis = normalize_axis(given, len(x.shape))
        size, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
        if not block_size:
            if scale.shape != (size,):
                raise Unsupported(
                    f"Scales of shape {scale.shape} fit neither a whole tensor of shape {x.shape} "
                    f"nor its axis {axis}."
                )
            return _Scales(size, inner, block_stride=1)
        if block_size < 0:
            raise Unsupported(f"block_size={block_size} is negative.")
        blocks = ceil_div(size, block_size)
        if scale.shape != (*x.shape[:axis], blocks, *x.shape[axis + 1 :]):
            raise Unsupported(
                f"Scales of shape {scale.shape} do not fit blocks of {block_size} along axis "
                f"{axis} of {x.shape}."
            )
        return _Scales(size, inner, block_size, blocks * inner, inner, 1)

    def struct(self) -> npt.NDArray[np.int64]:
        """The struct's bytes."""
        return np.array(
            [
                *(max(self.axis_size, 1), max(self.inner_size, 1), self.block_size),
                *(self.outer_stride, self.block_stride, self.inner_stride),
            ],
            np.int64,
        )


def check_zero_point(scale: Value, zero_point: Value | None, dtype: np.dtype) -> None:
    """Reject a zero point whose dtype or shape is wrong; one number may be a scalar or [1]."""
    if zero_point is None:
        return
    check_dtype(zero_point, (dtype,))
    if zero_point.shape != scale.shape and not zero_point.size == scale.size == 1:
        raise Unsupported(
            f"A zero point of shape {zero_point.shape} does not fit scales of {scale.shape}."
        )


def _dtype_attribute(node: Node, name: str) -> np.dtype | None:
    """The element type that an attribute names, None if it is left out or 0."""
    code = int(node.attributes.get(name, 0))
    if not code:
        return None
    dtype = from_onnx(code)
    if dtype is None:
        raise Unsupported(f"{name}={code} is an element type without kernels.")
    return dtype


def _infer_quantize(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """Of x's shape, in the zero point's type, else in ``output_dtype``, else uint8."""
    x, scale, zero_point = required(inputs), required(inputs, 1), optional(inputs, 2)
    check_dtype(x, (*REAL, INT32))
    check_dtype(scale, (*REAL, INT32, POWER_OF_TWO))
    dtype = _dtype_attribute(node, "output_dtype")
    if dtype is None:
        dtype = np.dtype(np.uint8) if zero_point is None else zero_point.dtype
    if dtype not in QUANTIZED:
        raise Unsupported(f"Quantising to {dtype.name} has no kernel.")
    check_zero_point(scale, zero_point, dtype)
    _division_dtype(node, x, scale)
    _Scales.of(node, x, scale)
    return [TensorType(dtype, x.shape)]


def _division_dtype(node: Node, x: Value, scale: Value) -> np.dtype:
    """The type in which ``x / scale`` is rounded.

    From opset 23 on it is that of the scale, if no attribute says otherwise. Before, the operator's
    text names none for an integer; the quotient is then as exact as can be. A power of two divides
    exactly.
    """
    precision = _dtype_attribute(node, "precision")
    if precision is not None:
        if precision not in (*REAL, FLOAT64):
            raise Unsupported(f"A division in {precision.name} has no kernel.")
        return precision
    if scale.dtype == POWER_OF_TWO:
        return FLOAT32
    exact = INT32 in (x.dtype, scale.dtype) if node.version < 23 else scale.dtype == INT32
    return FLOAT64 if exact else scale.dtype


def _infer_dequantize(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """Of x's shape, in ``output_dtype``, else in the scale's type."""
    x, scale, zero_point = required(inputs), required(inputs, 1), optional(inputs, 2)
    check_dtype(x, (*QUANTIZED, INT32))
    check_dtype(scale, (*REAL, POWER_OF_TWO))
    check_zero_point(scale, zero_point, x.dtype)
    _Scales.of(node, x, scale)
    dtype = _dtype_attribute(node, "output_dtype") or scale.dtype
    if dtype not in REAL:
        raise Unsupported(f"Dequantising to {dtype.name} has no kernel; set output_dtype.")
    return [TensorType(dtype, x.shape)]


def _is_elementwise(scale: Value, quantized: np.dtype) -> bool:
    return scale.size == 1 and len(scale.shape) <= 1 and quantized in (*INTEGERS, INT32)


def _elementwise(expression: str, inputs: Sequence[Value | None], y: Value) -> list[Launch]:
    x, *numbers = filter(None, inputs)
    operands = [operand(x), *(Operand(number, number.dtype, ()) for number in numbers)]
    return [elementwise_launch(expression, operands, operand(y))]


def _lower_quantize(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    x, scale, y = required(inputs), required(inputs, 1), required(outputs)
    if _is_elementwise(scale, y.dtype):
        rounded = f"rounded<{c_type(_division_dtype(node, x, scale))}>"
        zero = f"({c_type(y.dtype)})0" if optional(inputs, 2) is None else "x2"
        quotient = f"{rounded}({rounded}(x0) / {rounded}(x1))"
        return _elementwise(f"cg_quantize({quotient}, {zero})", inputs, y)
    macros = (
        ("SCALAR", c_type(x.dtype)),
        ("QUANTIZED", c_type(y.dtype)),
        ("DIVISION", c_type(_division_dtype(node, x, scale))),
        ("SATURATE", str(int(bool(node.attributes.get("saturate", 1))))),
    )
    return [_launch("quantize_linear", node, inputs, y, macros)]


def _lower_dequantize(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    x, scale, y = required(inputs), required(inputs, 1), required(outputs)
    if _is_elementwise(scale, x.dtype):
        wide = "(int)" if x.dtype in INTEGERS else "(long long)"
        zero = "" if optional(inputs, 2) is None else f" - {wide}x2"
        return _elementwise(f"float({wide}x0{zero}) * cg_cast<float>(x1)", inputs, y)
    macros = (("SCALAR", c_type(y.dtype)), ("QUANTIZED", c_type(x.dtype)))
    return [_launch("dequantize_linear", node, inputs, y, macros)]


def _launch(
    entry: str,
    node: Node,
    inputs: Sequence[Value | None],
    y: Value,
    macros: tuple[tuple[str, str], ...],
) -> Launch:
    x, scale = required(inputs), required(inputs, 1)
    scales = _Scales.of(node, x, scale)
    return Launch(
        f"ops/quantize/{entry}.cu",
        entry,
        (ceil_div(x.size, THREADS * VECTOR), 1, 1),
        (THREADS, 1, 1),
        (x, scale, optional(inputs, 2), y, np.int64(x.size), scales.struct()),
        (
            *macros,
            ("SCALE", c_type(scale.dtype)),
            ("BLOCKED", str(int(scales.block_size > 1))),
            ("INDEX", index_type(x.size + THREADS * VECTOR)),
        ),
    )


register(
    *(
        spec
        for domain, since_version in (("", 10), ("com.microsoft", 1))
        for spec in (
            OpSpec(
                "QuantizeLinear", since_version, _infer_quantize, _lower_quantize, domain=domain
            ),
            OpSpec(
                "DequantizeLinear",
                since_version,
                _infer_dequantize,
                _lower_dequantize,
                domain=domain,
            ),
        )
    )
)
