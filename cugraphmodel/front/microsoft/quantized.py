"""Operators over quantised weights and activations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cugraphmodel.front.microsoft.attention import self_attention
from cugraphmodel.front.microsoft.composer import FLOAT, MICROSOFT, Composer
from cugraphmodel.front.microsoft.layers import first_rows, num_tokens
from cugraphmodel.ops.spec import Unsupported

__all__ = ["OPERATORS"]


def _matmul_n_bits(build: Composer) -> list[str]:
    """Weights of 2, 4 or 8 bits in blocks along K, each with a scale and a zero point.

    They are unpacked at capture if they are constants.
    """
    build.refuse_inputs(4)
    build.refuse_attributes(weight_prepacked=0)
    n, k, bits, block = (
        int(build.attribute(name, default))
        for name, default in (("N", 0), ("K", 0), ("bits", 4), ("block_size", 0))
    )
    if bits not in (2, 4, 8) or block < 1:
        raise Unsupported(f"weights of {bits} bits in blocks of {block} are not covered.")
    num_blocks = -(-k // block)
    build.fits(build.required(1), n, num_blocks, block * bits // 8)
    weights = build.reshape(_unpacked(build, build.required(1), bits), n, num_blocks, block)
    centered = build.emit("Sub", weights, _zero_points(build, n, num_blocks, bits))
    scales = build.emit("Cast", build.reshape(build.required(2), n, num_blocks, 1), to=FLOAT)
    rows = build.reshape(build.emit("Mul", centered, scales), n, num_blocks * block)
    if num_blocks * block > k:
        rows = build.emit("Slice", rows, *(build.constant([bound]) for bound in (0, k, 1)))
    x = build.required(0)
    columns = build.cast_like(build.transpose(rows, 1, 0), x)
    return [build.sum(build.emit("MatMul", x, columns), build.optional(5))]


def _unpacked(build: Composer, packed: str, bits: int) -> str:
    """The numbers in bytes, the lowest bits first, as float32 [..., byte, number]."""
    parts = []
    for shift in range(0, 8, bits):
        moved = packed
        if shift:
            moved = build.emit("Div", packed, build.constant(1 << shift, "uint8"))
        if shift + bits < 8:
            moved = build.emit("Mod", moved, build.constant(1 << bits, "uint8"))
        parts.append(build.unsqueeze(moved, -1))
    axis = len(build.shape(packed))
    return build.emit("Cast", build.concat(*parts, axis=axis), to=FLOAT)


def _zero_points(build: Composer, n: int, num_blocks: int, bits: int) -> str:
    """float32 [n, block, 1]."""
    given = build.optional(3)
    if not given:
        return build.constant(1 << (bits - 1), "float32")
    if build.value(given).dtype != "uint8":
        return build.emit("Cast", build.reshape(given, n, num_blocks, 1), to=FLOAT)
    num_bytes = -(-num_blocks * bits // 8)
    rows = _unpacked(build, build.reshape(given, n, num_bytes), bits)
    rows = build.reshape(rows, n, num_bytes * (8 // bits))
    if num_bytes * (8 // bits) > num_blocks:
        rows = build.emit("Slice", rows, *(build.constant([bound]) for bound in (0, num_blocks, 1)))
    return build.unsqueeze(rows, 2)


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
    (MICROSOFT, "MatMulNBits"): _matmul_n_bits,
    (MICROSOFT, "QAttention"): _quantized_attention,
    (MICROSOFT, "QEmbedLayerNormalization"): _quantized_embedding,
    (MICROSOFT, "QLinearReduceMean"): _quantized_mean,
    (MICROSOFT, "QLinearWhere"): _quantized_where,
}
