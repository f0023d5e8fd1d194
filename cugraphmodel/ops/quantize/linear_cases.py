"""Cases of QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import kind_of
from cugraphmodel.ops.case import OpCase

__all__ = ["CASES", "DEQUANTIZE", "dequantize", "dynamic_quantize", "quantize", "quantized"]

Array = npt.NDArray[Any]
HALVES = np.arange(-9, 10, dtype=np.float32) / 2
EXTREMES = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, -0.0, 1e-40, 65535, 1e9], np.float32)


LARGEST = {
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
    "float4_e2m1fn": 6.0,
    "float6_e2m3fn": 7.5,
    "float6_e3m2fn": 28.0,
}


def integer_limits(dtype: npt.DTypeLike) -> tuple[int, int]:
    """Lowest and highest number of an integer type, from its name."""
    name = np.dtype(dtype).name
    bits = int(name.lstrip("uint"))
    return (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def quantized(
    quotient: Array, zero_point: Array, dtype: npt.DTypeLike, *, saturate: bool = True
) -> Array:
    """``saturate(round(quotient) + zero_point)``; NaN becomes the lowest integer.

    Floating-point types have no integers to round to.
    """
    value = np.asarray(quotient, np.float64)
    if kind_of(np.dtype(dtype)) == "f":
        value = value + zero_point.astype(np.float64)
        limit = LARGEST[np.dtype(dtype).name] if saturate else np.inf
        return np.clip(value, -limit, limit).astype(np.float32).astype(dtype)
    lowest, highest = integer_limits(dtype)
    value = np.rint(value) + zero_point.astype(np.float64)
    clipped = np.clip(np.where(np.isnan(value), lowest, value), lowest, highest)
    return clipped.astype(np.int32).astype(dtype)


def _spread(values: Array, x: Array, axis: int, block_size: int) -> Array:
    """Scales or zero points, one for each element of x."""
    if values.size == 1:
        return np.broadcast_to(values.reshape(()), x.shape)
    if block_size:
        return np.take(values, np.arange(x.shape[axis]) // block_size, axis)
    shape = [1] * x.ndim
    shape[axis if x.ndim > 1 else 0] = values.size
    return np.broadcast_to(values.reshape(shape), x.shape)


def quantize(
    axis: int = 1,
    block_size: int = 0,
    dtype: npt.DTypeLike = "uint8",
    division: npt.DTypeLike | None = None,
    *,
    saturate: bool = True,
) -> Callable[..., Sequence[Array]]:
    """QuantizeLinear with these attributes, the quotient rounded to ``division``."""

    def expected(x: Array, scale: Array, zero_point: Array | None = None) -> Sequence[Array]:
        zero = np.zeros(1, dtype) if zero_point is None else zero_point
        precision = division or scale.dtype
        divisor = _spread(scale.astype(precision), x, axis, block_size)
        quotient = x.astype(precision) / divisor
        spread = _spread(zero, x, axis, block_size)
        return [quantized(quotient, spread, zero.dtype, saturate=saturate)]

    return expected


def dequantize(axis: int = 1, block_size: int = 0) -> Callable[..., Sequence[Array]]:
    """DequantizeLinear with these attributes, in float64."""

    def expected(x: Array, scale: Array, zero_point: Array | None = None) -> Sequence[Array]:
        zero = np.zeros(1, x.dtype) if zero_point is None else zero_point
        difference = x.astype(np.float64) - _spread(zero.astype(np.float64), x, axis, block_size)
        return [difference * _spread(scale.astype(np.float64), x, axis, block_size)]

    return expected


def dynamic_quantize(x: Array) -> tuple[Array, Array, Array]:
    """The quantised tensor, its scale and its zero point, by float32 arithmetic."""
    lowest = np.float32(np.min(x, initial=0))
    highest = np.float32(np.max(x, initial=0))
    scale = np.float32((highest - lowest) / np.float32(255) if highest != lowest else 1)
    zero_point = quantized(np.asarray(-lowest / scale), np.asarray(0), "uint8")
    return quantized(x / scale, zero_point, "uint8"), np.asarray(scale), zero_point


def _scales(seed: int, *shape: int, dtype: str = "float32") -> Array:
    return np.random.default_rng(seed).uniform(0.02, 0.05, shape).astype(dtype)


def _integers(seed: int, *shape: int, dtype: str = "uint8") -> Array:
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)


def _quantize_case(
    name: str, inputs: Sequence[Array], opset: int = 21, division: str | None = None, **more: Any
) -> OpCase:
    dtypes = {2: "uint8", 3: "int8", 5: "int16"}
    expected = quantize(
        more.get("axis", 1),
        more.get("block_size", 0),
        dtypes[more.get("output_dtype", 2)],
        division,
    )
    return OpCase(name, "QuantizeLinear", inputs, more, opset, expected=expected)


def _dequantize_case(name: str, inputs: Sequence[Array], opset: int = 21, **more: Any) -> OpCase:
    expected = dequantize(more.get("axis", 1), more.get("block_size", 0))
    return OpCase(name, "DequantizeLinear", inputs, more, opset, expected=expected)


def _codes(seed: int, dtype: npt.DTypeLike, *shape: int) -> Array:
    """Random numbers of a type of 8 bits or less."""
    random = np.random.default_rng(seed)
    if kind_of(np.dtype(dtype)) == "f":
        return (random.standard_normal(shape) * 8).astype(dtype)
    return random.integers(*integer_limits(dtype), shape, np.int32, endpoint=True).astype(dtype)


def _one(value: float, dtype: str = "float32") -> Array:
    return np.array(value, dtype)


QUANTIZE = [
    _quantize_case("ties_odd_zero_point", [HALVES, _one(1), _one(3, "int8")], 10),
    _quantize_case("ties_no_zero_point", [HALVES, _one(1)], 13),
    _quantize_case("extremes_uint8", [EXTREMES, _one(0.5), _one(128, "uint8")]),
    _quantize_case("extremes_int16", [EXTREMES, _one(0.5), _one(-5, "int16")]),
    _quantize_case("extremes_uint16", [EXTREMES, _one(1), _one(65535, "uint16")]),
    _quantize_case("rank_0", [_one(3.7), _one(0.5), _one(9, "uint8")]),
    _quantize_case("empty", [np.zeros((0, 3), np.float32), _one(0.5)]),
    _quantize_case("scale_of_shape_1", [OpCase.random(1, 5, 7), _scales(2, 1), _one(1, "uint8")]),
    _quantize_case(
        "axis_default",
        [OpCase.random(1, 3, 5, 7), _scales(2, 5), _integers(3, 5)],
        13,
    ),
    _quantize_case(
        "axis_first",
        [OpCase.random(1, 130, 9), _scales(2, 130), _integers(3, 130, dtype="int8")],
        axis=0,
    ),
    _quantize_case(
        "axis_last",
        [OpCase.random(1, 11, 67), _scales(2, 67), _integers(3, 67, dtype="uint16")],
        axis=-1,
    ),
    _quantize_case("one_axis", [OpCase.random(1, 9), _scales(2, 9)]),
    _quantize_case(
        "blocked",
        [OpCase.random(1, 3, 10, 6), _scales(2, 3, 4, 6), _integers(3, 3, 4, 6)],
        axis=1,
        block_size=3,
    ),
    _quantize_case(
        "blocked_last",
        [OpCase.random(1, 4, 64), _scales(2, 4, 2), _integers(3, 4, 2, dtype="int8")],
        axis=-1,
        block_size=32,
    ),
    _quantize_case(
        "blocks_of_one",
        [OpCase.random(1, 2, 3), _scales(2, 2, 3)],
        axis=0,
        block_size=1,
    ),
    _quantize_case("output_dtype", [OpCase.random(1, 8), _scales(2)], output_dtype=5),
    _quantize_case(
        "float16",
        [OpCase.random(1, 300, dtype="float16"), _scales(2, dtype="float16"), _one(7, "uint8")],
        19,
    ),
    _quantize_case(
        "float16_scale_divides_in_float16", [OpCase.random(1, 300), _scales(2, dtype="float16")], 23
    ),
    _quantize_case(
        "precision_float32",
        [OpCase.random(1, 300, dtype="float16"), _scales(2, dtype="float16")],
        23,
        "float32",
        precision=1,
    ),
    _quantize_case(
        "precision_float16",
        [OpCase.random(1, 300) * 40, _one(1), _one(1, "int16")],
        23,
        "float16",
        precision=10,
    ),
    _quantize_case(
        "int32",
        [np.array([2**24 + 1, -(2**24) - 3, 5, -5, 2**31 - 1], np.int32), _one(2**20)],
        10,
        "float64",
    ),
    _quantize_case(
        "int32_in_float32",
        [np.array([2**24 + 1, 2**24 + 3, 5, -5], np.int32), _one(2), _one(-9, "int16")],
        23,
    ),
    OpCase(
        "contrib",
        "QuantizeLinear",
        [OpCase.random(1, 40), _scales(2), _one(7, "uint16")],
        opset=1,
        domain="com.microsoft",
        expected=quantize(),
    ),
]

NARROW_INTEGERS = (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2)
FLOATS_8 = (
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
)
FINITE = np.concatenate([OpCase.random(1, 90) * np.float32(200), HALVES * 20])
WIDE = np.concatenate([EXTREMES, OpCase.random(1, 90) * np.float32(200), HALVES])

QUANTIZE += [
    _quantize_case(f"{np.dtype(dtype)}", [WIDE, _one(0.7), _codes(3, dtype)], 25)
    for dtype in NARROW_INTEGERS
]
QUANTIZE += [
    OpCase(
        f"{np.dtype(dtype)}_{'saturated' if saturate else 'unsaturated'}",
        "QuantizeLinear",
        [WIDE, _one(0.5), np.zeros((), dtype)],
        {"saturate": saturate},
        19,
        expected=quantize(saturate=bool(saturate)),
    )
    for dtype in FLOATS_8
    for saturate in (0, 1)
]
QUANTIZE += [
    _quantize_case(f"{np.dtype(dtype)}", [FINITE, _one(20), np.zeros((), dtype)], 28)
    for dtype in (ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn)
]
QUANTIZE += [
    _quantize_case(
        "float4_blocked",
        [OpCase.random(1, 3, 40), _scales(2, 3, 3), np.zeros((3, 3), ml_dtypes.float4_e2m1fn)],
        23,
        axis=1,
        block_size=16,
    ),
    _quantize_case(
        "bfloat16",
        [
            OpCase.random(1, 300).astype(ml_dtypes.bfloat16),
            _one(0.02).astype(ml_dtypes.bfloat16),
            _one(7, "int8"),
        ],
        19,
    ),
    _quantize_case(
        "power_of_two_scales",
        [OpCase.random(1, 4, 6), np.array([0.25, 0.125, 2, 1], ml_dtypes.float8_e8m0fnu)],
        25,
        "float32",
        axis=0,
    ),
]

DEQUANTIZE = [
    _dequantize_case("opset_10", [_integers(1, 21), _one(0.3), _one(7, "uint8")], 10),
    _dequantize_case("no_zero_point", [_integers(1, 21, dtype="int8"), _one(0.3)], 13),
    _dequantize_case("rank_0", [_one(7, "uint8"), _one(0.3), _one(9, "uint8")]),
    _dequantize_case("empty", [np.zeros((3, 0), np.uint8), _one(0.3)]),
    _dequantize_case("axis_default", [_integers(1, 3, 5, 7), _scales(2, 5), _integers(3, 5)], 13),
    _dequantize_case(
        "axis_first_weights",
        [_integers(1, 33, 3, 3, dtype="int8"), _scales(2, 33), _integers(3, 33, dtype="int8")],
        axis=0,
    ),
    _dequantize_case("axis_last", [_integers(1, 5, 67, dtype="int16"), _scales(2, 67)], axis=-1),
    _dequantize_case(
        "blocked",
        [_integers(1, 4, 10, dtype="uint16"), _scales(2, 4, 4), _integers(3, 4, 4, dtype="uint16")],
        axis=1,
        block_size=3,
    ),
    _dequantize_case(
        "blocked_first",
        [_integers(1, 8, 12), _scales(2, 2, 12), _integers(3, 2, 12)],
        axis=0,
        block_size=4,
    ),
    _dequantize_case("int32_bias", [_integers(1, 17, dtype="int32"), _scales(2, 17)], axis=0),
    _dequantize_case(
        "int32_beyond_the_zero_point",
        [np.array([2**31 - 1, -(2**31)], np.int32), _one(0.5), _one(-1, "int32")],
    ),
    _dequantize_case(
        "int32_beyond_the_zero_points",
        [
            np.array([[2**31 - 1, 5], [-(2**31), -5]], np.int32).T.copy(),
            np.array([0.5, 0.25], np.float32),
            np.array([-1, 1], np.int32),
        ],
        axis=1,
    ),
    _dequantize_case(
        "float16_scale",
        [_integers(1, 40, dtype="uint16"), _scales(2, dtype="float16"), _one(65535, "uint16")],
    ),
    _dequantize_case(
        "float32_to_float16",
        [_integers(1, 40, dtype="int8"), _scales(2)],
        23,
        output_dtype=10,
    ),
    OpCase(
        "contrib",
        "DequantizeLinear",
        [_integers(1, 40, dtype="uint16"), _scales(2), _one(7, "uint16")],
        opset=1,
        domain="com.microsoft",
        expected=dequantize(),
    ),
]

DEQUANTIZE += [
    _dequantize_case(
        f"{np.dtype(dtype)}",
        [_codes(1, dtype, 5, 19), _scales(2, 5), _codes(3, dtype, 5)],
        25,
        axis=0,
    )
    for dtype in NARROW_INTEGERS
]
DEQUANTIZE += [
    _dequantize_case(
        f"{np.dtype(dtype)}", [np.arange(256, dtype=np.uint8).view(dtype), _one(0.3)], 19
    )
    for dtype in FLOATS_8
]
DEQUANTIZE += [
    _dequantize_case(
        f"{np.dtype(dtype)}", [np.arange(64, dtype=np.uint8).view(dtype), _one(0.3)], 28
    )
    for dtype in (ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn)
]
DEQUANTIZE += [
    _dequantize_case(
        "microscaling",
        [
            _codes(1, ml_dtypes.float4_e2m1fn, 3, 64),
            np.array([[2**-9, 4], [1, 2**-127], [0.5, 2**60]], ml_dtypes.float8_e8m0fnu),
        ],
        25,
        axis=1,
        block_size=32,
        output_dtype=1,
    ),
    _dequantize_case(
        "bfloat16", [_integers(1, 60), _one(0.02).astype(ml_dtypes.bfloat16), _one(7, "uint8")], 19
    ),
]


def _dynamic_case(name: str, x: Array) -> OpCase:
    return OpCase(
        name, "DynamicQuantizeLinear", [x], num_outputs=3, expected=dynamic_quantize, rtol=0, atol=0
    )


DYNAMIC = [
    _dynamic_case("both_signs", OpCase.random(1, 7, 19)),
    _dynamic_case("all_positive", np.abs(OpCase.random(2, 5, 4)) + 1),
    _dynamic_case("all_negative", -np.abs(OpCase.random(3, 6)) - 1),
    _dynamic_case("zeros", np.zeros((2, 3), np.float32)),
    _dynamic_case("one", np.array(-0.75, np.float32)),
    _dynamic_case("empty", np.zeros((0, 3), np.float32)),
    _dynamic_case("ties", np.array([0, 255, 0.5, 1.5, 2.5, 254.5], np.float32)),
    _dynamic_case("two_launches", OpCase.random(4, 3, 5467)),
    _dynamic_case("more_blocks_than_threads", np.linspace(-1, 2, 257 * 4096, dtype=np.float32)),
]

CASES = [*QUANTIZE, *DEQUANTIZE, *DYNAMIC]
