"""Attention, MultiHeadAttention and RotaryEmbedding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from cugraphmodel.front.microsoft.composer import MICROSOFT, Composer
from cugraphmodel.ops.spec import Unsupported

__all__ = ["OPERATORS", "rotated", "self_attention"]


def _attention(build: Composer) -> list[str]:
    """Projections of one input, then attention."""
    build.refuse_inputs(6)
    x, weights = build.required(0), build.required(1)
    total = build.shape(weights)[-1]
    sizes = build.attribute("qkv_hidden_sizes", ()) or (total // 3,) * 3
    projected = build.sum(build.emit("MatMul", x, weights), build.optional(2))
    mask, past, added = (build.optional(position) for position in (3, 4, 5))
    return self_attention(build, projected, sizes, mask, past, added)


def self_attention(
    build: Composer, projected: str, sizes: Sequence[int], mask: str, past: str, added: str
) -> list[str]:
    """Attention of queries, keys and values that lie side by side.

    Args:
        build: composer.
        projected: [batch, length, queries + keys + values].
        sizes: of these three.
        mask: see :func:`_mask`, or ``""``.
        past: keys and values [2, batch, head, length, element], or ``""``.
        added: to the scores, or ``""``.

    Returns:
        The result [batch, length, values], and ``past`` with the new keys and values.
    """
    build.refuse_attributes(do_rotary=0, past_present_share_buffer=0)
    num_heads = int(build.attribute("num_heads", 0))
    total = build.shape(projected)[-1]
    if len(sizes) != 3 or sum(sizes) != total:
        raise Unsupported(f"queries, keys and values of {sizes!r} do not add up to {total}.")
    q, k, v = (build.heads(part, num_heads) for part in build.split(projected, sizes))
    if past:
        axes = build.constant([0])
        old_k, old_v = (build.emit("Squeeze", p, axes) for p in build.split(past, (1, 1), 0))
        k, v = (build.concat(*pair, axis=2) for pair in ((old_k, k), (old_v, v)))
    present = ""
    if build.wants(1):
        present = build.concat(build.unsqueeze(k, 0), build.unsqueeze(v, 0), axis=0)
    bias = build.sum_or_none(_mask(build, mask, q, k), _causal(build, q, k), added)
    return [build.joined(_attended(build, q, k, v, bias)[0]), present]


def _multi_head_attention(build: Composer) -> list[str]:
    build.refuse_inputs(8, 9)
    q, k, v = _queries_keys_values(build)
    for position, name in ((6, "past_key"), (7, "past_value")):
        if build.optional(position) and not build.optional(13 - position):
            raise Unsupported(f"{name} is given alone.")
    if build.optional(6):
        k = build.concat(build.required(6), k, axis=2)
        v = build.concat(build.required(7), v, axis=2)
    bias = build.sum_or_none(
        _mask(build, build.optional(4), q, k), _causal(build, q, k), build.optional(5)
    )
    result, scores = _attended(build, q, k, v, bias)
    return [build.joined(result), k, v, scores]


def _queries_keys_values(build: Composer) -> list[str]:
    """The three with their biases, each [batch, head, length, element]."""
    num_heads = int(build.attribute("num_heads", 0))
    query, key, value = build.required(0), build.optional(1), build.optional(2)
    bias = build.optional(3)
    if len(build.shape(query)) == 5:  # [batch, length, head, 3, element]
        parts = _unpacked(build, query, 3)
    elif key and len(build.shape(key)) == 5:
        parts = [query, *_unpacked(build, key, 2)]
    elif key and value:
        parts = [query, key, value]
    else:
        raise Unsupported("key and value are left out, and query is not packed with them.")
    if bias:
        parts = _with_bias(build, parts, bias)
    return [part if len(build.shape(part)) == 4 else build.heads(part, num_heads) for part in parts]


def _unpacked(build: Composer, packed: str, count: int) -> list[str]:
    """[batch, length, head, count, element] as ``count`` times [batch, length, hidden]."""
    batch, length, num_heads, found, size = build.shape(packed)
    if found != count:
        raise Unsupported(f"{build.value(packed)} does not hold {count} tensors.")
    parts = build.split(packed, (1,) * count, 3)
    return [build.reshape(part, batch, length, num_heads * size) for part in parts]


def _with_bias(build: Composer, parts: list[str], bias: str) -> list[str]:
    """Each part plus its share of the bias. Keys that come as heads have had theirs."""
    sizes = [
        shape[-1] if len(shape) == 3 else shape[1] * shape[3] for shape in map(build.shape, parts)
    ]
    build.fits(bias, sum(sizes))
    return [
        build.sum(part, own) if len(build.shape(part)) == 3 else part
        for part, own in zip(parts, build.split(bias, sizes), strict=True)
    ]


def _mask(build: Composer, mask: str, q: str, k: str) -> str:
    """What a mask adds to the scores: 0, or ``mask_filter_value`` where it masks."""
    if not mask:
        return ""
    batch, _, length, _ = build.shape(q)
    total = build.shape(k)[2]
    shape = build.shape(mask)
    zero = build.constant(0, build.value(mask).dtype)
    if shape in ((batch,), (2 * batch,)) and len(shape) == 1:
        end, start = build.split(mask, (batch, shape[0] - batch), 0)
        places = build.constant(np.arange(total), build.value(mask).dtype)
        open_ = build.emit("Less", places, build.unsqueeze(end, 1))
        if start:
            after = build.emit("GreaterOrEqual", places, build.unsqueeze(start, 1))
            open_ = build.emit("And", open_, after)
        open_ = build.unsqueeze(open_, 1, 2)
    elif shape == (batch, total):
        open_ = build.unsqueeze(build.emit("Greater", mask, zero), 1, 2)
    elif shape == (batch, length, total):
        open_ = build.unsqueeze(build.emit("Greater", mask, zero), 1)
    else:
        raise Unsupported(
            f"the mask {build.value(mask)} is not covered; of the shapes [{batch}], [{2 * batch}], "
            f"[{batch}, {total}] and [{batch}, {length}, {total}] it is."
        )
    dtype = build.value(q).dtype
    filter_value = build.constant(build.attribute("mask_filter_value", -10000.0), dtype)
    return build.emit("Where", open_, build.constant(0, dtype), filter_value)


def _causal(build: Composer, q: str, k: str) -> str:
    """What keeps a query from looking ahead, if the node asks for that."""
    if not build.attribute("unidirectional", 0):
        return ""
    length, total = build.shape(q)[2], build.shape(k)[2]
    dtype = build.value(q).dtype
    ahead = np.arange(total) > np.arange(length)[:, None] + total - length
    return build.constant(np.where(ahead, build.attribute("mask_filter_value", -10000.0), 0), dtype)


def _attended(build: Composer, q: str, k: str, v: str, bias: str) -> tuple[str, str]:
    """Softmax of the scores times the values; and the scores, scaled and with the bias."""
    scores = build.emit("MatMul", q, build.transpose(k, 0, 1, 3, 2))
    scores = build.sum(build.scaled(scores, build.scale(build.shape(q)[-1])), bias)
    return build.emit("MatMul", build.emit("Softmax", scores, axis=-1), v), scores


def rotated(
    build: Composer, x: str, positions: str, caches: Sequence[str], *, axis: int, interleaved: bool
) -> str:
    """Rotary position embedding of the first elements of every head; the others stay.

    Args:
        build: composer.
        x: 4-D, its heads in axis ``axis`` and their elements in the last one.
        positions: [batch or 1, length].
        caches: cosines and sines [position, pairs].
        axis: 1 or 2.
        interleaved: whether the elements of a pair are neighbours, or halves apart.
    """
    num_pairs = build.shape(caches[0])[1]
    rest = build.shape(x)[-1] - 2 * num_pairs
    if rest < 0:
        raise Unsupported(f"its caches have {num_pairs} pairs for {build.shape(x)[-1]} elements.")
    cos, sin = (
        build.unsqueeze(build.emit("Gather", cache, positions, axis=0), axis) for cache in caches
    )
    if not interleaved:
        first, second, others = build.split(x, (num_pairs, num_pairs, rest))
        turned = _turn(build, first, second, cos, sin)
        return build.concat(*turned, others, axis=3)
    pairs, others = build.split(x, (2 * num_pairs, rest))
    shape = build.shape(pairs)
    first, second = build.split(build.reshape(pairs, *shape[:-1], num_pairs, 2), (1, 1))
    cos, sin = build.unsqueeze(cos, -1), build.unsqueeze(sin, -1)
    turned = _turn(build, first, second, cos, sin)
    return build.concat(build.reshape(build.concat(*turned, axis=4), *shape), others, axis=3)


def _turn(build: Composer, first: str, second: str, cos: str, sin: str) -> list[str]:
    """Pairs turned by an angle."""
    back, forth = build.emit("Mul", second, sin), build.emit("Mul", first, sin)
    return [
        build.emit("Sub", build.emit("Mul", first, cos), back),
        build.emit("Add", build.emit("Mul", second, cos), forth),
    ]


def _rotary_embedding(build: Composer) -> list[str]:
    build.refuse_attributes(is_packed_batching=0, scale=1.0)
    x, positions = build.required(0), build.required(1)
    caches = (build.required(2), build.required(3))
    shape = build.shape(x)
    length = shape[-2]
    if len(shape) == 3:
        num_heads = int(build.attribute("num_heads", 0))
        size = shape[-1] // num_heads if num_heads else 2 * build.shape(caches[0])[1]
        if not size or shape[-1] % size:
            raise Unsupported(f"{shape[-1]} elements do not split into heads of {size}.")
        x = build.reshape(x, *shape[:2], shape[-1] // size, size)
    if build.shape(positions) == (1,):  # the position of the first element
        steps = build.constant(np.arange(length), build.value(positions).dtype)
        positions = build.unsqueeze(build.sum(positions, steps), 0)
    result = rotated(
        build,
        x,
        positions,
        caches,
        axis=2 if len(shape) == 3 else 1,
        interleaved=bool(build.attribute("interleaved", 0)),
    )
    return [build.reshape(result, *shape) if len(shape) == 3 else result]


OPERATORS: Mapping[tuple[str, str], Callable[[Composer], Sequence[str]]] = {
    (MICROSOFT, "Attention"): _attention,
    (MICROSOFT, "MultiHeadAttention"): _multi_head_attention,
    (MICROSOFT, "RotaryEmbedding"): _rotary_embedding,
}
