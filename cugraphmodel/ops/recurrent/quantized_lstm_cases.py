"""Cases of DynamicQuantizeLSTM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES", "quantized_lstm"]

Array = npt.NDArray[Any]


def _quantized(x: Array) -> Array:
    """What is left of a tensor after DynamicQuantizeLinear."""
    lowest, highest = min(x.min(initial=0), 0), max(x.max(initial=0), 0)
    scale = np.float32(1) if lowest == highest else np.float32((highest - lowest) / np.float32(255))
    zero_point = np.clip(np.rint(-lowest / scale), 0, 255)
    codes = np.clip(np.rint(x / scale) + zero_point, 0, 255)
    return np.asarray((codes - zero_point).astype(np.float64) * np.float64(scale))


def _dequantized(codes: Array, scale: Array | None, zero_point: Array | None) -> Array:
    """One direction's weights."""
    assert scale is not None
    assert zero_point is not None
    return np.asarray((codes[0].astype(np.float64) - zero_point.ravel()) * scale.ravel())


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def quantized_lstm(inputs: Sequence[Array | None], *, reverse: bool = False) -> list[Array]:
    """Y, Y_h, Y_c: the equations in float64 on operands that were quantised in float32."""
    x, w, r, bias, lengths, h0, c0, peepholes, ws, wz, rs, rz = inputs
    assert x is not None
    assert w is not None
    assert r is not None
    w, r = _dequantized(w, ws, wz), _dequantized(r, rs, rz)
    steps, batch, hidden = *x.shape[:2], len(r)
    projected = _quantized(x) @ w
    if bias is not None:
        projected = projected + bias[0, : 4 * hidden] + bias[0, 4 * hidden :].astype(np.float64)
    p = np.zeros((3, hidden)) if peepholes is None else peepholes.reshape(3, hidden)
    h, c = (np.zeros((batch, hidden)) if a is None else a[0].astype(np.float64) for a in (h0, c0))
    y = np.zeros((steps, 1, batch, hidden))
    length = np.full(batch, steps) if lengths is None else lengths
    rows = np.arange(batch)
    for step in range(steps):
        running = step < length
        time = np.where(running & reverse, length - 1 - step, step)
        gates = projected[time, rows] + _quantized(h.astype(np.float32)) @ r
        enter, leave, forget, fresh = np.split(gates, 4, axis=1)
        cell = _sigmoid(forget + p[2] * c) * c + _sigmoid(enter + p[0] * c) * np.tanh(fresh)
        state = _sigmoid(leave + p[1] * cell) * np.tanh(cell)
        y[time[running], 0, rows[running]] = state[running]
        h, c = (np.where(running[:, None], new, old) for new, old in ((state, h), (cell, c)))
    return [y, h[None], c[None]]


def _case(
    name: str,
    steps: int,
    batch: int,
    size: int,
    hidden: int,
    dtype: str = "int8",
    *,
    each_column: bool = False,
    lengths: Sequence[int] | None = None,
    initial: bool = False,
    peepholes: bool = False,
    reverse: bool = False,
) -> OpCase:
    random = np.random.default_rng(3)
    low = -60 if dtype == "int8" else 68  # sums of 16 bits then hold two products
    columns = 4 * hidden
    parameters = (1, columns) if each_column else (1,)

    def codes(*shape: int) -> Array:
        return random.integers(low, low + 120, shape).astype(dtype)

    def scales() -> Array:
        return (random.uniform(0.5, 1, parameters) / 60).astype(np.float32)

    def zero_point() -> Array:
        middle = 128 if dtype == "uint8" else 0 if each_column else 3
        return np.full(parameters, middle, dtype)

    state = (1, batch, hidden)
    inputs: list[Array | None] = [
        OpCase.random(0, steps, batch, size),
        codes(1, size, columns),
        codes(1, hidden, columns),
        OpCase.random(1, 1, 2 * columns) / 2,
        None if lengths is None else np.array(lengths, np.int32),
        OpCase.random(2, *state) / 2 if initial else None,
        OpCase.random(3, *state) if initial else None,
        OpCase.random(4, 1, 3 * hidden) if peepholes else None,
        *(scales(), zero_point(), scales(), zero_point()),
    ]
    return OpCase(
        name,
        "DynamicQuantizeLSTM",
        inputs,
        {"hidden_size": hidden, **({"direction": "reverse"} if reverse else {})},
        1,
        num_outputs=3,
        domain="com.microsoft",
        expected=lambda *given: quantized_lstm(given, reverse=reverse),
    )


CASES = [
    _case("one_row", 5, 1, 6, 8),
    _case("one_step", 1, 1, 3, 5, "uint8", initial=True),
    _case("each_column", 4, 3, 7, 9, each_column=True, initial=True, peepholes=True),
    _case("four_rows", 3, 4, 4, 4),
    _case("reverse_lengths", 4, 6, 5, 6, "uint8", lengths=[4, 0, 2, 1, 3, 4], reverse=True),
]
