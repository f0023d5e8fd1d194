"""Attention over random sizes, places and masks against its definition in NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from cugraphmodel.executors import open_device
from cugraphmodel.ir import Node, Value
from cugraphmodel.ops.attention.attention_cases import attention
from cugraphmodel.ops.attention.layout import AttentionLayout, Place
from cugraphmodel.ops.case import Array, OpCase
from cugraphmodel.ops.launch import Launch
from cugraphmodel.ops.spec import Unsupported, find
from tests.ops import harness

KINDS: tuple[dict[str, Any], ...] = (
    {},
    {"causal_offset": 2},
    {"bias": True, "empty": "closed"},
    {"bias": True, "empty": "any", "causal_offset": 0},
    {"keep": True, "keep_where": False},
    {"keep": True, "bias": True, "capped": True},
    {"bias": True, "bias_2": True},
)


def _placed(draw: st.DrawFn, *sizes: int, is_mask: bool = False) -> tuple[tuple[int, ...], Place]:
    """A tensor's shape, and a place in it for [*lead, rows, columns] in any order of axes."""
    order = draw(st.permutations(range(len(sizes))))
    repeated = {axis for axis in order[:2] if is_mask and draw(st.booleans())}
    strides = [0] * len(sizes)
    step = 1
    for axis in order[::-1]:
        if axis not in repeated:
            strides[axis] = step
            step *= sizes[axis]
    padding = draw(st.integers(0, 4))
    place = Place(tuple(strides[:-2]), strides[-2], strides[-1], padding)
    return (step + padding,), place


@st.composite
def attentions(draw: st.DrawFn) -> OpCase:
    """An attention of some kind: its tensors, where they lie in memory, and the right answer."""
    lead = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    rows, keys = draw(st.integers(1, 20)), draw(st.integers(1, 150))
    depth, width = draw(st.integers(1, 40)), draw(st.integers(1, 12))
    kind = dict(draw(st.sampled_from(KINDS)))
    (q_shape, q), (k_shape, k) = (
        _placed(draw, *lead, rows, depth),
        _placed(draw, *lead, keys, depth),
    )
    (v_shape, v), (y_shape, y) = (
        _placed(draw, *lead, keys, width),
        _placed(draw, *lead, rows, width),
    )
    seed = draw(st.integers(0, 2**16))
    inputs: list[Array | None] = [
        OpCase.random(seed + i, *shape) for i, shape in enumerate((q_shape, k_shape, v_shape))
    ]
    keep, biases = None, []
    if kind.pop("keep", False):
        shape, keep = _placed(draw, *lead, rows, keys, is_mask=True)
        inputs.append(OpCase.random(seed, *shape, dtype="bool"))
    else:
        inputs.append(None)
    for i, name in enumerate(("bias", "bias_2")):
        if kind.pop(name, False):
            shape, place = _placed(draw, *lead, rows, keys, is_mask=True)
            inputs.append(OpCase.random(seed + 3 + i, *shape))
            biases.append(place)
    layout = AttentionLayout(lead, rows, keys, depth, width, q, k, v, y, keep, tuple(biases))
    factors = (0.7, 1.5, draw(st.sampled_from([-30.0, -1.0])))
    return attention("random", inputs, layout, y_shape, factors, **kind)


@given(attentions())
def test_agrees_with_its_definition(case: OpCase) -> None:
    (got,) = harness.run(case, open_device("cpu"))
    (right,) = harness.expected_outputs(case)
    written = right != 0  # between the rows of the output nothing is written
    np.testing.assert_allclose(got[written], right[written], rtol=1e-4, atol=1e-5)


def _launches(layout: AttentionLayout, dtype: str = "float32") -> list[Launch]:
    sizes = [2**22, 2**22, 2**22]
    values = [Value(np.dtype(dtype), (size,), f"in{i}") for i, size in enumerate(sizes)]
    factors = Value(np.dtype("float64" if dtype == "float64" else "float32"), (3,), "factors")
    attributes = {"layout": layout, "shape": (2**22,)}
    node = Node("FusedAttention", (), ("y",), domain="cugraphmodel", attributes=attributes)
    spec = find("cugraphmodel", "FusedAttention", 1)
    assert spec is not None
    (inferred,) = spec.infer(node, [*values, factors])
    y = Value(inferred.dtype, inferred.shape, "y")
    return [*spec.lower(node, [*values, factors], [y])]


def _layout(heads: int, rows: int, size: int) -> AttentionLayout:
    place = Place((rows * size,), size, 1)
    return AttentionLayout((heads,), rows, rows, size, size, place, place, place, place)


def test_fills_a_large_gpu_before_it_takes_large_tiles() -> None:
    for heads, rows, expected in ((12, 128, "1"), (96, 128, "4"), (200, 16, "2")):
        (launch,) = _launches(_layout(heads, rows, 32))
        assert dict(launch.macros)["THREAD_ROWS"] == expected


def test_shares_the_keys_of_few_long_heads() -> None:
    layout = replace(_layout(8, 1, 64), num_keys=4000)
    launch, join = _launches(layout)
    assert launch.grid == (8, 21, 1)  # of three tiles of keys each
    assert join.grid == (8, 1, 1)
    assert launch.args[7] is None
    assert launch.args[8] is join.args[1]
    assert len(_launches(replace(_layout(8, 100, 64), num_keys=4000))) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 32, 64, 65, 100, 128, 200, 256])
def test_fits_into_shared_memory(size: int, dtype: str) -> None:
    assert _launches(_layout(100, 64, size), dtype)[0].shared_bytes <= 48 * 1024


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (_layout(1, 4, 257), "are too large"),
        (_layout(2**20, 4, 4), "is not within"),
        (_layout(0, 4, 4), "are outside the kernel's"),
    ],
    ids=["head", "reach", "empty"],
)
def test_refuses(layout: AttentionLayout, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        _launches(layout)
