"""Host memory: replays keep none of it, and what a graph takes comes back."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

import cugraphmodel
from tests.api.builders import affine, build, normal

NUM_REPLAYS = 10_000
NUM_CYCLES = 100


def retained_bytes(work: Callable[[], object]) -> int:
    """Python bytes that are still held after ``work`` and were not before."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


def test_run_inplace_keeps_no_memory(device: str) -> None:
    with cugraphmodel.load(affine(), device=device).capture_graph(2) as graph:
        graph.input_slice_mut(0)[...] = normal(3, 2, 4)
        graph.run_inplace()

        def replay() -> None:
            for _ in range(NUM_REPLAYS):
                graph.run_inplace()

        assert retained_bytes(replay) < 2_000


def test_the_other_ways_to_run_keep_no_memory_either(device: str) -> None:
    x = [normal(3, 2, 4)]
    with cugraphmodel.load(affine(), device=device).capture_graph(2) as graph:
        graph.run_timed(x)

        def replay() -> None:
            for _ in range(NUM_REPLAYS // 5):
                graph.run(x)
                graph.run_timed(x)
                graph.run_timed_inplace()
                graph.output_slice(0)

        assert retained_bytes(replay) < NUM_REPLAYS


def big_weights() -> bytes:
    """A model with 4 MB of weights, so that one that is not given back shows."""
    proto = build(
        "(float[N,1024] x) => (float[N,1024] y)", "y = MatMul(x, w)", w=normal(1, 1024, 1024)
    )
    return bytes(proto.SerializeToString())


def cycle(data: bytes, device: str) -> None:
    model = cugraphmodel.load(data, device=device)
    with model.capture_graph(1) as graph:
        graph.run([np.ones((1, 1024), np.float32)])


def test_load_capture_run_close_gives_all_memory_back(device: str) -> None:
    data = big_weights()
    for _ in range(5):
        cycle(data, device)
    gc.collect()
    start = resident_bytes()

    def cycles() -> None:
        for _ in range(NUM_CYCLES):
            cycle(data, device)

    kept = retained_bytes(cycles)
    assert kept < 200_000
    assert resident_bytes() - start < 40_000_000


def test_graphs_that_are_only_dropped_are_given_back_too(device: str) -> None:
    data = big_weights()
    cycle(data, device)

    def drop() -> None:
        for _ in range(20):
            graph = cugraphmodel.load(data, device=device).capture_graph(1)
            graph.run([np.ones((1, 1024), np.float32)])
            del graph
            gc.collect()

    assert retained_bytes(drop) < 200_000


def test_graphs_of_one_model_share_its_weights(device: str) -> None:
    model = cugraphmodel.load(big_weights(), device=device)
    with model.capture_graph(1) as first:
        first.run([np.ones((1, 1024), np.float32)])
        graphs: list[cugraphmodel.CudaGraphModel] = []
        more = retained_bytes(lambda: graphs.extend(model.capture_graph(1) for _ in range(8)))
        assert more < 2 * 4_194_304
        for graph in graphs:
            graph.close()
