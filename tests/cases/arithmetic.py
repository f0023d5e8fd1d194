"""Elementwise operators, reductions and products."""

from __future__ import annotations

import numpy as np

from tests.api.builders import build
from tests.cases.trap import Made, counting, floats, trap


@trap("onnx/onnx-mlir#1580", "apache/tvm#11174")
def matmul_vectors() -> Made:
    """The dimension that a vector gains is taken away again; two vectors give a scalar."""
    model = build(
        "(float[3] v, float[3,2] m, float[2,4,3] t, float[2,3,1] u)"
        " => (float s, float[a] p, float[b,c] q, float[d,e] r)",
        "s = MatMul (v, v) p = MatMul (v, m) q = MatMul (t, v) r = MatMul (v, u)",
    )
    inputs = {
        "v": floats(1, 2, 3),
        "m": counting(3, 2),
        "t": counting(2, 4, 3),
        "u": counting(2, 3, 1),
    }
    right = [
        np.array(14, np.float32),
        floats(16, 22),
        floats([8, 26, 44, 62], [80, 98, 116, 134]),
        floats([8], [26]),
    ]
    return model, inputs, right


@trap("microsoft/onnxruntime#26997", "onnx/onnx#7570")
def div_int_truncates() -> Made:
    """Integer Div rounds toward zero."""
    model = build(
        "(int64[5] x, int64[5] y, int32[5] p, int32[5] q) => (int64[a] z, int32[b] r)",
        "z = Div (x, y) r = Div (p, q)",
        opset=14,
    )
    x, y = np.array([8, -8, 7, -7, -1]), np.array([-3, 3, -2, 2, 5])
    inputs = {"x": x, "y": y, "p": x.astype(np.int32), "q": y.astype(np.int32)}
    right = np.array([-2, -2, -3, -3, 0])
    return model, inputs, [right, right.astype(np.int32)]


@trap("microsoft/onnxruntime#19298", "tinygrad/tinygrad#13605")
def pow_integers() -> Made:
    """Integer Pow through float gave 3 ** 1 = 2; it is exact, in int64 too."""
    model = build(
        "(int64[4] x, int64[4] y, int32[4] p, int32[4] q) => (int64[a] z, int32[b] r)",
        "z = Pow (x, y) r = Pow (p, q)",
        opset=15,
    )
    inputs = {
        "x": np.array([3, -2, 7, 10]),
        "y": np.array([1, 5, 0, 15]),
        "p": np.array([3, 5, 11, -3], np.int32),
        "q": np.array([1, 3, 2, 3], np.int32),
    }
    return model, inputs, [np.array([3, -32, 1, 10**15]), np.array([3, 125, 121, -27], np.int32)]


@trap("openvinotoolkit/openvino#35646")
def uint8_wraps() -> Made:
    """uint8 Add, Sub and Mul wrap round; they do not saturate."""
    model = build(
        "(uint8[4] x, uint8[4] y) => (uint8[a] m, uint8[b] p, uint8[c] s)",
        "m = Mul (x, y) p = Add (x, y) s = Sub (x, y)",
        opset=14,
    )
    inputs = {
        "x": np.array([200, 100, 50, 10], np.uint8),
        "y": np.array([200, 3, 60, 30], np.uint8),
    }
    right = [[64, 44, 184, 44], [144, 103, 110, 40], [0, 97, 246, 236]]
    return model, inputs, [np.array(row, np.uint8) for row in right]


@trap("microsoft/onnxruntime#11010", "onnx/onnx#6003", "NVIDIA/TensorRT#4773")
def nan_relu_clip() -> Made:
    """Relu and Clip keep NaN."""
    model = build(
        "(float[5] x) => (float[a] r, float[b] c)",
        "r = Relu (x) c = Clip (x, lo, hi)",
        lo=np.array(-1, np.float32),
        hi=np.array(1, np.float32),
    )
    nan, inf = np.nan, np.inf
    right = [floats(nan, 0, 0.5, inf, 0), floats(nan, -1, 0.5, 1, -1)]
    return model, {"x": floats(nan, -2, 0.5, inf, -inf)}, right


