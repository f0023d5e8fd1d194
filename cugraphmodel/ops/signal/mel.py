"""MelWeightMatrix: a matrix that brings a spectrum to bands of the mel scale."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type, from_onnx
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import NUMBERS, required
from cugraphmodel.ops.launch import Launch, ceil_div
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256
MAX_BANDS = 900
"""The edges of the bands are a kernel argument, and all of those take at most 4 KiB."""


def _edges(node: Node) -> list[int]:
    """The bin where each band begins, then where the last but one and the last end.

    They are equally spaced on the mel scale, 2595 log10(1 + f / 700).
    """
    bands, length, rate = (int(node.host_values[position].item()) for position in range(3))
    lowest, highest = (float(node.host_values[position].item()) for position in (3, 4))
    if not 1 <= bands <= MAX_BANDS or length < 1 or rate < 1 or not 0 <= lowest <= highest:
        raise Unsupported(
            f"{bands} bands (1 to {MAX_BANDS} are supported) from {lowest} to {highest} Hz of "
            f"spectra of {length} samples at {rate} Hz."
        )
    low, high = (2595 * math.log1p(edge / 700) / math.log(10) for edge in (lowest, highest))
    step = (high - low) / (bands + 2)
    hertz = (700 * math.expm1((low + k * step) / 2595 * math.log(10)) for k in range(bands + 2))
    return [int((length + 1) * edge // rate) for edge in hertz]


def _infer(node: Node, _inputs: Values) -> list[TensorType]:
    """[length // 2 + 1, bands]."""
    dtype = from_onnx(int(node.attributes.get("output_datatype", 1)))
    if dtype not in NUMBERS:
        raise Unsupported(f"Weights of type {node.attributes['output_datatype']} are no numbers.")
    edges, num_bins = _edges(node), int(node.host_values[1].item()) // 2 + 1
    if edges[-2] >= num_bins:
        raise Unsupported(f"Bands reach to bin {edges[-2]}; a spectrum has {num_bins}.")
    return [TensorType(np.dtype(dtype), (num_bins, len(edges) - 2))]


def _lower(node: Node, _inputs: Values, outputs: Values) -> list[Launch]:
    weights = required(outputs)
    edges = _edges(node)
    return [
        Launch(
            source="ops/signal/mel.cu",
            entry="mel_weights",
            grid=(ceil_div(weights.size, THREADS), 1, 1),
            block=(THREADS, 1, 1),
            args=(weights, np.int64(weights.size), np.array(edges, np.int32)),
            macros=(("SCALAR", c_type(weights.dtype)), ("NUM_BANDS", str(len(edges) - 2))),
        )
    ]


register(OpSpec("MelWeightMatrix", 17, _infer, _lower, host_inputs=(0, 1, 2, 3, 4)))
