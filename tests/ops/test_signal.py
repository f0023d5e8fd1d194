"""Transforms of random lengths against NumPy, their stages, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

from cugraphmodel.executors import open_device
from cugraphmodel.ir import Node, Value
from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.signal.dft import radices
from cugraphmodel.ops.spec import Unsupported, find
from tests.ops import harness


@given(st.integers(1, 10**7))
@example(2**40)
@example(10**9 + 7)
def test_stages_multiply_to_the_length(length: int) -> None:
    factors = radices(length)
    assert math.prod(factors) == length
    assert all(
        factor == 4 or all(factor % n for n in range(2, min(factor, 100))) for factor in factors
    )


@given(st.integers(1, 1024))
def test_stages_of_a_short_length_fit_into_one_argument(length: int) -> None:
    factors = radices(length)
    assert len(factors) <= 6
    assert max(factors, default=1) < 1024


@given(
    st.integers(1, 250),
    st.integers(1, 250),
    st.sampled_from([(0, 1, 0), (0, 2, 0), (0, 1, 1), (1, 2, 0), (1, 2, 1)]),
    st.integers(0, 2**16),
)
def test_transforms_of_any_length_agree_with_numpy(
    size: int, length: int, kind: tuple[int, int, int], seed: int
) -> None:
    inverse, parts, onesided = kind
    x = OpCase.random(seed, 2, size, 3, parts)
    attributes = {"inverse": inverse, "onesided": onesided}
    case = OpCase("random", "DFT", [x, np.array(length), np.array(1)], attributes, 20)
    (got,) = harness.run(case, open_device("cpu"))
    wide = x.astype(np.float64)
    z = wide[..., 0] + 1j * wide[..., -1] * (parts == 2)
    right: Any
    if inverse and onesided:
        right = np.fft.irfft(z, length, 1)[..., None]
    else:
        whole = np.fft.ifft(z, length, 1) if inverse else np.fft.fft(z, length, 1)
        kept = whole[:, : length // 2 + 1] if onesided else whole
        right = np.stack([kept.real, kept.imag], -1)
    np.testing.assert_allclose(got, right, rtol=3e-7, atol=1e-12 * length)


@pytest.mark.parametrize(
    ("op_type", "shapes", "host_values", "attributes", "part"),
    [
        ("DFT", [(2, 8, 2)], {}, {"onesided": 1}, "only of real input"),
        ("DFT", [(2, 8, 3)], {}, {}, "1 or 2 parts"),
        ("DFT", [(2, 8, 2)], {1: 0}, {}, "length 0"),
        ("DFT", [(2, 8, 2)], {2: -1}, {}, "The last axis"),
        ("STFT", [(2, 8, 2)], {1: 2}, {}, "only of a real signal"),
        ("STFT", [(2, 8, 1)], {1: 2, 3: 9}, {}, "do not fit"),
        ("STFT", [(2, 8, 1)], {1: 0}, {}, "do not fit"),
    ],
)
def test_what_has_no_meaning_is_refused(
    op_type: str,
    shapes: list[tuple[int, ...]],
    host_values: dict[int, int],
    attributes: dict[str, int],
    part: str,
) -> None:
    spec = find("", op_type, 20)
    assert spec is not None
    values = [Value(np.dtype("float32"), shape, "x") for shape in shapes]
    node = Node(
        op_type,
        ("x",),
        ("y",),
        version=20,
        attributes=attributes,
        host_values={position: np.array(number) for position, number in host_values.items()},
    )
    with pytest.raises(Unsupported, match=part):
        spec.infer(node, values)
