"""Activations, normalizations, embeddings, products, convolutions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.microsoft.case import Array, Case, normal, whole

X = normal(1, 2, 3, 8)
HALF = normal(2, 2, 3, 8, dtype="float16")
ROW = normal(3, 8)
_erf = np.vectorize(math.erf, otypes=[float])


def _gelu(x: Array) -> Array:
    return np.asarray(x * (1 + _erf(x / math.sqrt(2))) / 2)


def _tanh_gelu(x: Array) -> Array:
    return np.asarray(x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def _softmax(x: Array, axes: Any = -1) -> Array:
    powers = np.exp(x - x.max(axes, keepdims=True))
    return np.asarray(powers / powers.sum(axes, keepdims=True))


def _group_norm(
    x: Array, gamma: Array, beta: Array, groups: int, *, silu: bool = False, last: bool = True
) -> Array:
    planes = x.transpose(0, 3, 1, 2) if last else x
    rows = planes.reshape(len(x), groups, -1)
    centered = rows - rows.mean(-1, keepdims=True)
    normalized = (centered / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)).reshape(planes.shape)
    y = normalized * gamma[:, None, None] + beta[:, None, None]
    y = y / (1 + np.exp(-y)) if silu else y
    return np.asarray(y.transpose(0, 2, 3, 1) if last else y)


ACTIVATIONS = (
    Case("float", "Gelu", [X * 3]),
    Case("bias", "BiasGelu", [X, ROW]),
    Case("float", "FastGelu", [X * 3]),
    Case("bias", "FastGelu", [X, ROW]),
    Case("half", "FastGelu", [HALF], expected=lambda x: [_tanh_gelu(x)]),
    Case("default", "QuickGelu", [X * 3]),
    Case("alpha", "QuickGelu", [X], {"alpha": -0.5}),
    Case(
        "halves",
        "BiasSplitGelu",
        [X, ROW],
        expected=lambda x, b: [(x + b)[..., :4] * _gelu((x + b)[..., 4:])],
    ),
    Case("three", "BiasAdd", [X, ROW, X[:, ::-1].copy()], expected=lambda x, b, s: [x + b + s]),
    Case(
        "inference",
        "BiasDropout",
        [X, ROW, X * 2],
        outputs=(True, "bool"),
        expected=lambda x, b, r: [x + b + r, np.ones(x.shape, bool)],
    ),
    Case(
        "inner",
        "BiasSoftmax",
        [normal(4, 2, 3, 4, 5), normal(5, 2, 1, 1, 5)],
        {"axis": 3, "is_inner_broadcast": 1},
        expected=lambda x, b: [_softmax(x + b)],
    ),
    Case(
        "outer",
        "BiasSoftmax",
        [normal(4, 2, 3, 4, 5), normal(5, 1, 3, 4, 5)],
        {"axis": 2, "is_inner_broadcast": 0},
        expected=lambda x, b: [_softmax(x + b, (2, 3))],
    ),
)

IDS, SEGMENTS = whole([[1, 4, 0], [5, 2, 2]])[0], whole([[0, 1, 1], [1, 0, 0]])[0]
TABLES = [normal(6, 7, 8), normal(7, 5, 8), normal(8, 2, 8), normal(9, 8), normal(10, 8)]
PLANES = normal(11, 2, 3, 5, 8)

NORMALIZATIONS = (
    Case("plain", "SkipLayerNormalization", [X, X[:, ::-1].copy(), ROW, None]),
    Case(
        "bias_and_sum",
        "SkipLayerNormalization",
        [X, X[:, ::-1].copy(), ROW, normal(4, 8), normal(5, 8)],
        {"epsilon": 1e-3},
        outputs=(True, False, False, True),
    ),
    Case("broadcast_skip", "SkipLayerNormalization", [X, normal(4, 1, 3, 8), ROW, normal(5, 8)]),
    Case("row_skip", "SkipLayerNormalization", [X, normal(4, 3, 8), ROW]),
    Case(
        "statistics",
        "SkipLayerNormalization",
        [X, X * 2, ROW, ROW],
        outputs=(True, True, True),
        expected=lambda x, s, g, b: [
            (x + s - (x + s).mean(-1, keepdims=True))
            / np.sqrt((x + s).var(-1, keepdims=True) + 1e-12)
            * g
            + b,
            (x + s).mean(-1, keepdims=True),
            1 / np.sqrt((x + s).var(-1, keepdims=True) + 1e-12),
        ],
    ),
    Case("half", "SkipLayerNormalization", [HALF, HALF[::-1].copy(), HALF[0, 0], HALF[0, 1]]),
    Case("plain", "SkipSimplifiedLayerNormalization", [X, X[:, ::-1].copy(), ROW]),
    Case(
        "bias_and_sum",
        "SkipSimplifiedLayerNormalization",
        [X, X[:, ::-1].copy(), ROW, normal(4, 8)],
        {"epsilon": 1e-3},
        outputs=(True, False, False, True),
    ),
    Case("standard_domain", "SimplifiedLayerNormalization", [X, ROW], {"axis": -1}, domain=""),
    Case(
        "deviation",
        "SimplifiedLayerNormalization",
        [X, normal(4, 3, 8)],
        {"axis": 1, "epsilon": 1e-2},
        outputs=(True, True),
        domain="",
        opset=13,
    ),
    Case("before_opset_17", "LayerNormalization", [X, ROW, ROW * 2], domain="", opset=12),
    Case(
        "statistics_before_opset_17",
        "LayerNormalization",
        [X, normal(4, 3, 8)],
        {"axis": 1},
        outputs=(True, True, True),
        domain="",
        opset=9,
    ),
    Case(
        "words_and_places",
        "EmbedLayerNormalization",
        [IDS, None, *TABLES[:2], None, *TABLES[3:]],
        outputs=(True, "int32"),
    ),
    Case(
        "all",
        "EmbedLayerNormalization",
        [
            IDS,
            SEGMENTS,
            *TABLES,
            whole([[1, 1, 0], [1, 0, 0]])[0],
            whole([[4, 0, 1], [2, 2, 3]])[0],
        ],
        {"epsilon": 1e-3},
        outputs=(True, "int32", True),
    ),
    Case(
        "no_mask",
        "EmbedLayerNormalization",
        [IDS, SEGMENTS, *TABLES],
        outputs=(True, "int32"),
    ),
    Case(
        "last",
        "GroupNorm",
        [PLANES, ROW, ROW * 2],
        {"groups": 2, "activation": 1, "epsilon": 1e-5},
        expected=lambda x, g, b: [_group_norm(x, g, b, 2, silu=True)],
    ),
    Case(
        "first",
        "GroupNorm",
        [normal(12, 2, 8, 3, 5), ROW, ROW * 2],
        {"groups": 4, "activation": 0, "channels_last": 0, "epsilon": 1e-5},
        expected=lambda x, g, b: [_group_norm(x, g, b, 4, last=False)],
    ),
    Case(
        "half",
        "GroupNorm",
        [PLANES.astype(np.float16), ROW, ROW * 2],
        {"groups": 8, "activation": 0, "epsilon": 1e-5},
        expected=lambda x, g, b: [_group_norm(x, g, b, 8)],
    ),
    Case(
        "sum",
        "SkipGroupNorm",
        [PLANES, ROW, ROW * 2, normal(13, 2, 8), normal(14, 8)],
        {"groups": 2, "activation": 1, "epsilon": 1e-5},
        outputs=(True, True),
        expected=lambda x, g, b, s, c: [
            _group_norm(x + s[:, None, None] + c, g, b, 2, silu=True),
            x + s[:, None, None] + c,
        ],
    ),
)

A, B = normal(1, 2, 3, 4, 5), normal(2, 2, 3, 5, 6)
IMAGE, FILTERS, BIAS = normal(3, 2, 3, 6, 7), normal(4, 4, 3, 3, 3), normal(5, 4)
ADDED = normal(6, 2, 4, 6, 7)
SAME = {"pads": [1, 1, 1, 1]}

PRODUCTS = (
    Case("plain", "FusedMatMul", [A, B], {"alpha": 0.5}),
    Case("matrices", "FusedMatMul", [A[0, 0].T.copy(), B[0, 0]], {"alpha": -2.0, "transA": 1}),
    Case(
        "both",
        "FusedMatMul",
        [A.swapaxes(2, 3).copy(), B.swapaxes(2, 3).copy()],
        {"transA": 1, "transB": 1},
    ),
    Case("vector", "FusedMatMul", [normal(3, 5), B], {"transA": 1, "alpha": 3.0}),
    Case("batch", "FusedMatMul", [normal(3, 4, 2, 3, 5), B], {"transBatchA": 1}),
    Case(
        "batch_and_last", "FusedMatMul", [normal(3, 5, 2, 3, 4), B], {"transBatchA": 1, "transA": 1}
    ),
    Case("right_batch", "FusedMatMul", [A, normal(3, 6, 2, 3, 5)], {"transBatchB": 1, "transB": 1}),
    Case("old_name", "TransposeMatMul", [A, B.swapaxes(2, 3).copy()], {"transB": 1, "alpha": 0.25}),
    Case(
        "leaky",
        "FusedMatMulActivation",
        [A, B],
        {"activation": "LeakyRelu", "activation_alpha": 0.2, "alpha": 0.5},
        expected=lambda a, b: [np.where(a @ b < 0, 0.2, 1) * (a @ b) / 2],
    ),
    Case(
        "relu", "FusedGemm", [A[0, 0], B[0, 0], normal(4, 6)], {"activation": "Relu", "alpha": 2.0}
    ),
    Case(
        "hard",
        "FusedGemm",
        [A[0, 0], B[0, 0].T.copy(), normal(4, 1, 6)],
        {
            "activation": "HardSigmoid",
            "activation_alpha": 0.3,
            "activation_beta": 0.1,
            "beta": 0.5,
            "transB": 1,
        },
    ),
    Case(
        "leaky",
        "FusedGemm",
        [A[0, 0], B[0, 0]],
        {"activation": "LeakyRelu", "activation_alpha": 0.3},
    ),
    Case(
        "bias",
        "GemmFastGelu",
        [A, B[0, 0], normal(4, 6)],
        expected=lambda a, b, c: [_tanh_gelu(a @ b + c)],
    ),
    Case(
        "relu",
        "FusedConv",
        [IMAGE, FILTERS, BIAS],
        {"activation": "Relu", **SAME},
        constant=frozenset({1, 2}),
    ),
    Case("sum", "FusedConv", [IMAGE, FILTERS, BIAS, ADDED], {"activation": "Relu", **SAME}),
    Case("tanh", "FusedConv", [IMAGE, FILTERS, None, ADDED], {"activation": "Tanh", **SAME}),
    Case(
        "leaky",
        "FusedConv",
        [IMAGE, FILTERS],
        {"activation": "LeakyRelu", "activation_params": [0.3], "strides": [2, 1]},
    ),
    Case(
        "clip",
        "FusedConv",
        [IMAGE, FILTERS, BIAS],
        {"activation": "Clip", "activation_params": [-0.5, 0.75]},
    ),
    Case(
        "hard",
        "FusedConv",
        [IMAGE, FILTERS, BIAS],
        {"activation": "HardSigmoid", "activation_params": [0.3, 0.4]},
    ),
    Case("sqeuclidean", "CDist", [A[0, 0], normal(3, 6, 5)], {"metric": "sqeuclidean"}),
    Case("euclidean", "CDist", [A[0, 0], normal(3, 6, 5)], {"metric": "euclidean"}),
    Case(
        "zero_points",
        "MulInteger",
        [
            whole(250, 3, dtype="uint8"),
            whole(7, dtype="uint8")[0],
            whole(-128, 5, dtype="int8"),
            whole(-3, dtype="int8")[0],
        ],
        outputs=("int32",),
        expected=lambda a, p, b, q: [((a.astype(int) - p) * (b.astype(int) - q)).astype(np.int32)],
    ),
    Case(
        "plain",
        "ComplexMul",
        [normal(1, 3, 2), normal(2, 3, 2)],
        expected=lambda a, b: [_pairs(_complex(a) * _complex(b))],
    ),
    Case(
        "plain",
        "ComplexMulConj",
        [normal(1, 3, 2), normal(2, 3, 2)],
        expected=lambda a, b: [_pairs(_complex(a) * _complex(b).conj())],
    ),
)


def _complex(x: Array) -> Array:
    return np.asarray(x[..., 0] + 1j * x[..., 1])


def _pairs(x: Array) -> Array:
    return np.stack([x.real, x.imag], -1)


def _nhwc(image: Array, filters: Array, bias: Array, added: Array) -> list[Array]:
    """A convolution padded by 1, plus ``added``, behind a Relu; images are NHWC."""
    batch, height, width, _ = image.shape
    padded = np.pad(image, [(0, 0), (1, 1), (1, 1), (0, 0)])
    y = np.zeros((batch, height, width, len(filters)))
    for row, column in np.ndindex(3, 3):
        part = padded[:, row : row + height, column : column + width]
        y += part @ filters[:, :, row, column].T
    return [np.maximum(y + bias + added, 0)]


def _t5_bucket(distance: int, num_buckets: int, farthest: int, both_ways: bool) -> int:
    """Bucket of ``key - query``, as the T5 paper's relative position bias has it."""
    first = 0
    back = -distance
    if both_ways:
        num_buckets //= 2
        first = num_buckets if back < 0 else 0
        back = abs(back)
    back = max(back, 0)
    exact = num_buckets // 2
    if back < exact:
        return first + back
    scaled = math.log(back / exact) / math.log(farthest / exact) * (num_buckets - exact)
    return first + min(exact + int(scaled), num_buckets - 1)


