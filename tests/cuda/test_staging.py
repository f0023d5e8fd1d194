"""The kernel that copies inputs and outputs, run by the host executor from the same source."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cugraphmodel.executors.cuda import staging
from cugraphmodel.executors.cuda.staging import COPY_KERNEL, Copy, CopyNode, bind_copies
from cugraphmodel.executors.cuda.work import BoundLaunch
from cugraphmodel.executors.host.module import HostModule
from cugraphmodel.kernels.source import load_source

GUARD = 16
SIZES = [1, 4, 15, 16, 17, 31, 32, 4095, 4096, 4097, 8 * 4096 + 3, 100_000]


@pytest.fixture(scope="module")
def host_kernel() -> Any:
    return HostModule(load_source(COPY_KERNEL.source)).get_function(COPY_KERNEL.entry)


def aligned(num_bytes: int) -> np.ndarray:
    """Bytes of value 255 on a 16-byte boundary, with a guard behind them."""
    block = np.full(num_bytes + GUARD + 15, 255, np.uint8)
    return block[-block.ctypes.data % 16 :][: num_bytes + GUARD]


def test_bytes_arrive_and_nothing_else_is_touched(host_kernel: Any) -> None:
    rng = np.random.default_rng(0)
    sources = [rng.integers(0, 255, size, np.uint8) for size in SIZES]
    held = [aligned(size) for size in SIZES]
    for block, data in zip(held, sources, strict=True):
        block[: data.size] = data
    targets = [aligned(size) for size in SIZES]
    copies = [
        Copy(target.ctypes.data, block.ctypes.data, size)
        for target, block, size in zip(targets, held, SIZES, strict=True)
    ]
    commands = list(bind_copies(copies, None, to_device=True))
    assert len(commands) == 2, "8 and 4"
    for command in commands:
        assert isinstance(command, BoundLaunch)
        launch = command.launch
        assert launch.args[0].tobytes() == command.arguments[0].tobytes()  # type: ignore[union-attr]
        host_kernel(launch.grid, launch.block, launch.args)
    for target, data in zip(targets, sources, strict=True):
        np.testing.assert_array_equal(target[: data.size], data)
        assert (target[data.size :] == 255).all()


def test_copies_of_nothing_are_left_out_and_large_ones_are_copy_nodes() -> None:
    limit = staging.MAX_KERNEL_COPY_BYTES
    copies = [Copy(0, 0, size) for size in (0, limit, limit + 1, 0)]
    small, large = bind_copies(copies, None, to_device=False)
    assert isinstance(small, BoundLaunch)
    assert small.launch.grid == (limit // 4096, 1, 1)
    assert large == CopyNode(copies[2], to_device=False)
    assert list(bind_copies(copies[:1], None, to_device=False)) == []
