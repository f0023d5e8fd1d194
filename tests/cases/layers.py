"""Normalizations, Softmax and recurrent layers."""

from __future__ import annotations

import numpy as np

from tests.api.builders import build, normal
from tests.cases.trap import Array, Made, floats, trap


@trap("apache/tvm#20183", "openvinotoolkit/openvino#37823")
def softmax_opset11_flattens() -> Made:
    """Before opset 13 Softmax works on all dimensions from ``axis`` on, 1 if left out."""
    model = build(
        "(float[2,3,4] x) => (float[2,3,4] y, float[2,3,4] l, float[2,3,4] z)",
        "y = Softmax (x) l = LogSoftmax (x) z = Softmax <axis = 2> (x)",
        opset=11,
    )
    x = normal(1, 2, 3, 4)
    powers = np.exp(x.astype(np.float64))
    y = powers / powers.sum((1, 2), keepdims=True)
    z = powers / powers.sum(2, keepdims=True)
    return model, {"x": x}, [a.astype(np.float32) for a in (y, np.log(y), z)]


@trap("microsoft/onnxruntime#18184")
def layer_norm_axis1() -> Made:
    """Statistics over all dimensions from ``axis`` on, and both optional outputs."""
    scale, bias = normal(2, 3, 4), normal(3, 3, 4)
    model = build(
        "(float[2,3,4] x) => (float[2,3,4] y, float[2,1,1] m, float[2,1,1] i, float[2,3,4] z)",
        "y, m, i = LayerNormalization <axis = 1, epsilon = 0.001> (x, scale, bias)"
        "z = LayerNormalization <axis = -2, epsilon = 0.001> (x, scale)",
        scale=scale,
        bias=bias,
    )
    x = normal(1, 2, 3, 4)
    exact = x.astype(np.float64)
    mean = exact.mean((1, 2), keepdims=True)
    inverse = 1 / np.sqrt(exact.var((1, 2), keepdims=True) + 1e-3)
    scaled = (exact - mean) * inverse * scale
    right = [scaled + bias, mean, inverse, scaled]
    return model, {"x": x}, [a.astype(np.float32) for a in right]


@trap("onnx/onnx-tensorrt#1052", "onnx/onnx#5466")
def group_norm_one_group() -> Made:
    """One group goes over the channels too; scale and bias are per channel since opset 21."""
    scale, bias = floats(1, -2, 3, 0.5), floats(0, 1, -1, 2)
    model = build(
        "(float[2,4,3] x) => (float[2,4,3] y, float[2,4,3] z)",
        "y = GroupNormalization <num_groups = 1> (x, scale, bias)"
        "z = GroupNormalization <num_groups = 2> (x, scale, bias)",
        opset=21,
        ir_version=10,
        scale=scale,
        bias=bias,
    )
    x = normal(1, 2, 4, 3)
    right = []
    for num_groups in (1, 2):
        groups = x.astype(np.float64).reshape(2, num_groups, -1)
        centered = groups - groups.mean(-1, keepdims=True)
        normalized = centered / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
        y = normalized.reshape(x.shape) * scale[:, None] + bias[:, None]
        right.append(y.astype(np.float32))
    return model, {"x": x}, right


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


@trap("onnx/onnx-tensorflow#342")
def lstm_sequence_lens() -> Made:
    """Past its length a sequence gives zeros; its last state and its reverse are those there."""
    w, r, b = normal(1, 2, 12, 2), normal(2, 2, 12, 3), normal(3, 2, 24)
    layer = 'LSTM <hidden_size = 3, direction = "bidirectional"> (x, w, r, b, lengths)'
    model = build(
        "(float[4,3,2] x, int32[3] lengths)"
        " => (float[s,d,n,h] y, float[d,n,h] yh, float[d,n,h] yc, float[d,n,h] only)",
        f'y, yh, yc = {layer} "", only = {layer}',
        opset=14,
        w=w,
        r=r,
        b=b,
    )
    x, lengths = normal(4, 4, 3, 2), np.array([4, 2, 1], np.int32)
    y, last, cell = np.zeros((4, 2, 3, 3)), np.zeros((2, 3, 3)), np.zeros((2, 3, 3))
    for direction, sample in np.ndindex(2, 3):
        h, c = np.zeros(3), np.zeros(3)
        steps = range(lengths[sample])
        for step in reversed(steps) if direction else steps:
            gates = w[direction].astype(float) @ x[step, sample] + r[direction] @ h
            gates = gates + b[direction, :12] + b[direction, 12:]
            i, o, f, candidate = gates.reshape(4, 3)
            c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(candidate)
            h = _sigmoid(o) * np.tanh(c)
            y[step, direction, sample] = h
        last[direction, sample], cell[direction, sample] = h, c
    right = [a.astype(np.float32) for a in (y, last, cell, last)]
    return model, {"x": x, "lengths": lengths}, right


@trap("microsoft/onnxscript#2852")
def gru_linear_before_reset() -> Made:
    """The two equations of a GRU are not the same."""
    w, r, b = normal(1, 1, 9, 2), normal(2, 1, 9, 3), normal(3, 1, 18)
    layer = "GRU <hidden_size = 3, linear_before_reset = {}> (x, w, r, b)"
    model = build(
        "(float[3,2,2] x) => (float[3,1,2,3] y0, float[1,2,3] h0, float[3,1,2,3] y1,"
        " float[1,2,3] h1)",
        f"y0, h0 = {layer.format(0)} y1, h1 = {layer.format(1)}",
        opset=14,
        w=w,
        r=r,
        b=b,
    )
    x = normal(4, 3, 2, 2)
    wz, wr, wh = w[0].astype(float).reshape(3, 3, 2)
    rz, rr, rh = r[0].astype(float).reshape(3, 3, 3)
    bz, br, bh, cz, cr, ch = b[0].astype(float).reshape(6, 3)
    right = []
    for linear_before_reset in (False, True):
        h, y = np.zeros((2, 3)), np.zeros((3, 1, 2, 3))
        for step in range(3):
            update = _sigmoid(x[step] @ wz.T + h @ rz.T + bz + cz)
            reset = _sigmoid(x[step] @ wr.T + h @ rr.T + br + cr)
            after, before = reset * (h @ rh.T + ch), (reset * h) @ rh.T + ch
            recurrent = after if linear_before_reset else before
            h = (1 - update) * np.tanh(x[step] @ wh.T + recurrent + bh) + update * h
            y[step, 0] = h
        right += [y.astype(np.float32), h[None].astype(np.float32)]
    return model, {"x": x}, right
