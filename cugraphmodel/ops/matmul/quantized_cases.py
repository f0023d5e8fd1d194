"""Cases of the products of quantised matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.quantize.linear_cases import dynamic_quantize, quantized

__all__ = ["CASES", "matmul_integer", "qlinear_matmul"]

Array = npt.NDArray[Any]
MICROSOFT = "com.microsoft"


def _bytes(seed: int, shape: Sequence[int], dtype: str) -> Array:
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)


def _scales(seed: int, *shape: int, dtype: str = "float32") -> Array:
    return np.random.default_rng(seed).uniform(0.01, 0.05, shape).astype(dtype)


def _rows(parameter: Array | None, left: Array) -> Array | int:
    """A parameter of the left operand, to broadcast over it."""
    if parameter is None:
        return 0
    wide = parameter.astype(np.int64 if parameter.dtype.kind in "iu" else np.float32)
    return wide[..., np.newaxis] if wide.ndim == 1 and left.ndim > 1 else wide


def _sum(left: Array, right: Array, left_zero: Array | None, right_zero: Array | None) -> Array:
    """The exact product of the numbers less their zero points."""
    right_part = 0 if right_zero is None else right_zero.astype(np.int64)
    return np.asarray(
        np.matmul(
            left.astype(np.int64) - _rows(left_zero, left), right.astype(np.int64) - right_part
        )
    )


def matmul_integer(
    left: Array, right: Array, left_zero: Array | None = None, right_zero: Array | None = None
) -> Sequence[Array]:
    """The exact product; it wraps like int32."""
    return [_sum(left, right, left_zero, right_zero)]


def _requantized(total: Array, factor: Array, scale: Array, zero_point: Array) -> Array:
    """In float32, as ONNX Runtime does it."""
    quotient = total.astype(np.float32) * (factor / scale.astype(np.float32))
    return quantized(quotient, zero_point, zero_point.dtype)


def qlinear_matmul(
    left: Array,
    left_scale: Array,
    left_zero: Array,
    right: Array,
    right_scale: Array,
    right_zero: Array,
    scale: Array,
    zero_point: Array,
) -> Sequence[Array]:
    """The product, quantised in float32 as ONNX Runtime does it."""
    total = _sum(left, right, left_zero, right_zero)
    factor = _rows(left_scale, left) * right_scale.astype(np.float32)
    return [_requantized(total, factor, scale, zero_point)]


def _to_float(
    left: Array,
    right: Array,
    left_scale: Array,
    right_scale: Array,
    left_zero: Array | None = None,
    right_zero: Array | None = None,
    bias: Array | None = None,
) -> Sequence[Array]:
    total = _sum(left, right, left_zero, right_zero).astype(np.float64)
    scaled = total * _rows(left_scale, left) * right_scale.astype(np.float64)
    return [scaled if bias is None else scaled + bias]


def _dynamic(
    left: Array,
    right: Array,
    right_scale: Array,
    right_zero: Array | None = None,
    bias: Array | None = None,
) -> Sequence[Array]:
    small, scale, zero_point = dynamic_quantize(left)
    return _to_float(small, right, scale, right_scale, zero_point, right_zero, bias)


def _qgemm(
    alpha: float = 1.0, *, left_turned: bool = False, right_turned: bool = False
) -> Callable[..., Sequence[Array]]:
    def expected(
        left: Array,
        left_scale: Array,
        left_zero: Array,
        right: Array,
        right_scale: Array,
        right_zero: Array,
        bias: Array | None = None,
        scale: Array | None = None,
        zero_point: Array | None = None,
    ) -> Sequence[Array]:
        a = left.astype(np.int64) - left_zero
        b = right.astype(np.int64) - (
            right_zero[:, np.newaxis] if right_turned and right_zero.ndim else right_zero
        )
        total = (a.T if left_turned else a) @ (b.T if right_turned else b) + (
            0 if bias is None else bias
        )
        factor = np.float32(alpha) * left_scale * right_scale
        if scale is None or zero_point is None:
            return [total.astype(np.float64) * factor]
        return [_requantized(total, factor, scale, zero_point)]

    return expected


def _integer_case(
    name: str,
    left: Sequence[int],
    right: Sequence[int],
    dtypes: tuple[str, str] = ("uint8", "int8"),
    zeros: tuple[Sequence[int] | None, Sequence[int] | None] = (None, None),
) -> OpCase:
    inputs: list[Array | None] = [_bytes(1, left, dtypes[0]), _bytes(2, right, dtypes[1])]
    for seed, (shape, dtype) in enumerate(zip(zeros, dtypes, strict=True)):
        inputs.append(None if shape is None else _bytes(seed + 3, shape, dtype))
    return OpCase(name, "MatMulInteger", inputs, opset=10, expected=matmul_integer)


INTEGER = [
    _integer_case("one_element", (1, 1), (1, 1)),
    _integer_case("signed", (5, 8), (8, 4), ("int8", "int8")),
    _integer_case("unsigned_zeros", (37, 40), (40, 36), ("uint8", "uint8"), ((), ())),
    _integer_case("mixed_zeros", (33, 21), (21, 30), ("int8", "uint8"), ((1,), ())),
    _integer_case("left_zero", (6, 7), (7, 9), ("int8", "int8"), ((), None)),
    _integer_case("right_zero", (6, 7), (7, 9), ("int8", "int8"), (None, ())),
    _integer_case("rows_and_columns", (20, 33), (33, 31), zeros=((20,), (31,))),
    _integer_case("column_zeros", (18, 64), (64, 68), ("uint8", "int8"), ((), (68,))),
    _integer_case("batch_zeros", (2, 3, 5, 6), (2, 3, 6, 7), zeros=((2, 3, 5, 1), (2, 3, 1, 7))),
    _integer_case("merged_batch", (2, 9, 6), (6, 8), zeros=((9,), (8,))),
    _integer_case("broadcast_batch", (3, 1, 5, 4), (2, 4, 8), zeros=((), (2, 1, 8))),
    _integer_case("vectors", (9,), (9,), zeros=((), ())),
    _integer_case("vector_matrix", (70,), (70, 12), zeros=((), (12,))),
    _integer_case("matrix_vector", (12, 70), (70,), zeros=((12,), ())),
    _integer_case("one_row_deep", (1, 530), (530, 65), zeros=((), ())),
    _integer_case("four_rows", (4, 129), (129, 132), zeros=((4,), (132,))),
    _integer_case("one_row_wide", (1, 21), (21, 16900), zeros=((), (16900,))),
    _integer_case("three_rows_wide", (3, 12), (12, 16900), zeros=((3,), ())),
    _integer_case("tile_and_one", (65, 9), (9, 65), zeros=((), ())),
    _integer_case("large_tile", (520, 20), (20, 1100), zeros=((), ())),
    _integer_case("batch_of_depth_1", (2, 20, 1), (2, 1, 6), zeros=((2, 20, 1), (2, 1, 6))),
    _integer_case("no_depth", (3, 0), (0, 4), zeros=((), ())),
    _integer_case("no_depth_tiled", (20, 0), (0, 4), zeros=((20,), (4,))),
    _integer_case("no_depth_batch", (2, 3, 0), (2, 0, 4), zeros=((2, 3, 1), (2, 1, 4))),
    OpCase(
        "extremes",
        "MatMulInteger",
        [
            np.full((3, 300), 255, np.uint8),
            np.full((300, 5), -128, np.int8),
            np.array(0, np.uint8),
            np.array(127, np.int8),
        ],
        opset=10,
        expected=matmul_integer,
    ),
]


def _qlinear_case(
    name: str,
    left: Sequence[int],
    right: Sequence[int],
    dtypes: tuple[str, str, str] = ("uint8", "int8", "uint8"),
    shapes: tuple[Sequence[int], Sequence[int]] = ((), ()),
    scales: str = "float32",
    opset: int = 10,
) -> OpCase:
    depth = left[-1]
    output_scale = np.array(depth**0.5 * 6e4 / 2e4 * 0.03, scales)
    inputs = [
        _bytes(1, left, dtypes[0]),
        _scales(2, *shapes[0], dtype=scales),
        _bytes(3, shapes[0], dtypes[0]),
        _bytes(4, right, dtypes[1]),
        _scales(5, *shapes[1], dtype=scales),
        _bytes(6, shapes[1], dtypes[1]),
        output_scale,
        _bytes(7, (), dtypes[2]),
    ]
    return OpCase(name, "QLinearMatMul", inputs, opset=opset, expected=qlinear_matmul)


QLINEAR = [
    _qlinear_case("unsigned", (5, 12), (12, 8), ("uint8", "uint8", "uint8")),
    _qlinear_case("signed", (33, 19), (19, 35), ("int8", "int8", "int8")),
    _qlinear_case("signed_weights", (20, 64), (64, 36)),
    _qlinear_case("rows_and_columns", (20, 33), (33, 31), shapes=((20,), (31,))),
    _qlinear_case("batch", (2, 3, 20), (2, 20, 8), shapes=((2, 3, 1), (2, 1, 8)), opset=21),
    _qlinear_case("one_row", (1, 256), (256, 40), shapes=((), (40,))),
    _qlinear_case("float16", (7, 20), (20, 9), scales="float16", opset=21),
    _qlinear_case("bfloat16", (7, 20), (20, 9), scales="bfloat16", opset=21),
    _qlinear_case("mixed_output", (7, 20), (20, 9), ("int8", "uint8", "int8"), opset=21),
    OpCase(
        "ties_to_even_before_zero_point",
        "QLinearMatMul",
        [
            np.arange(-9, 10, dtype=np.int8).reshape(-1, 1),
            np.array(0.5, np.float32),
            np.array(0, np.int8),
            np.array([[1, 3]], np.int8),
            np.array(1, np.float32),
            np.array(0, np.int8),
            np.array(1, np.float32),
            np.array(3, np.int8),
        ],
        opset=10,
        expected=qlinear_matmul,
    ),
]

CONTRIB = [
    OpCase(
        "float_bias",
        "MatMulIntegerToFloat",
        [
            _bytes(1, (6, 20), "uint8"),
            _bytes(2, (20, 12), "int8"),
            _scales(3),
            _scales(4, 12),
            _bytes(5, (), "uint8"),
            _bytes(6, (12,), "int8"),
            OpCase.random(7, 12),
        ],
        opset=1,
        domain=MICROSOFT,
        expected=_to_float,
    ),
    OpCase(
        "float16",
        "MatMulIntegerToFloat",
        [
            _bytes(1, (6, 20), "int8"),
            _bytes(2, (20, 12), "int8"),
            _scales(3, dtype="float16"),
            _scales(4, dtype="float16"),
        ],
        opset=1,
        domain=MICROSOFT,
        expected=_to_float,
    ),
    OpCase(
        "per_column",
        "DynamicQuantizeMatMul",
        [
            OpCase.random(1, 2, 5, 24),
            _bytes(2, (24, 16), "int8"),
            _scales(3, 16),
            _bytes(4, (16,), "int8"),
            OpCase.random(5, 16),
        ],
        opset=1,
        domain=MICROSOFT,
        expected=_dynamic,
    ),
    OpCase(
        "one_row_no_zero_point",
        "DynamicQuantizeMatMul",
        [OpCase.random(1, 1, 130), _bytes(2, (130, 40), "uint8"), _scales(3)],
        opset=1,
        domain=MICROSOFT,
        expected=_dynamic,
    ),
    OpCase(
        "quantized",
        "QGemm",
        [
            _bytes(1, (9, 20), "uint8"),
            _scales(2),
            _bytes(3, (), "uint8"),
            _bytes(4, (12, 20), "int8"),
            _scales(5, 12),
            _bytes(6, (12,), "int8"),
            (_bytes(7, (12,), "int8").astype(np.int32) * 300),
            np.array(0.9, np.float32),
            np.array(100, np.uint8),
        ],
        {"transB": 1},
        opset=1,
        domain=MICROSOFT,
        expected=_qgemm(right_turned=True),
    ),
    OpCase(
        "full_bias_transposed_left",
        "QGemm",
        [
            _bytes(1, (20, 9), "int8"),
            _scales(2),
            _bytes(3, (), "int8"),
            _bytes(4, (20, 13), "int8"),
            _scales(5),
            _bytes(6, (), "int8"),
            (_bytes(7, (9, 13), "int8").astype(np.int32) * 300),
            np.array(0.9, np.float32),
            np.array(-7, np.int8),
        ],
        {"transA": 1, "alpha": 0.5},
        opset=1,
        domain=MICROSOFT,
        expected=_qgemm(0.5, left_turned=True),
    ),
    OpCase(
        "float_output",
        "QGemm",
        [
            _bytes(1, (32, 9), "uint8"),
            _scales(2),
            _bytes(3, (), "uint8"),
            _bytes(4, (16, 32), "uint8"),
            _scales(5, 16),
            _bytes(6, (16,), "uint8"),
        ],
        {"transA": 1, "transB": 1},
        opset=1,
        domain=MICROSOFT,
        expected=_qgemm(left_turned=True, right_turned=True),
    ),
]


def _fused(
    left: Array,
    right: Array,
    left_scale: Array | None,
    right_scale: Array,
    left_zero: Array | None = None,
    right_zero: Array | None = None,
    bias: Array | None = None,
) -> Sequence[Array]:
    one = np.ones((), np.float32) if left_scale is None else left_scale
    return _to_float(left, right, one, right_scale, left_zero, right_zero, bias)


CONTRIB += [
    OpCase(
        name,
        "FusedMatMulInteger",
        [
            _bytes(1, (rows, 20), "uint8"),
            _bytes(2, (20, 12), "int8"),
            None if bias is None else _scales(3, 1),
            _scales(4, 12),
            _bytes(5, (), "uint8"),
            _bytes(6, (12,), "int8"),
            bias,
        ],
        opset=1,
        domain="cugraphmodel",
        expected=_fused,
    )
    for name, rows, bias in (
        ("one_scale", 7, None),
        ("bias", 1, OpCase.random(7, 1, 12)),
    )
]


def _turned_case(name: str, rows: int, depth: int, columns: int, **attributes: int) -> OpCase:
    left_turned, right_turned = bool(attributes.get("transA")), bool(attributes.get("transB"))
    return OpCase(
        name,
        "QGemm",
        [
            _bytes(1, (depth, rows) if left_turned else (rows, depth), "uint8"),
            _scales(2),
            _bytes(3, (), "uint8"),
            _bytes(4, (columns, depth) if right_turned else (depth, columns), "int8"),
            _scales(5, columns),
            _bytes(6, (columns,), "int8"),
        ],
        attributes,
        opset=1,
        domain=MICROSOFT,
        expected=_qgemm(left_turned=left_turned, right_turned=right_turned),
    )


CONTRIB += [
    _turned_case("one_row_dot", 1, 260, 70, transB=1),
    _turned_case("four_rows_dot_odd_depth", 4, 33, 9, transB=1),
    _turned_case("three_rows_transposed_left", 3, 36, 40, transA=1),
    _turned_case("four_rows_transposed_both", 4, 64, 10, transA=1, transB=1),
]

CASES = [*INTEGER, *QLINEAR, *CONTRIB]
