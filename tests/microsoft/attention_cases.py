"""Attention of all kinds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.microsoft.case import Array, Case, normal, whole

BATCH, LENGTH, HEADS, SIZE = 2, 5, 3, 4
HIDDEN = HEADS * SIZE
X, WEIGHTS, BIAS = normal(1, BATCH, LENGTH, 7), normal(2, 7, 3 * HIDDEN), normal(3, 3 * HIDDEN)
PAST = normal(4, 2, BATCH, HEADS, 3, SIZE)
HEADED: Mapping[str, Any] = {"num_heads": HEADS}
CAUSAL = {**HEADED, "unidirectional": 1}
BOTH = (True, True)


def attention(name: str, *rest: Array | None, **more: Any) -> Case:
    """Attention of :data:`X`; ``rest`` are the inputs from the mask on."""
    attributes = {**HEADED, **more.pop("attributes", {})}
    inputs = more.pop("inputs", [X, WEIGHTS, BIAS])
    return Case(name, "Attention", [*inputs, *rest], attributes, **more)


def padding(total: int, *lengths: int) -> Array:
    """1 where a row is not padded."""
    return (np.arange(total) < np.array(lengths)[:, None]).astype(np.int32)


SQUARE = (np.random.default_rng(5).random((BATCH, LENGTH, LENGTH)) < 0.7).astype(np.int32)
SQUARE[:, :, 0] = 1
UNEVEN = (2 * HIDDEN, 2 * HIDDEN, HIDDEN)

ATTENTION = (
    attention("plain"),
    attention("no_bias", inputs=[X, WEIGHTS, None]),
    attention("scale", attributes={"scale": 0.3}),
    attention("causal", attributes=CAUSAL),
    attention("lengths", whole(5, 2)),
    attention("ends_and_starts", whole(5, 4, 1, 2)),
    attention("rows", padding(LENGTH, 5, 2)),
    attention("nothing_left", padding(LENGTH, 0, 2), attributes=CAUSAL),
    attention("square", SQUARE),
    attention("filter", SQUARE, attributes={"mask_filter_value": -3.0}),
    attention("square_causal", SQUARE, attributes=CAUSAL),
    attention("added", None, None, normal(6, 1, HEADS, LENGTH, LENGTH)),
    attention("rows_added", padding(LENGTH, 3, 4), None, normal(6, BATCH, 1, LENGTH, LENGTH)),
    attention("past", None, PAST, outputs=BOTH),
    attention("past_causal_rows", padding(8, 6, 7), PAST, outputs=BOTH, attributes=CAUSAL),
    attention("present", outputs=BOTH),
    attention(
        "uneven",
        inputs=[X, normal(2, 7, sum(UNEVEN)), normal(3, sum(UNEVEN))],
        attributes={"qkv_hidden_sizes": UNEVEN},
    ),
)

Q, K, V = (normal(10 + i, BATCH, n, HIDDEN) for i, n in enumerate((LENGTH, 6, 6)))
WIDE = normal(13, BATCH, 6, 2 * HIDDEN)
MHA_PAST = [normal(14 + i, BATCH, HEADS, 2, SIZE) for i in range(2)]
SQUARE_6 = np.pad(SQUARE, [(0, 0), (0, 0), (0, 1)])


def multi_head(name: str, *inputs: Array | None, **more: Any) -> Case:
    """MultiHeadAttention."""
    attributes = {**HEADED, **more.pop("attributes", {})}
    return Case(name, "MultiHeadAttention", inputs, attributes, **more)


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def _plain_attention(q: Array, k: Array, v: Array) -> list[Array]:
    """Of [batch, length, head, element] each, as [batch, length, hidden]."""
    scores = np.einsum("bsnh,btnh->bnst", q, k) / math.sqrt(q.shape[-1])
    result = np.einsum("bnst,btnh->bsnh", _softmax(scores), v)
    return [result.reshape(*result.shape[:2], -1)]


MULTI_HEAD = (
    multi_head("plain", Q, K, V),
    multi_head("wide_values", Q, K, WIDE),
    multi_head("bias", Q, K, V, BIAS),
    multi_head("causal", K, K, V, BIAS, attributes=CAUSAL),
    multi_head("scale", Q, K, V, attributes={"scale": 0.1}),
    multi_head("lengths", Q, K, V, None, whole(6, 3)),
    multi_head("rows", Q, K, V, None, padding(6, 2, 5)),
    multi_head("square", Q, K, V, None, SQUARE_6),
    multi_head("added", Q, K, V, BIAS, padding(6, 2, 5), normal(6, 1, HEADS, LENGTH, 6)),
    multi_head(
        "past",
        *(K, K, V, BIAS, None, None, *MHA_PAST),
        outputs=(True, True, True),
        attributes=CAUSAL,
    ),
    multi_head("past_mask", Q, K, V, None, padding(8, 8, 5), None, *MHA_PAST, outputs=(True,) * 3),
    multi_head("keys_of_another", Q, *(normal(16 + i, BATCH, HEADS, 6, SIZE) for i in range(2))),
    multi_head("scores", Q, K, V, outputs=(True, False, False, True)),
    multi_head(
        "scores_with_bias",
        *(Q, K, V, None, padding(6, 2, 5), normal(6, 1, HEADS, LENGTH, 6)),
        outputs=(True, False, False, True),
    ),
    multi_head(
        "half",
        *(x.astype(np.float16) for x in (Q, K, V)),
        expected=lambda *qkv: _plain_attention(*(x.reshape(BATCH, -1, HEADS, SIZE) for x in qkv)),
    ),
    multi_head(
        "packed",
        normal(20, BATCH, LENGTH, HEADS, 3, SIZE),
        expected=lambda x: _plain_attention(*(x[:, :, :, i] for i in range(3))),
    ),
    multi_head(
        "packed_keys",
        Q,
        normal(20, BATCH, 6, HEADS, 2, SIZE),
        expected=lambda q, x: _plain_attention(
            q.reshape(BATCH, LENGTH, HEADS, SIZE), x[:, :, :, 0], x[:, :, :, 1]
        ),
    ),
)

ANGLES = normal(30, 9, SIZE // 2) * 3
CACHES = [np.cos(ANGLES), np.sin(ANGLES)]
PLACES = whole([[3, 1, 8, 0, 2], [5, 5, 0, 7, 4]], dtype="int64")[0]
WIDER = normal(31, BATCH, LENGTH, 3 * 8)


def rotary(name: str, *inputs: Array, **attributes: Any) -> Case:
    """RotaryEmbedding."""
    return Case(name, "RotaryEmbedding", inputs, attributes)


ROTARY = (
    rotary("start", Q, whole(2, dtype="int64"), *CACHES),
    rotary("positions", Q, PLACES, *CACHES),
    rotary("half", *(x if x is PLACES else x.astype(np.float16) for x in (Q, PLACES, *CACHES))),
    rotary("neighbours", Q, PLACES, *CACHES, interleaved=1),
    rotary("heads", normal(32, BATCH, HEADS, LENGTH, SIZE), PLACES, *CACHES),
    rotary("part", WIDER, PLACES, *CACHES, num_heads=3, rotary_embedding_dim=4),
    rotary(
        "part_of_neighbours",
        WIDER,
        PLACES,
        *CACHES,
        num_heads=3,
        rotary_embedding_dim=4,
        interleaved=1,
    ),
)

GROUPED = {"num_heads": 6, "kv_num_heads": 2}
WIDTH = 16  # elements of a head; ONNX Runtime rotates multiples of that


def grouped(
    name: str,
    length: int,
    past: int,
    total: int,
    ends: Array,
    *,
    packed: bool = False,
    rotary: bool = False,
    positions: Array | None = None,
    added: Array | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> Case:
    """GroupQueryAttention of a batch as large as ``ends``, the lengths with the new keys."""
    batch, parts = (
        len(ends),
        [normal(40 + i, len(ends), length, n * WIDTH) for i, n in enumerate((6, 2, 2))],
    )
    given: list[Array | None] = [np.concatenate(parts, -1), None, None] if packed else [*parts]
    used = (np.arange(past) < (ends - length)[:, None])[:, None, :, None]
    caches = [normal(43 + i, batch, 2, past, WIDTH) * used for i in range(2)]
    given += caches if past else [None, None]
    given += [(ends - 1).astype(np.int32), np.array(total, np.int32)]
    angles = normal(45, 16, WIDTH // 2)
    given += [np.cos(angles), np.sin(angles)] if rotary else [None, None]
    given += [positions, added]
    while given[-1] is None:
        given.pop()
    more = {"do_rotary": 1} if rotary else {}
    return Case(
        name,
        "GroupQueryAttention",
        given,
        {**GROUPED, **more, **(attributes or {})},
        outputs=(True, True, True),
        constant=frozenset({6}),
    )


GROUP_QUERY = (
    grouped("prompt", 5, 0, 5, np.array([5, 5])),
    grouped("prompt_packed", 5, 0, 5, np.array([5, 5]), packed=True),
    grouped("prompt_rotary", 5, 0, 5, np.array([5, 5]), rotary=True),
    grouped("prompt_window", 5, 0, 5, np.array([5, 5]), attributes={"local_window_size": 2}),
    grouped("softcap", 5, 0, 5, np.array([5, 5]), attributes={"softcap": 1.5, "scale": 0.7}),
    grouped("one_more", 1, 4, 5, np.array([5, 5]), rotary=True),
    grouped("one_more_uneven", 1, 6, 7, np.array([7, 3]), rotary=True),
    grouped("one_more_packed", 1, 4, 5, np.array([5, 5]), packed=True, rotary=True),
    grouped(
        "neighbours", 1, 4, 5, np.array([5, 5]), rotary=True, attributes={"rotary_interleaved": 1}
    ),
    grouped("window", 1, 6, 7, np.array([7, 6]), attributes={"local_window_size": 3}),
    grouped("several_more", 3, 4, 7, np.array([7]), rotary=True),
    grouped("long_cache", 1, 12, 6, np.array([6, 4]), rotary=True),
    grouped("added", 1, 4, 5, np.array([5, 5]), added=normal(46, 1, 6, 1, 5)),
    grouped(
        "positions",
        1,
        4,
        5,
        np.array([5, 5]),
        rotary=True,
        positions=whole([[9], [2]], dtype="int64")[0],
    ),
)

CASES = (*ATTENTION, *MULTI_HEAD, *ROTARY, *GROUP_QUERY)