def _t5_bias(table: Array, both_ways: bool) -> list[Array]:
    bias = np.empty((1, table.shape[1], 5, 30))
    for query, key in np.ndindex(5, 30):
        bias[0, :, query, key] = table[_t5_bucket(key - query, len(table), 20, both_ways)]
    return [bias]


OTHERS = (
    Case(
        "same",
        "NhwcConv",
        # Of one sign, which the Relu leaves alone.
        [abs(normal(3, 2, 6, 7, 3)), abs(FILTERS.transpose(0, 2, 3, 1)), abs(BIAS)],
        SAME,
        expected=lambda x, w, b: _nhwc(x, w.transpose(0, 3, 1, 2), b, np.zeros(1)),
    ),
    Case(
        "same",
        "NhwcFusedConv",
        [normal(3, 2, 6, 7, 3), FILTERS, BIAS, normal(6, 2, 6, 7, 4)],
        {"activation": "Relu", **SAME},
        expected=_nhwc,
    ),
    *(
        Case(
            name,
            "RelativePositionBias",
            [normal(1, 16, 3), whole(5, dtype="int64")[0], whole(30, dtype="int64")[0]],
            {"max_distance": 20, "is_bidirectional": both_ways},
            constant=frozenset({1, 2}),
            expected=lambda table, _q, _k, both_ways=both_ways: _t5_bias(table, bool(both_ways)),
        )
        for name, both_ways in (("both_ways", 1), ("back", 0))
    ),
    Case("lower", "Trilu", [X, whole(-1, dtype="int64")[0]], {"upper": 0}, constant=frozenset({1})),
    Case("upper", "Trilu", [X]),
    Case("last", "ExpandDims", [X, whole(-1)[0]], constant=frozenset({1})),
    Case("first", "ExpandDims", [X, whole(0)[0]], constant=frozenset({1})),
    Case(
        "no_step",
        "Range",
        [whole(2)[0], whole(7)[0]],
        constant=frozenset({0, 1}),
    ),
    Case("rows", "GatherND", [X, whole([[0, 2], [1, -1]], dtype="int64")[0]]),
    Case(
        "reflect",
        "Pad",
        [X[0], whole(1, 2, 0, 1, dtype="int64")],
        {"mode": "reflect"},
        constant=frozenset({1}),
    ),
    Case(
        "bilinear",
        "GridSample",
        [normal(1, 2, 3, 4, 5), np.clip(normal(2, 2, 3, 3, 2), -1.5, 1.5)],
        {"mode": "bilinear", "padding_mode": "border", "align_corners": 1},
    ),
    Case(
        "integers",
        "ReduceSumInteger",
        [whole([[-128, 127], [-128, 5]], dtype="int8")[0]],
        {"axes": [1], "keepdims": 0},
        outputs=("int32",),
        expected=lambda x: [x.astype(np.int32).sum(1, dtype=np.int32)],
    ),
    Case(
        "even",
        "Rfft",
        [normal(1, 2, 3, 10)],
        {"normalized": 0, "onesided": 1, "signal_ndim": 1},
        expected=lambda x: [_pairs(np.fft.rfft(x))],
    ),
    Case(
        "rows",
        "TorchEmbedding",
        [X[0], whole([[2, 0], [1, 1]], dtype="int64")[0]],
        expected=lambda table, at: [table[at]],
    ),
)

CASES = (*ACTIVATIONS, *NORMALIZATIONS, *PRODUCTS, *OTHERS)
