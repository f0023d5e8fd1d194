"""Asynchronous copies against NumPy, on the CPU device and on a GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.host.support import random
from tests.kernels.launching import Array, Macros, launch

FILE = Path(__file__).with_name("async_copy.cu")


@pytest.mark.twins("cg_cp_async", "cg_cp_async_commit", "cg_cp_async_wait", "cg_cp_async_wait_all")
@pytest.mark.parametrize("wait", ["group", "all"])
@pytest.mark.parametrize("num_bytes", [4, 8, 16])
def test_valid_bytes_are_copied_and_the_rest_is_zero(
    num_bytes: int, wait: str, device: str
) -> None:
    rng = np.random.default_rng(num_bytes)
    x = rng.integers(1, 256, (5 * 64, num_bytes)).astype(np.uint8)
    valid = rng.integers(0, num_bytes + 1, len(x)).astype(np.int32)
    valid[:2] = 0, num_bytes
    y = np.zeros_like(x)
    macros: Macros = (("BYTES", str(num_bytes)),)
    if wait == "all":
        macros += (("WAIT_ALL", "1"),)
    launch(device, FILE, "copy", (5, 1, 1), (64, 1, 1), [x, valid, y], macros)
    np.testing.assert_array_equal(y, np.where(np.arange(num_bytes) < valid[:, None], x, 0))


@pytest.mark.twins("cg_cp_async", "cg_cp_async_commit", "cg_cp_async_wait", "cg_cp_async_wait_all")
@pytest.mark.parametrize("columns", [1, 4, 7, 61])
@pytest.mark.parametrize("stages", [2, 3])
def test_a_pipeline_of_tiles_loses_nothing(stages: int, columns: int, device: str) -> None:
    x = np.round(random(stages, 150, columns) * 100)  # sums are exact
    y = np.zeros(150, np.float32)
    args: list[Array | np.generic] = [x, y, np.int32(150), np.int32(columns)]
    launch(device, FILE, "row_sums", (3, 1, 1), (64, 1, 1), args, (("STAGES", str(stages)),))
    np.testing.assert_array_equal(y, x.sum(1))
