"""Words of four bytes against NumPy, on the CPU device and on a GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.kernels.launching import launch

FILE = Path(__file__).with_name("byte_words.cu")
SIZE = 1024


@pytest.mark.twins("dot4", "dot4_lanes", "pick_bytes")
def test_words_of_bytes(device: str) -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(0, 2**32, SIZE, np.uint32) for _ in range(3))
    a[:4] = b[:2] = 0x80808080
    y = np.zeros((SIZE, 5), np.uint32)
    launch(device, FILE, "words", (SIZE // 4 // 64, 1, 1), (64, 1, 1), [a, b, c, y])
    signed = [part.view(np.int8).reshape(SIZE, 4).astype(np.int64) for part in (a, b)]
    dot = ((signed[0] * signed[1]).sum(1) + c).astype(np.uint32)
    both = np.stack([a, b], 1).view(np.uint8)  # 8 bytes each, the lowest first
    picked = [both[:, digits].copy().view(np.uint32)[:, 0] for digits in DIGITS]
    np.testing.assert_array_equal(y, np.stack([dot, dot, *picked], 1))


DIGITS = ([0, 1, 2, 3], [0, 4, 1, 5], [2, 6, 3, 7])
"""Those of 0x3210, 0x5140 and 0x7362, the last first."""
