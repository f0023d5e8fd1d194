"""Cases of MatMul, Gemm and their fused forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import kind_of
from cugraphmodel.ops.case import OpCase

Array = npt.NDArray[Any]
FULL_RANGE = np.array([[2**31 - 1, -(2**31), 12345], [-7, 2**30, 3]])


def _wide(array: Array) -> Array:
    """Floats in float64; integers as they are, so that products wrap."""
    return array.astype(np.float64) if kind_of(array.dtype) == "f" else array


def _matmul(left: Array, right: Array, *bias: Array) -> Sequence[Array]:
    product = np.matmul(_wide(left), _wide(right))
    return [np.asarray(product + _wide(bias[0]) if bias else product)]


def _matmul_case(
    name: str, left: tuple[int, ...], right: tuple[int, ...], dtype: str = "float32", **more: Any
) -> OpCase:
    inputs = [OpCase.random(1, *left, dtype=dtype), OpCase.random(2, *right, dtype=dtype)]
    return OpCase(name, "MatMul", inputs, expected=_matmul, **more)


def _relu(left: Array, right: Array, bias: Array) -> Sequence[Array]:
    return [np.maximum(_matmul(left, right, bias)[0], 0)]


def _tanh(left: Array, right: Array) -> Sequence[Array]:
    return [np.tanh(_matmul(left, right)[0])]


MATMUL = [
    _matmul_case("one_element", (1, 1), (1, 1)),
    _matmul_case("vector_vector", (5,), (5,)),
    _matmul_case("vector_matrix", (37,), (37, 21)),
    _matmul_case("vector_batch", (7,), (3, 7, 5)),
    _matmul_case("matrix_vector", (33, 21), (21,)),
    _matmul_case("batch_vector", (2, 33, 21), (21,)),
    _matmul_case("batch_of_batches_vector", (2, 3, 9, 6), (6,)),
    _matmul_case("one_row", (1, 130), (130, 70)),
    _matmul_case("three_rows", (3, 65), (65, 33)),
    _matmul_case("four_rows_wide", (4, 20), (20, 4300)),
    _matmul_case("five_rows", (5, 19), (19, 66)),
    _matmul_case("tile_and_one", (65, 17), (17, 65)),
    _matmul_case("exact_tile", (32, 16), (16, 32)),
    _matmul_case("many_tiles", (700, 18), (18, 800)),
    _matmul_case("deep", (40, 700), (700, 40)),
    _matmul_case("batch", (3, 20, 9), (3, 9, 11)),
    _matmul_case("left_batch_alone", (2, 3, 20, 9), (9, 11)),
    _matmul_case("right_batch_alone", (20, 9), (2, 3, 9, 11)),
    _matmul_case("broadcast_both", (2, 1, 20, 9), (1, 3, 9, 11)),
    _matmul_case("broadcast_inner", (2, 3, 1, 18, 5), (3, 4, 5, 7)),
    _matmul_case("broadcast_rows", (4, 1, 2, 5), (3, 5, 7)),
    _matmul_case("seven_batch_axes", (2, 1, 2, 1, 2, 1, 2, 6, 5), (1, 2, 1, 2, 1, 2, 1, 5, 6)),
    _matmul_case("no_depth", (3, 0), (0, 4)),
    _matmul_case("no_depth_tiled", (20, 0), (0, 4)),
    _matmul_case("no_rows", (0, 3), (3, 4)),
    _matmul_case("float64", (20, 30), (30, 40), "float64"),
    _matmul_case("float64_one_row", (1, 64), (64, 40), "float64"),
    _matmul_case("float16", (20, 30), (30, 40), "float16"),
    _matmul_case("float16_one_row", (2, 64), (64, 40), "float16"),
    _matmul_case("bfloat16", (20, 30), (30, 40), "bfloat16"),
    _matmul_case("bfloat16_one_row", (2, 64), (64, 40), "bfloat16"),
    _matmul_case("int32", (20, 30), (30, 40), "int32"),
    _matmul_case("int64_one_row", (1, 30), (30, 40), "int64"),
    _matmul_case("uint32", (20, 30), (30, 4), "uint32"),
    _matmul_case("uint64", (20, 30), (30, 4), "uint64"),
    OpCase(
        "int32_wraps",
        "MatMul",
        [FULL_RANGE.astype("int32"), FULL_RANGE.T.astype("int32").copy()],
        expected=_matmul,
    ),
    OpCase(
        "int64_wraps",
        "MatMul",
        [(FULL_RANGE << 31) + FULL_RANGE, (FULL_RANGE.T << 31).copy()],
        expected=_matmul,
    ),
    OpCase(
        "special_values",
        "MatMul",
        [
            np.array([[1, np.inf], [np.nan, 1], [-np.inf, np.inf], [1, 2], [0, 0]], np.float32),
            np.array([[2, 1e-40], [3, 1e-41]], np.float32),
        ],
        expected=_matmul,
        atol=1e-38,
    ),
    OpCase(
        "subnormal",
        "MatMul",
        [np.full((5, 1), 1e-20, np.float32), np.full((1, 6), 1e-19, np.float32)],
        expected=_matmul,
        rtol=1e-5,
    ),
    OpCase(
        "constant_weights_opset_9",
        "MatMul",
        [OpCase.random(1, 4, 12), OpCase.random(2, 12, 8)],
        constant_inputs=frozenset({1}),
        opset=9,
    ),
]


def _gemm(**attributes: Any) -> Any:
    def expected(left: Array, right: Array, *bias: Array) -> Sequence[Array]:
        a = _wide(left).T if attributes.get("transA") else _wide(left)
        b = _wide(right).T if attributes.get("transB") else _wide(right)
        product = np.float32(attributes.get("alpha", 1)).astype(a.dtype) * (a @ b)
        if bias and attributes.get("beta", 1):
            product = product + np.float32(attributes.get("beta", 1)).astype(a.dtype) * bias[0]
        return [product]

    return expected


def _gemm_case(
    name: str,
    left: tuple[int, ...],
    right: tuple[int, ...],
    bias: tuple[int, ...] | None = None,
    dtype: str = "float32",
    opset: int = 17,
    **attributes: Any,
) -> OpCase:
    inputs = [OpCase.random(3, *left, dtype=dtype), OpCase.random(4, *right, dtype=dtype)]
    if bias is not None:
        inputs.append(np.asarray(OpCase.random(5, *bias, dtype=dtype), dtype))
    return OpCase(
        name,
        "Gemm",
        inputs,
        attributes,
        opset,
        expected=_gemm(**attributes),
    )


GEMM = [
    _gemm_case("no_bias", (33, 18), (18, 40)),
    _gemm_case("row_bias", (33, 18), (18, 40), (40,)),
    _gemm_case("row_bias_2d", (33, 18), (18, 40), (1, 40)),
    _gemm_case("column_bias", (33, 18), (18, 40), (33, 1)),
    _gemm_case("full_bias", (33, 18), (18, 40), (33, 40)),
    _gemm_case("scalar_bias", (33, 18), (18, 40), ()),
    _gemm_case("one_element_bias", (33, 18), (18, 40), (1,)),
    _gemm_case("opset_7", (6, 4), (4, 5), (5,), opset=7),
    _gemm_case("opset_9", (6, 4), (4, 5), (5,), opset=9, beta=2.0),
    _gemm_case("opset_11", (6, 4), (4, 5), opset=11),
    _gemm_case("transposed_left", (18, 33), (18, 40), (40,), transA=1),
    _gemm_case("transposed_right", (33, 18), (40, 18), (40,), transB=1),
    _gemm_case("transposed_both", (18, 33), (40, 18), (33, 1), transA=1, transB=1),
    _gemm_case("scaled", (33, 18), (18, 40), (40,), alpha=0.3, beta=-1.7),
    _gemm_case("beta_zero", (33, 18), (18, 40), (40,), beta=0.0),
    _gemm_case("one_row_dot", (1, 260), (70, 260), (70,), transB=1, alpha=0.5, beta=2.0),
    _gemm_case("three_rows_dot", (3, 33), (10, 33), (3, 10), transB=1),
    _gemm_case("four_rows_transposed_left", (60, 4), (60, 10), (4, 1), transA=1),
    _gemm_case("four_rows_transposed_both", (64, 4), (10, 64), (10,), transA=1, transB=1),
    _gemm_case("one_column", (70, 33), (33, 1), (1,)),
    _gemm_case("one_column_full_bias", (70, 33), (33, 1), (70, 1), beta=3.0),
    _gemm_case("one_column_transposed_left", (33, 70), (33, 1), (70, 1), transA=1),
    _gemm_case("one_column_transposed_both", (33, 70), (1, 33), transA=1, transB=1),
    _gemm_case("no_depth", (3, 0), (0, 4), (4,)),
    _gemm_case("float16", (9, 18), (18, 40), (40,), "float16"),
    _gemm_case("float16_one_row", (1, 64), (40, 64), (40,), "float16", transB=1),
    _gemm_case("bfloat16", (9, 18), (18, 40), (40,), "bfloat16"),
    _gemm_case("bfloat16_one_row", (1, 64), (40, 64), (40,), "bfloat16", transB=1),
    _gemm_case("float64", (9, 18), (18, 40), (40,), "float64", alpha=0.1),
    _gemm_case("int32", (9, 18), (18, 40), (40,), "int32"),
]

FUSED = [
    OpCase(
        "bias_relu",
        "FusedMatMul",
        [OpCase.random(1, 2, 9, 20), OpCase.random(2, 20, 30), OpCase.random(3, 30)],
        {"activation": "cg_act_relu"},
        opset=1,
        domain="cugraphmodel",
        expected=_relu,
    ),
    OpCase(
        "one_row_tanh",
        "FusedMatMul",
        [OpCase.random(1, 1, 20), OpCase.random(2, 20, 30)],
        {"activation": "cg_act_tanh"},
        opset=1,
        domain="cugraphmodel",
        expected=_tanh,
    ),
    OpCase(
        "clip",
        "FusedGemm",
        [OpCase.random(1, 9, 20), OpCase.random(2, 20, 30)],
        {"activation": "cg_act_clip", "activation_alpha": -0.5, "activation_beta": 1.5},
        opset=1,
        domain="cugraphmodel",
        expected=lambda left, right: [np.clip(_matmul(left, right)[0], -0.5, 1.5)],
    ),
]


def _with_residual(
    left: Array, right: Array, bias: Array | None, residual: Array
) -> Sequence[Array]:
    product = _matmul(left, right)[0] if bias is None else _matmul(left, right, bias)[0]
    return [np.maximum(product + _wide(residual), 0)]


def _residual_case(
    name: str,
    left: tuple[int, ...],
    right: tuple[int, ...],
    dtype: str = "float32",
    op_type: str = "FusedMatMul",
    *,
    has_bias: bool = True,
) -> OpCase:
    shape = np.shape(np.zeros(left) @ np.zeros(right))
    inputs = [
        OpCase.random(1, *left, dtype=dtype),
        OpCase.random(2, *right, dtype=dtype),
        OpCase.random(3, right[-1], dtype=dtype) if has_bias else None,
        OpCase.random(4, *shape, dtype=dtype),
    ]
    attributes = {"activation": "cg_act_relu"}
    return OpCase(
        name, op_type, inputs, attributes, opset=1, domain="cugraphmodel", expected=_with_residual
    )


def _scaled_residual(left: Array, right: Array, bias: Array, residual: Array) -> Sequence[Array]:
    return [0.5 * _matmul(left, right.T)[0] - 2 * _wide(bias) + _wide(residual)]


RESIDUAL = [
    _residual_case("residual", (9, 20), (20, 30)),
    _residual_case("residual_no_bias", (9, 20), (20, 30), has_bias=False),
    _residual_case("residual_many_tiles", (700, 18), (18, 804)),
    _residual_case("residual_batch", (2, 3, 9, 20), (2, 3, 20, 30)),
    _residual_case("residual_three_rows", (2, 3, 20), (2, 20, 30)),
    _residual_case("residual_one_column", (2, 33, 20), (2, 20, 1)),
    _residual_case("residual_vector_batch", (7,), (3, 7, 5)),
    _residual_case("residual_float16", (9, 20), (20, 30), "float16"),
    _residual_case("residual_one_row_float16", (1, 20), (20, 30), "float16"),
    _residual_case("residual_float64", (9, 20), (20, 30), "float64"),
    _residual_case("residual_gemm", (9, 20), (20, 30), op_type="FusedGemm"),
    OpCase(
        "residual_scaled_dot",
        "FusedGemm",
        [
            OpCase.random(seed, *shape)
            for seed, shape in enumerate([(3, 64), (10, 64), (3, 1), (3, 10)])
        ],
        {"transB": 1, "alpha": 0.5, "beta": -2.0},
        opset=1,
        domain="cugraphmodel",
        expected=_scaled_residual,
    ),
]

CASES = [*MATMUL, *GEMM, *FUSED, *RESIDUAL]
