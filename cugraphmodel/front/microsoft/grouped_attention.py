"""GroupQueryAttention: fewer heads of keys than of queries, and a cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from cugraphmodel.front.microsoft.attention import rotated
from cugraphmodel.front.microsoft.composer import INT64, MICROSOFT, Composer
from cugraphmodel.ops.spec import Unsupported

__all__ = ["OPERATORS"]


def _group_query_attention(build: Composer) -> list[str]:
    """Attention over a cache [batch, kv head, position, element] that the new keys go into.

    The cache is as long as ``total_sequence_length``, or as the old one if that is longer. Beyond
    what ``seqlens_k`` says nothing is looked at; its values must be finite.
    """
    build.refuse_inputs(11, 12, 13, 14, 15, 16)
    build.refuse_attributes(
        causal=1,
        smooth_softmax=0,
        qk_output=0,
        sliding_window_cache=0,
        k_quant_type="NONE",
        v_quant_type="NONE",
    )
    q, k, v = _heads(build)
    batch, _, length, _ = build.shape(q)
    total = int(build.known(6, "decides the size of the cache").item())
    starts = _starts(build, batch, length, total)
    steps = build.constant(np.arange(length))
    places = build.sum(build.unsqueeze(starts, 1), steps)  # [batch, length]
    if build.attribute("do_rotary", 0):
        caches = (build.required(7), build.required(8))
        positions = build.optional(9) or places
        interleaved = bool(build.attribute("rotary_interleaved", 0))
        q, k = (
            rotated(build, x, positions, caches, axis=1, interleaved=interleaved) for x in (q, k)
        )
    k = _cached(build, build.optional(3), k, starts, total)
    v = _cached(build, build.optional(4), v, starts, total)
    bias = _bias(build, q, places, build.shape(k)[2])
    return [build.joined(_attended(build, q, k, v, bias)), k, v]


def _heads(build: Composer) -> list[str]:
    """Queries [batch, head, length, element], keys and values [batch, kv head, ...]."""
    num_heads = int(build.attribute("num_heads", 0))
    num_kv_heads = int(build.attribute("kv_num_heads", 0))
    if num_kv_heads < 1 or num_heads % num_kv_heads:
        raise Unsupported(f"{num_heads} heads do not split into {num_kv_heads} groups.")
    parts = [build.required(0), build.optional(1), build.optional(2)]
    if not parts[1]:
        hidden = build.shape(parts[0])[-1]
        size = hidden // (num_heads + 2 * num_kv_heads)
        sizes = (num_heads * size, num_kv_heads * size, num_kv_heads * size)
        if sum(sizes) != hidden:
            raise Unsupported(f"{hidden} elements do not split into queries, keys and values.")
        parts = build.split(parts[0], sizes)
    counts = (num_heads, num_kv_heads, num_kv_heads)
    return [build.heads(part, count) for part, count in zip(parts, counts, strict=True)]


def _starts(build: Composer, batch: int, length: int, total: int) -> str:
    """Where the new keys of every sample go, int64 [batch]: 0 for a first prompt."""
    if total < length:
        raise Unsupported(f"total_sequence_length={total} is less than the {length} new ones.")
    if total == length:
        return build.constant(np.zeros(batch))
    last = build.emit("Cast", build.required(5), to=INT64)
    last = build.reshape(last, batch)
    return build.sum(last, build.constant(1 - length))


def _cached(build: Composer, past: str, new: str, starts: str, total: int) -> str:
    """The cache with the new keys or values in their places."""
    length = build.shape(new)[2]
    old = build.shape(past)[2] if past else 0
    if not past or (total == length and old <= length):
        if total > length:
            raise Unsupported("past_key or past_value is left out, but this is no first prompt.")
        return new
    if old < total:
        pads = build.constant([0, 0, 0, 0, 0, 0, total - old, 0])
        past = build.emit("Pad", past, pads)
    return build.emit("TensorScatter", past, new, starts, axis=2)


def _bias(build: Composer, q: str, places: str, total: int) -> str:
    """What is added to the scores, [batch or 1, head or 1, length, total]."""
    keys = build.constant(np.arange(total))
    queries = build.unsqueeze(places, 2)  # [batch, length, 1]
    open_ = build.emit("LessOrEqual", keys, queries)
    window = int(build.attribute("local_window_size", -1))
    if window > 0:
        oldest = build.sum(queries, build.constant(-window))
        open_ = build.emit("And", open_, build.emit("Greater", keys, oldest))
    dtype = build.value(q).dtype
    never = build.constant(-np.inf, dtype)
    mask = build.emit("Where", build.unsqueeze(open_, 1), build.constant(0, dtype), never)
    given = build.optional(10)
    if given and build.shape(given)[-1] < total:
        missing = build.constant([0] * 7 + [total - build.shape(given)[-1]])
        given = build.emit("Pad", given, missing)
    return build.sum(mask, given)


def _attended(build: Composer, q: str, k: str, v: str, bias: str) -> str:
    """Heads of one group share their keys: [batch, kv head, group * length, element] @ keys."""
    batch, num_heads, length, size = build.shape(q)
    _, num_kv_heads, total, _ = build.shape(k)
    group = num_heads // num_kv_heads
    queries = build.reshape(q, batch, num_kv_heads, group * length, size)
    scores = build.emit("MatMul", queries, build.transpose(k, 0, 1, 3, 2))
    scores = build.scaled(scores, build.scale(size))
    softcap = float(build.attribute("softcap", 0.0))
    if softcap:
        scores = build.scaled(build.emit("Tanh", build.scaled(scores, 1 / softcap)), softcap)
    scores = build.reshape(scores, batch, num_heads, length, total)
    probabilities = build.emit("Softmax", build.sum(scores, bias), axis=-1)
    grouped = build.reshape(probabilities, batch, num_kv_heads, group * length, total)
    return build.reshape(build.emit("MatMul", grouped, v), batch, num_heads, length, size)


OPERATORS: Mapping[tuple[str, str], Callable[[Composer], Sequence[str]]] = {
    (MICROSOFT, "GroupQueryAttention"): _group_query_attention,
}
