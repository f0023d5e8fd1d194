"""On a GPU: what a graph takes comes back, and a replay takes nothing."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import cugraphmodel
from cugraphmodel.errors import DeviceMemoryError
from tests.api.builders import build, normal

pytestmark = pytest.mark.gpu
WIDTH = 1024
NUM_CYCLES = 100


def big_layer() -> bytes:
    """One MatMul with 4 MiB of weights."""
    proto = build(
        f"(float[N,{WIDTH}] x) => (float[N,{WIDTH}] y)",
        "y = MatMul(x, w)",
        w=normal(1, WIDTH, WIDTH),
    )
    return bytes(proto.SerializeToString())


@pytest.fixture
def pinned_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[weakref.WeakSet[Any]]:
    """The blocks of pinned memory that are alive."""
    import cupy.cuda

    alive: weakref.WeakSet[Any] = weakref.WeakSet()

    class Counted(cupy.cuda.PinnedMemory):  # type: ignore[misc]
        def __init__(self, size: int, flags: int = 0) -> None:
            super().__init__(size, flags)
            alive.add(self)

    monkeypatch.setattr(cupy.cuda, "PinnedMemory", Counted)
    yield alive
    gc.collect()
    assert not alive


def free_bytes() -> int:
    import cupy

    gc.collect()
    free: int = cupy.cuda.runtime.memGetInfo()[0]
    return free


def test_device_and_pinned_memory_come_back(pinned_blocks: weakref.WeakSet[Any]) -> None:
    data = big_layer()
    x = normal(2, 8, WIDTH)

    def cycle() -> None:
        with cugraphmodel.load(data, device="cuda").capture_graph(8) as graph:
            graph.run([x])
            assert len(pinned_blocks) == 2, "one block for each input and output"
        assert not pinned_blocks

    for _ in range(3):
        cycle()
    before = free_bytes()
    for _ in range(NUM_CYCLES):
        cycle()
    assert free_bytes() == before


def test_memory_comes_back_when_nobody_closes(pinned_blocks: weakref.WeakSet[Any]) -> None:
    data = big_layer()

    def cycle() -> None:
        cugraphmodel.load(data, device="cuda").capture_graph(8).run([normal(2, 8, WIDTH)])

    cycle()
    before = free_bytes()
    for _ in range(10):
        cycle()
    assert free_bytes() == before
    assert not pinned_blocks


def test_a_view_keeps_only_its_own_pinned_memory(pinned_blocks: weakref.WeakSet[Any]) -> None:
    graph = cugraphmodel.load(big_layer(), device="cuda").capture_graph(8)
    right = graph.run([normal(2, 8, WIDTH)])[0]
    view = graph.output_slice(0)
    graph.close()
    del graph
    gc.collect()
    assert [block.size for block in pinned_blocks] == [view.nbytes]
    np.testing.assert_array_equal(view, right)
    del view


def test_run_inplace_takes_no_device_or_pinned_memory(
    pinned_blocks: weakref.WeakSet[Any],
) -> None:
    with cugraphmodel.load(big_layer(), device="cuda").capture_graph(8) as graph:
        graph.run_inplace()
        graph.run_timed_inplace()
        before, num_pinned = free_bytes(), len(pinned_blocks)
        for _ in range(1000):
            graph.run_inplace()
            graph.run_timed_inplace()
        assert (free_bytes(), len(pinned_blocks)) == (before, num_pinned)


def test_cupy_pools_are_not_touched() -> None:
    import cupy

    pool, pinned = cupy.get_default_memory_pool(), cupy.get_default_pinned_memory_pool()
    before = pool.total_bytes(), pinned.n_free_blocks()
    with cugraphmodel.load(big_layer(), device="cuda").capture_graph(8) as graph:
        graph.run([normal(2, 8, WIDTH)])
    assert (pool.total_bytes(), pinned.n_free_blocks()) == before


def test_a_graph_that_does_not_fit_takes_nothing() -> None:
    import cupy

    with cugraphmodel.load(big_layer(), device="cuda").capture_graph(1):
        before, total = free_bytes(), cupy.cuda.runtime.memGetInfo()[1]
        model = cugraphmodel.load(big_layer(), device="cuda")
        with pytest.raises(DeviceMemoryError, match=r"bytes of GPU memory are needed") as raised:
            model.capture_graph(total // (4 * WIDTH))
        assert raised.value.need_bytes > raised.value.have_bytes  # type: ignore[attr-defined]
        assert free_bytes() == before
        with model.capture_graph(1) as graph:
            graph.run([normal(2, 1, WIDTH)])


def test_inputs_of_many_megabytes() -> None:
    size = 6_000_000
    proto = build(
        f"(float[{size}] a, float[{size}] b) => (float[{size}] y, float[{size}] z)",
        "y = Sub(a, b) z = Mul(a, b)",
    )
    a, b = normal(1, size), normal(2, size)
    with cugraphmodel.load(proto, device="cuda").capture_graph() as graph:
        for _ in range(3):
            y, z = graph.run([a, b])
            np.testing.assert_array_equal(y, a - b)
            np.testing.assert_array_equal(z, a * b)
