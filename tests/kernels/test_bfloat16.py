"""bfloat16 against NumPy's integer arithmetic, on the CPU device and on a GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.kernels.test_tensor_core import any_floats, assert_same_floats, convert, rounded

FILE = Path(__file__).with_name("bfloat16.cu")


@pytest.mark.twins("cg_float_to_bfloat16_bits")
def test_bfloat16_is_the_nearest_with_ties_to_even(device: str) -> None:
    x = any_floats(1)
    bits = convert(device, FILE, "to_bfloat16", x, np.zeros(x.size, np.uint16))
    got = (bits.astype(np.uint32) << 16).view(np.float32)
    assert_same_floats(got, rounded(x, 16, ties_to_even=True))


def test_every_bfloat16_widens_exactly(device: str) -> None:
    x = np.arange(65536, dtype=np.uint16)
    got = convert(device, FILE, "from_bfloat16", x, np.zeros(x.size, np.float32))
    assert_same_floats(got, (x.astype(np.uint32) << 16).view(np.float32))
