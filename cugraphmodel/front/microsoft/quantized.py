"""Operators over quantised weights and activations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cugraphmodel.front.microsoft.attention import self_attention
from cugraphmodel.front.microsoft.composer import FLOAT, MICROSOFT, Composer
from cugraphmodel.front.microsoft.layers import first_rows, num_tokens

__all__ = ["OPERATORS"]


def _quantized_attention(build: Composer) -> list[str]:
    """QAttention: a product of 8-bit integers, scaled; then attention."""
    operands = [build.required(0), build.required(1)]
    total = build.shape(operands[1])[-1]
    points = [build.optional(6), build.optional(7)]
    while points and not points[-1]:
        points.pop()
    product = build.emit("Cast", build.emit("MatMulInteger", *operands, *points), to=FLOAT)
    scale = build.emit("Mul", build.required(3), build.required(4))
    projected = build.sum(build.emit("Mul", product, scale), build.required(2))
    mask, past = build.optional(5), build.optional(8)
    return self_attention(build, projected, (total // 3,) * 3, mask, past, "")


def _quantized_embedding(build: Composer) -> list[str]:
    """QEmbedLayerNormalization: EmbedLayerNormalization with tables of 8 bits."""

    def floats(name: str, scale: int) -> str:
        return build.emit(
            "DequantizeLinear", name, build.required(scale), build.required(scale + 5)
        )

    words = floats(build.emit("Gather", build.required(2), build.required(0), axis=0), 8)
    places = floats(first_rows(build, build.required(3), build.shape(words)[1]), 9)
    segments = ""
    if build.optional(1):
        segments = floats(build.emit("Gather", build.required(4), build.required(1), axis=0), 10)
    gamma, beta = floats(build.required(5), 11), floats(build.required(6), 12)
    total = build.sum(words, places, segments)
    epsilon = float(build.attribute("epsilon", 1e-12))
    normal = build.emit("LayerNormalization", total, gamma, beta, epsilon=epsilon)
    return [normal, num_tokens(build, build.optional(7))]


def _quantized_where(build: Composer) -> list[str]:
    """QLinearWhere: both sides in the scale of the result, and one of them selected."""
    target = (build.required(7), build.required(8))
    sides = []
    for first in (1, 4):
        source = [build.required(first + offset) for offset in range(3)]
        wide = build.emit("DequantizeLinear", *source)
        sides.append(build.emit("QuantizeLinear", wide, *target))
    return [build.emit("Where", build.required(0), *sides)]


def _quantized_mean(build: Composer) -> list[str]:
    """QLinearReduceMean."""
    source = [name for name in map(build.optional, range(3)) if name]
    target = [name for name in map(build.optional, (3, 4)) if name]
    wide = build.emit("DequantizeLinear", *source)
    axes = build.constant(build.attribute("axes", ()))
    keepdims = int(build.attribute("keepdims", 1))
    return [
        build.emit(
            "QuantizeLinear", build.emit("ReduceMean", wide, axes, keepdims=keepdims), *target
        )
    ]


OPERATORS: Mapping[tuple[str, str], Callable[[Composer], Sequence[str]]] = {
    (MICROSOFT, "QAttention"): _quantized_attention,
    (MICROSOFT, "QEmbedLayerNormalization"): _quantized_embedding,
    (MICROSOFT, "QLinearReduceMean"): _quantized_mean,
    (MICROSOFT, "QLinearWhere"): _quantized_where,
}