@trap("pytorch/pytorch#61404")
def clip_without_min() -> Made:
    """An empty name leaves the minimum out; int32 too, and no bound at all."""
    model = build(
        "(int32[3] x) => (int32[a] y, int32[b] z, int32[c] w)",
        'y = Clip (x, "", hi) z = Clip (x, lo) w = Clip (x)',
        opset=12,
        lo=np.array(0, np.int32),
        hi=np.array(6, np.int32),
    )
    right = [[-7, 3, 6], [0, 3, 8], [-7, 3, 8]]
    return model, {"x": np.array([-7, 3, 8], np.int32)}, [np.array(r, np.int32) for r in right]


@trap("NVIDIA/TensorRT#4513", "microsoft/onnxruntime#13174")
def cumsum_variants() -> Made:
    """All four kinds of sum, along an axis of length 1 too."""
    kinds = [(exclusive, reverse) for exclusive in (0, 1) for reverse in (0, 1)]
    layer = "CumSum <exclusive = {}, reverse = {}>"
    model = build(
        "(float[2,3] x, float[2,1] o) => "
        f"({', '.join(f'float[2,3] y{i}, float[2,1] z{i}' for i in range(len(kinds)))})",
        " ".join(
            f"y{i} = {layer.format(*kind)} (x, axis) z{i} = {layer.format(*kind)} (o, axis)"
            for i, kind in enumerate(kinds)
        ),
        axis=np.array(-1),
    )
    one, none = floats([5], [6]), floats([0], [0])
    right = [floats([1, 3, 6], [4, 9, 15]), one, floats([6, 5, 3], [15, 11, 6]), one]
    right += [floats([0, 1, 3], [0, 4, 9]), none, floats([5, 3, 0], [11, 6, 0]), none]
    return model, {"x": floats([1, 2, 3], [4, 5, 6]), "o": one}, right


@trap("microsoft/onnxruntime#16586", "microsoft/onnxruntime#25095")
def reduce_empty_axes() -> Made:
    """No axes: nothing is reduced with ``noop_with_empty_axes=1``, else everything."""
    model = build(
        "(float[2,3] x) => (float[a,b] y, float[c,d] z, float w, float[e] m)",
        "y = ReduceMean <noop_with_empty_axes = 1> (x, none) z = ReduceMean (x, none)"
        "w = ReduceMean <keepdims = 0> (x) m = ReduceMax <keepdims = 0> (x, last)",
        opset=18,
        none=np.array([], np.int64),
        last=np.array([-1]),
    )
    x = counting(2, 3)
    return model, {"x": x}, [x, floats([2.5]), np.array(2.5, np.float32), floats(2, 5)]


@trap("sonos/tract#2850", "microsoft/onnxruntime#25045")
def quantize_ties_to_even() -> Made:
    """QuantizeLinear rounds ties to even, then saturates."""
    model = build(
        "(float[9] x) => (uint8[a] u, int8[b] i)",
        "u = QuantizeLinear (x, scale, middle) i = QuantizeLinear (x, scale, zero)",
        opset=19,
        ir_version=9,
        scale=np.array(0.5, np.float32),
        middle=np.array(128, np.uint8),
        zero=np.array(0, np.int8),
    )
    x = floats(0.25, 0.75, 1.25, 1.75, -0.25, -0.75, -1.25, 400, -400)
    right = [
        np.array([128, 130, 130, 132, 128, 126, 126, 255, 0], np.uint8),
        np.array([0, 2, 2, 4, 0, -2, -2, 127, -128], np.int8),
    ]
    return model, {"x": x}, right


@trap("microsoft/onnxruntime#7524", "microsoft/onnxruntime#6004")
def matmul_integer_mixed_signs() -> Made:
    """Products of uint8 by int8 do not saturate in 16 bits."""
    w = np.resize(np.array([127, -128, -100], np.int8), (8, 3))
    w[:, 2] = np.resize(np.array([-100, 127, -128, 127], np.int8), 8)
    p, q = np.array(3, np.uint8), np.array([1, 0, -2], np.int8)
    model = build(
        "(uint8[2,8] x) => (int32[a,b] y)", "y = MatMulInteger (x, w, p, q)", w=w, p=p, q=q
    )
    x = np.full((2, 8), 255, np.uint8)
    x[1, ::2] = 0
    right = (x.astype(np.int32) - p) @ (w.astype(np.int32) - q)
    return model, {"x": x}, [right]
