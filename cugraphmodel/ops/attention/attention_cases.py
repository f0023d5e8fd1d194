"""Cases of FusedAttention."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cugraphmodel.ops.attention.attention import AttentionLayout, Place, factor_dtype
from cugraphmodel.ops.case import Array, OpCase
from cugraphmodel.ops.strides import contiguous_strides

__all__ = ["CASES", "attention", "oracle"]


def _placed(array: Array, place: Place, sizes: Sequence[int]) -> Array:
    """[*sizes] where it lies in an array."""
    strides = [stride * array.itemsize for stride in (*place.lead, place.row, place.column)]
    return np.lib.stride_tricks.as_strided(array.ravel()[place.offset :], sizes, strides)


def oracle(
    layout: AttentionLayout, shape: Sequence[int], attributes: dict[str, Any]
) -> Callable[..., list[Array]]:
    """The whole matrix of scores, in float64."""
    rows, keys = (*layout.lead, layout.num_rows), (*layout.lead, layout.num_keys)
    scores_shape = (*rows, layout.num_keys)

    def expected(
        q: Array, k: Array, v: Array, factors: Array, keep: Array | None = None, *more: Array
    ) -> list[Array]:
        scale, cap, fill = factors.astype(np.float64)
        queries = _placed(q.astype(np.float64), layout.query, (*rows, layout.depth))
        across = _placed(k.astype(np.float64), layout.key, (*keys, layout.depth))
        values = _placed(v.astype(np.float64), layout.value, (*keys, layout.width))
        scores = scale * np.einsum("...rd,...kd->...rk", queries, across)
        if attributes.get("capped"):
            scores = cap * np.tanh(scores)
        if keep is not None and layout.keep is not None:
            kept = _placed(keep, layout.keep, scores_shape)
            scores = np.where(kept == attributes.get("keep_where", True), scores, fill)
        added = np.zeros(scores_shape)
        if more and layout.bias is not None:
            added = _placed(more[0].astype(np.float64), layout.bias, scores_shape).copy()
        offset = attributes.get("causal_offset")
        if offset is not None:
            ahead = np.arange(layout.num_keys) > np.arange(layout.num_rows)[:, None] + offset
            added = np.where(ahead, -np.inf, added)
        scores = scores + added
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        if attributes.get("empty") == "closed":
            weights = np.where((added == -np.inf).all(-1, keepdims=True), 0, weights)
        if attributes.get("empty") == "any":
            weights = np.where(np.isnan(weights), 0, weights)
        result = np.einsum("...rk,...kw->...rw", weights, values)
        y = np.zeros(shape)
        _placed(y, layout.output, result.shape)[...] = result
        return [y]

    return expected


def attention(
    name: str,
    inputs: Sequence[Array | None],
    layout: AttentionLayout,
    shape: Sequence[int],
    factors: Sequence[float] = (),
    **attributes: Any,
) -> OpCase:
    """A case of q, k, v and perhaps keep and bias."""
    q, k, v, *masks = inputs
    assert q is not None
    given = [*factors, *(1 / math.sqrt(layout.depth), 1.0, -np.inf)[len(factors) :]]
    return OpCase(
        name,
        "FusedAttention",
        [q, k, v, np.array(given, factor_dtype(q.dtype)), *masks],
        {"layout": layout, "shape": tuple(shape), **attributes},
        1,
        constant_inputs=frozenset({3}),
        domain="cugraphmodel",
        expected=oracle(layout, shape, attributes),
    )


def _dense(shape: Sequence[int]) -> Place:
    *lead, row, column = contiguous_strides(shape)
    return Place(tuple(lead), row, column)


def _heads_first(
    batch: int, heads: int, rows: int, keys: int, depth: int, width: int
) -> AttentionLayout:
    """q, k and v as [batch, head, row, element]."""
    lead = (batch, heads)
    return AttentionLayout(
        lead, rows, keys, depth, width,
        query=_dense((*lead, rows, depth)), key=_dense((*lead, keys, depth)),
        value=_dense((*lead, keys, width)), output=_dense((*lead, rows, width)),
    )  # fmt: skip


def _random(layout: AttentionLayout, dtype: str = "float32", seed: int = 1) -> list[Array]:
    rows, keys = (*layout.lead, layout.num_rows), (*layout.lead, layout.num_keys)
    shapes = (*rows, layout.depth), (*keys, layout.depth), (*keys, layout.width)
    return [OpCase.random(seed + i, *shape, dtype=dtype) for i, shape in enumerate(shapes)]


def _plain(name: str, *sizes: int, dtype: str = "float32", **attributes: Any) -> OpCase:
    batch, heads, rows, keys, depth, width = sizes
    layout = _heads_first(batch, heads, rows, keys, depth, width)
    shape = (batch, heads, rows, width)
    return attention(name, _random(layout, dtype), layout, shape, **attributes)


def _sizes() -> Iterator[OpCase]:
    for rows, keys in ((1, 1), (1, 200), (7, 7), (9, 64), (33, 65), (40, 130)):
        yield _plain(f"rows_{rows}_keys_{keys}", 2, 3, rows, keys, 32, 32)
    for depth, width in ((1, 1), (3, 5), (16, 48), (40, 33), (64, 64), (80, 128), (256, 200)):
        yield _plain(f"depth_{depth}_width_{width}", 1, 2, 10, 70, depth, width)
    yield _plain("two_rows_a_thread", 11, 12, 18, 20, 16, 16)
    yield _plain("four_rows_a_thread", 7, 12, 70, 50, 64, 64)
    yield _plain("four_rows_of_128", 12, 12, 33, 66, 128, 128)
    yield _plain("two_rows_of_256", 12, 12, 17, 66, 256, 256)
    for dtype in ("float16", "bfloat16", "float64"):
        yield _plain(f"{dtype}", 2, 2, 20, 70, 32, 40, dtype=dtype)
        yield _plain(f"{dtype}_odd", 2, 2, 20, 70, 17, 19, dtype=dtype)
    yield _plain("float64_of_256", 1, 2, 10, 40, 256, 256, dtype="float64")
    yield _plain("float64_four_rows", 7, 12, 40, 40, 64, 64, dtype="float64")


CASES = [*_sizes()]
