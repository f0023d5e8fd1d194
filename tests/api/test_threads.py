"""Graphs are usable from any thread; one graph takes its callers in turn."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import cugraphmodel
from cugraphmodel.errors import GraphClosedError
from tests.api.builders import Array, affine, affine_steps, normal

NUM_RUNS = 200


def in_other_thread(work: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(timeout=120)


def test_capture_run_and_close_in_different_threads(device: str) -> None:
    x = normal(3, 2, 4)
    model = in_other_thread(lambda: cugraphmodel.load(affine(), device=device))
    graph = in_other_thread(lambda: model.capture_graph(2))
    right = graph.run([x])[0]
    np.testing.assert_array_equal(in_other_thread(lambda: graph.run([x])[0]), right)
    np.testing.assert_array_equal(in_other_thread(lambda: graph.output_slice(0)), right)
    in_other_thread(graph.close)
    with pytest.raises(GraphClosedError):
        graph.run([x])


@pytest.mark.parametrize("shared", [True, False])
def test_two_threads_get_their_own_answers(shared: bool, device: str) -> None:
    model = cugraphmodel.load(affine(), device=device)
    graphs = [model.capture_graph(2) for _ in range(1 if shared else 2)]
    data = [normal(seed, 2, 4) for seed in (10, 11)]
    right = [graphs[0].run([x])[0] for x in data]
    start = threading.Barrier(2)

    def work(number: int) -> int:
        start.wait(timeout=60)
        graph = graphs[number % len(graphs)]
        return sum(
            np.array_equal(graph.run([data[number]])[0], right[number]) for _ in range(NUM_RUNS)
        )

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, range(2), timeout=120)) == [NUM_RUNS, NUM_RUNS]
    for graph in graphs:
        graph.close()


def test_two_models_in_two_threads_from_load_to_close(device: str) -> None:
    def work(seed: int) -> bool:
        x = normal(seed, 3, 4)
        for _ in range(5):
            with cugraphmodel.load(affine(), device=device).capture_graph(3) as graph:
                got = graph.run([x])[0]
            if not np.allclose(got, affine_steps(x)[2], rtol=1e-5, atol=1e-6):
                return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(work, range(2), timeout=300))


def test_capturing_and_forward_beside_a_running_graph(device: str) -> None:
    model = cugraphmodel.load(affine(), device=device)
    data = [normal(seed, seed, 4) for seed in (1, 2, 3)]
    stop = threading.Event()

    def replay() -> int:
        count = 0
        with model.capture_graph(1) as graph:
            right = graph.run([data[0]])[0]
            while not stop.is_set():
                assert np.array_equal(graph.run([data[0]])[0], right)
                count += 1
        return count

    def evaluate(x: Array) -> None:
        for _ in range(10):
            got = model.forward([x])[0]
            np.testing.assert_allclose(got, affine_steps(x)[2], rtol=1e-5, atol=1e-6)
            with model.capture_graph(len(x)) as graph:
                np.testing.assert_allclose(graph.run([x])[0], got, rtol=1e-5, atol=1e-6)

    with ThreadPoolExecutor(3) as pool:
        running = pool.submit(replay)
        try:
            list(pool.map(evaluate, data[1:], timeout=120))
        finally:
            stop.set()
        assert running.result(timeout=60) > 0


def test_closing_while_another_thread_runs_ends_in_order(device: str) -> None:
    graph = cugraphmodel.load(affine(), device=device).capture_graph(2)
    x = normal(3, 2, 4)
    right = graph.run([x])[0]
    running = threading.Event()

    def work() -> bool:
        for _ in range(1_000_000):
            try:
                result = graph.run([x])[0]
            except GraphClosedError:
                return True
            if not np.array_equal(result, right):
                return False
            running.set()
        return False

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        assert running.wait(timeout=60)
        graph.close()
        assert future.result(timeout=60)


def test_parameters_change_between_runs_never_within(device: str) -> None:
    model = cugraphmodel.load(affine(), device=device)
    w, b, x = normal(1, 4, 3), normal(2, 3), normal(3, 2, 4)
    with model.capture_graph(2) as graph:
        model.load_param("w", -w)
        negative = graph.run([x])[0]
        model.load_param("w", w)
        positive = graph.run([x])[0]
        stop = threading.Event()

        def change() -> None:
            for turn in range(100):
                model.load_param("w", -w if turn % 2 else w)
                model.load_param("b", b)
            stop.set()

        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(change)
            while not stop.is_set():
                got = graph.run([x])[0]
                assert np.array_equal(got, positive) or np.array_equal(got, negative)
            future.result(timeout=60)


def test_a_process_forked_while_a_graph_runs_may_run_it_too() -> None:
    """On the CPU device; CUDA does not survive a fork."""
    program = (
        "import os, signal, threading, warnings\n"
        "import numpy as np, cugraphmodel\n"
        "from tests.api.builders import affine, affine_steps, normal\n"
        "warnings.simplefilter('ignore', DeprecationWarning)\n"
        "x = normal(3, 2, 4)\n"
        "model = cugraphmodel.load(affine(), device='cpu')\n"
        "graph = model.capture_graph(2)\n"
        "graph.run([x])\n"
        "ended = threading.Event()\n"
        "def work():\n"
        "    while not ended.is_set():\n"
        "        graph.run_inplace()\n"
        "thread = threading.Thread(target=work)\n"
        "thread.start()\n"
        "for _ in range(10):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        signal.alarm(60)\n"
        "        model.load_param('b', 2 * normal(2, 3))\n"
        "        right = np.maximum(affine_steps(x)[1] + normal(2, 3), 0)\n"
        "        os._exit(not np.allclose(graph.run([x])[0], right, rtol=1e-5, atol=1e-6))\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "ended.set()\n"
        "thread.join()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
