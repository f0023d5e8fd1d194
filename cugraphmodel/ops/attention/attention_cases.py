"""Cases of FusedAttention."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cugraphmodel.ops.attention.attention import factor_dtype
from cugraphmodel.ops.attention.layout import AttentionLayout, Place
from cugraphmodel.ops.case import Array, OpCase
from cugraphmodel.ops.strides import broadcast_strides, contiguous_strides

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
        for bias, place in zip(more, layout.biases, strict=True):
            added = added + _placed(bias.astype(np.float64), place, scores_shape)
        offset = attributes.get("causal_offset")
        if offset is not None:
            ahead = np.arange(layout.num_keys) > np.arange(layout.num_rows)[:, None] + offset
            added = added + np.where(ahead, -np.inf, 0)
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
    """A case of q, k, v and perhaps keep and biases."""
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
    yield _plain("many_parts", 1, 2, 3, 900, 16, 48)
    yield _plain("wide_parts", 1, 1, 2, 300, 8, 200)
    yield _plain("parts_float64", 1, 2, 10, 301, 8, 7, dtype="float64")
    yield _plain("parts_float16", 1, 2, 10, 301, 8, 7, dtype="float16")
    for dtype in ("float16", "bfloat16", "float64"):
        yield _plain(f"{dtype}", 2, 2, 20, 70, 32, 40, dtype=dtype)
        yield _plain(f"{dtype}_odd", 2, 2, 20, 70, 17, 19, dtype=dtype)
    yield _plain("float64_of_256", 1, 2, 10, 40, 256, 256, dtype="float64")
    yield _plain("float64_four_rows", 7, 12, 40, 40, 64, 64, dtype="float64")


def _masked(
    name: str,
    shape: Sequence[int],
    *,
    keep: bool = False,
    bias: Array | None = None,
    rows: int = 9,
    keys: int = 70,
    dtype: str = "float32",
    factors: Sequence[float] = (),
    **attributes: Any,
) -> OpCase:
    """2 batches of 3 heads; the mask has ``shape``, which broadcasts to [2, 3, rows, keys]."""
    layout = _heads_first(2, 3, rows, keys, 8, 8)
    *lead, row, column = broadcast_strides(shape, 4)
    place = Place(tuple(lead), row, column)
    inputs: list[Array | None] = [*_random(layout, dtype)]
    if keep:
        layout = replace(layout, keep=place)
        inputs.append(OpCase.random(5, *shape) > -0.5)
    else:
        layout = replace(layout, biases=(place,))
        inputs += [None, OpCase.random(6, *shape, dtype=dtype) if bias is None else bias]
    return attention(name, inputs, layout, (2, 3, rows, 8), factors, **attributes)


def _masks() -> Iterator[OpCase]:
    for shape in ((9, 70), (2, 1, 1, 70), (3, 9, 1), (2, 3, 9, 70)):
        name = "_".join(map(str, shape))
        yield _masked(f"bias_{name}", shape)
        yield _masked(f"keep_{name}", shape, keep=True)
    yield _masked("keep_where_false", (9, 70), keep=True, keep_where=False)
    for fill in (-1e9, -2.0, 3.0):
        yield _masked(f"fill_{fill}", (9, 70), keep=True, factors=(0.5, 1.0, fill))
    yield _masked("capped", (9, 70), capped=True, factors=(0.1, 5.0))
    for dtype in ("float16", "bfloat16", "float64"):
        yield _masked(f"bias_{dtype}", (9, 70), dtype=dtype)
        yield _masked(f"capped_{dtype}", (9, 70), dtype=dtype, capped=True, factors=(0.1, 5.0))
    layout = replace(_heads_first(2, 3, 9, 70, 8, 8), keep=Place((0, 0), 70, 1))
    layout = replace(layout, biases=(Place((0, 630), 1, 9),))
    masks = [OpCase.random(7, 9, 70, dtype="bool"), OpCase.random(8, 3, 70, 9)]
    places = (layout.biases[0], Place((70, 0), 0, 1))
    two = replace(layout, keep=None, biases=places)
    more = [None, masks[1], OpCase.random(9, 2, 70)]
    yield attention("two_biases", [*_random(layout), *more], two, (2, 3, 9, 8), (0.3,))
    yield attention(
        "keep_and_bias", [*_random(layout), *masks], layout, (2, 3, 9, 8), (0.3, 1.0, -5.0)
    )


def _causal() -> Iterator[OpCase]:
    for offset in (-150, -40, 0, 1, 60, 199, 300):
        yield _plain(f"offset_{offset}", 1, 2, 150, 200, 8, 8, causal_offset=offset)
    for empty in ("closed", "any"):
        yield _plain(f"offset_-40_{empty}", 1, 2, 150, 200, 8, 8, causal_offset=-40, empty=empty)
    yield _plain("causal_without_parts", 1, 8, 150, 200, 8, 8, causal_offset=0)
    yield _plain("causal_odd", 1, 2, 150, 200, 7, 5, causal_offset=0)
    for dtype in ("float16", "float64"):
        yield _plain(f"causal_{dtype}", 1, 2, 70, 200, 8, 8, dtype=dtype, causal_offset=3)
    layout = replace(_heads_first(1, 2, 150, 200, 8, 8), biases=(Place((0, 0), 0, 1),))
    inputs = [*_random(layout), None, OpCase.random(8, 200)]
    yield attention("causal_and_bias", inputs, layout, (1, 2, 150, 8), causal_offset=0)
    two = replace(layout, biases=(Place((0, 0), 0, 1),) * 2)
    for number, first in itertools.product((np.nan, np.inf, -np.inf), (False, True)):
        wild = OpCase.random(8, 200)
        wild[190] = number
        biases = [wild, OpCase.random(9, 200)][:: 1 if first else -1]
        inputs = [*_random(layout), None, *biases]
        name = f"causal_{number}_bias_{2 - first}"
        yield attention(name, inputs, two, (1, 2, 150, 8), causal_offset=0)
    # What lies ahead of all rows is not multiplied, but still reaches them where 0 times it is NaN.
    for name, operand, number in (
        ("nan_value", 2, np.nan), ("infinite_value", 2, np.inf), ("nan_key", 1, np.nan),
        ("infinite_key", 1, np.inf), ("large_key", 1, 1e37), ("infinite_query", 0, np.inf),
        ("large_query", 0, 1e37), ("large_value", 2, 1e37),
    ):  # fmt: skip
        layout = _heads_first(1, 2, 150, 200, 8, 8)
        operands = _random(layout)
        operands[operand][0, 1, -1, 3] = number
        yield attention(f"causal_{name}", operands, layout, (1, 2, 150, 8), causal_offset=0)
    for name, factors, numbers in (
        ("query", (1.0,), (1e200, 1e115)), ("scale", (1e100,), (1e115, 1e115)),
    ):  # fmt: skip
        layout = _heads_first(1, 2, 150, 200, 8, 8)
        operands = _random(layout, "float64")
        operands[0][0, 1, 0, 3], operands[1][0, 1, -1, 3] = numbers
        name = f"causal_overflow_by_{name}"
        yield attention(name, operands, layout, (1, 2, 150, 8), factors, causal_offset=0)


def _special() -> Iterator[OpCase]:
    """Rows without an answer, and numbers that are none."""
    closed = OpCase.random(6, 9, 70)
    closed[1] = closed[4, 1:] = closed[5, :65] = -np.inf
    closed[7, 3], closed[8, 66] = np.nan, np.inf
    for empty in ("nan", "closed", "any"):
        yield _masked(f"closed_{empty}", (9, 70), bias=closed, empty=empty)
        narrow = closed.astype("float16")
        yield _masked(f"closed_{empty}_float16", (9, 70), bias=narrow, dtype="float16", empty=empty)
        yield _masked(f"all_kept_out_{empty}", (9, 1), keep=True, empty=empty)
        layout = replace(_heads_first(2, 3, 9, 70, 8, 8), biases=(Place((0, 0), 70, 1),))
        for operand, number in itertools.product(range(3), (np.nan, np.inf, -np.inf)):
            operands = _random(layout)
            operands[operand][0, 0, 1, 2] = operands[operand][1, 2, 6, 5] = number
            name = f"{'qkv'[operand]}_{number}_{empty}"
            inputs = [*operands, None, closed]
            yield attention(name, inputs, layout, (2, 3, 9, 8), empty=empty)
    long = OpCase.random(6, 9, 300)
    long[1] = long[2, :280] = long[3, 20:] = -np.inf
    long[4, 290], long[5, 2] = np.nan, np.inf
    for empty in ("nan", "closed", "any"):
        yield _masked(f"parts_{empty}", (9, 300), bias=long, keys=300, empty=empty)
    layout = _heads_first(1, 1, 4, 200, 4, 4)
    q, k, v = _random(layout)
    yield attention("large_scores", [100 * q, 100 * k, v], layout, (1, 1, 4, 4))
    rising = np.linspace(-3, 3, 200, dtype=np.float32)[:, None] * np.ones(4, np.float32)
    yield attention("rising", [q, rising[None, None], v], layout, (1, 1, 4, 4), (20.0,))


def _layouts() -> Iterator[OpCase]:
    """q, k and v in one tensor, groups of heads, and other places."""
    batch, rows, heads, size = 2, 19, 3, 8
    for dtype, extra in itertools.product(("float32", "float16"), (0, 1)):
        token = 3 * heads * size + extra
        places = [Place((rows * token, size), token, 1, part * heads * size) for part in range(3)]
        output = Place((rows * heads * size, size), heads * size, 1)
        layout = AttentionLayout(
            (batch, heads), rows, rows, size, size, places[0], places[1], places[2], output
        )
        packed = OpCase.random(1, batch, rows, token, dtype=dtype)
        shape = (batch, rows, heads, size)
        yield attention(f"packed_{dtype}_{extra}", [packed] * 3, layout, shape)
    keys, group = 70, 2
    shared = Place((keys * heads * size, size, 0), heads * size, 1)
    queries = Place((rows * 48, group * size, size), heads * group * size, 1)
    layout = AttentionLayout(
        (batch, heads, group), rows, keys, size, size, queries, shared, shared, queries
    )
    inputs = [OpCase.random(1, batch, rows, heads * group * size)]
    inputs += [OpCase.random(2 + i, batch, keys, heads * size) for i in range(2)]
    yield attention("groups", inputs, layout, inputs[0].shape)
    rows_of_groups = Place((heads * group * size, group * size), size, 1)
    layout = AttentionLayout(
        (batch, heads), group, keys, size, size, rows_of_groups,
        Place((keys * heads * size, size), heads * size, 1),
        Place((keys * heads * size, size), heads * size, 1), rows_of_groups,
    )  # fmt: skip
    one_row = [inputs[0][:, :1].copy(), *inputs[1:]]
    yield attention("groups_of_one_row", one_row, layout, one_row[0].shape)
    for dtype, (positions, keys, width) in itertools.product(
        ("float32", "float16"), ((20, 30, 8), (21, 300, 5), (9, 70, 200))
    ):
        query, key, value, output = (
            Place((3 * size * length, size * length), 1, length)
            for size, length in ((12, positions), (12, keys), (width, keys), (width, positions))
        )
        layout = AttentionLayout((2, 3), positions, keys, 12, width, query, key, value, output)
        inputs = [OpCase.random(1, 2, 3, 12, positions, dtype=dtype)]
        inputs += [
            OpCase.random(2 + i, 2, 3, n, keys, dtype=dtype) for i, n in enumerate((12, width))
        ]
        name = f"images_{positions}_{keys}_{width}_{dtype}"
        yield attention(name, inputs, layout, (2, 3, width, positions))
    lead = (2, 3, 2, 2)
    far = _dense((*lead, 5, 4))
    layout = AttentionLayout(
        lead, 5, 5, 4, 4, far, replace(far, lead=(120, 0, 20, 0)), far,
        replace(far, lead=(*far.lead[1::-1], *far.lead[2:])),
        biases=(Place((0, 0, 25, 0), 5, 1),),
    )  # fmt: skip
    layout = replace(layout, output=far)
    inputs = [OpCase.random(i, *lead, 5, 4) for i in range(3)]
    yield attention("four_axes", [*inputs, None, OpCase.random(9, 2, 5, 5)], layout, (*lead, 5, 4))
    plain = Place((), 4, 1)
    layout = AttentionLayout((), 5, 5, 4, 4, plain, plain, plain, plain)
    yield attention("no_axes", [OpCase.random(i, 5, 4) for i in range(3)], layout, (5, 4))


CASES = [*_sizes(), *_masks(), *_causal(), *_special(), *_layouts()]
