"""Compositions with random shapes and attributes give what ONNX Runtime gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.microsoft.case import Array, Case, normal
from tests.microsoft.test_cases import assert_right, outputs

sizes = st.integers(1, 6)
flags = st.integers(0, 1)


@st.composite
def products(draw: st.DrawFn) -> Case:
    """FusedMatMul of matrices, batches and vectors, turned in all ways."""
    m, k, n = draw(sizes), draw(sizes), draw(sizes)
    batch = draw(st.lists(st.integers(1, 3), max_size=2))
    attributes: dict[str, Any] = {"alpha": draw(st.floats(-2, 2, width=32))}
    operands: list[Array] = []
    for which, shape in zip("AB", ((m, k), (k, n)), strict=True):
        turned = draw(flags)
        attributes[f"trans{which}"] = turned
        own = [*batch, *(shape[::-1] if turned else shape)]
        if draw(flags) and batch:
            attributes[f"transBatch{which}"] = 1
            own.insert(0, own.pop(-2))
        operands.append(normal(len(operands), *own))
    return Case("random", "FusedMatMul", operands, attributes)


def masks(draw: st.DrawFn, batch: int, length: int, total: int) -> Array | None:
    """A mask of any of its forms that leaves every query something to look at."""
    form = draw(st.sampled_from(["none", "lengths", "rows", "square"]))
    lengths = np.array(draw(st.lists(st.integers(1, total), min_size=batch, max_size=batch)))
    if form == "none":
        return None
    if form == "lengths":
        return lengths.astype(np.int32)
    rows = (np.arange(total) < lengths[:, None]).astype(np.int32)
    return rows if form == "rows" else np.repeat(rows[:, None], length, 1)


@st.composite
def attentions(draw: st.DrawFn) -> Case:
    """Attention with masks, a past and something added."""
    batch, length, heads, size, inner = (draw(st.integers(1, 4)) for _ in range(5))
    past = draw(st.integers(0, 3))
    hidden, total = heads * size, length + past
    added = not past and draw(flags)  # ONNX Runtime takes one of the two
    inputs = [
        normal(1, batch, length, inner),
        normal(2, inner, 3 * hidden),
        normal(3, 3 * hidden),
        masks(draw, batch, length, total),
        normal(4, 2, batch, heads, past, size) if past else None,
        normal(5, batch, heads, length, total) if added else None,
    ]
    while inputs[-1] is None:
        inputs.pop()
    attributes = {"num_heads": heads, "unidirectional": draw(flags)}
    return Case("random", "Attention", inputs, attributes, outputs=(True, True))


@st.composite
def multi_head_attentions(draw: st.DrawFn) -> Case:
    """MultiHeadAttention of two sequences."""
    batch, length, keys, heads, size, wide = (draw(st.integers(1, 4)) for _ in range(6))
    hidden = heads * size
    inputs = [
        normal(1, batch, length, hidden),
        normal(2, batch, keys, hidden),
        normal(3, batch, keys, heads * wide),
        normal(4, 2 * hidden + heads * wide) if draw(flags) else None,
        masks(draw, batch, length, keys),
        normal(5, 1, heads, length, keys) if draw(flags) else None,
    ]
    while inputs[-1] is None:
        inputs.pop()
    return Case("random", "MultiHeadAttention", inputs, {"num_heads": heads})


@st.composite
def rotations(draw: st.DrawFn) -> Case:
    """RotaryEmbedding of heads or of rows of them, whole or in part."""
    batch, length, heads, pairs = (draw(st.integers(1, 3)) for _ in range(4))
    rest = draw(st.integers(0, 2)) * 2
    size = 2 * pairs + rest
    shape = draw(st.sampled_from([(batch, length, heads * size), (batch, heads, length, size)]))
    positions = np.random.default_rng(1).integers(
        0, 8, draw(st.sampled_from([(1,), (batch, length)]))
    )
    if positions.shape == (1,):
        positions %= 9 - length
    attributes = {"interleaved": draw(flags)}
    if rest:
        attributes |= {"num_heads": heads, "rotary_embedding_dim": 2 * pairs}
    angles = normal(2, 8, pairs)
    inputs = [normal(3, *shape), positions, np.cos(angles), np.sin(angles)]
    return Case("random", "RotaryEmbedding", inputs, attributes)


@st.composite
def normalizations(draw: st.DrawFn) -> Case:
    """SkipLayerNormalization and its simplified kin."""
    batch, length, hidden = draw(sizes), draw(sizes), draw(st.integers(2, 40))
    dtype = draw(st.sampled_from(["float32", "float16"]))
    skip = draw(st.sampled_from([(batch, length, hidden), (1, length, hidden), (length, hidden)]))
    simple, extra = draw(flags), draw(flags)
    inputs: list[Array | None] = [normal(1, batch, length, hidden, dtype=dtype)]
    inputs += [normal(2, *skip, dtype=dtype), normal(3, hidden, dtype=dtype)]
    inputs += [] if simple else [normal(4, hidden, dtype=dtype) if draw(flags) else None]
    inputs += [normal(5, hidden, dtype=dtype)] if extra else []
    return Case(
        "random",
        "SkipSimplifiedLayerNormalization" if simple else "SkipLayerNormalization",
        inputs,
        {"epsilon": draw(st.sampled_from([1e-5, 1e-3]))},
        outputs=(True, False, False, True),
    )


@given(st.one_of(products(), attentions(), multi_head_attentions(), rotations(), normalizations()))
def test_random_case(case: Case) -> None:
    assert_right(outputs(case, "cpu")[0], case.right())
