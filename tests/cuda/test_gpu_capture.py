"""On a GPU: capture survives its surroundings, failures leave the device usable."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import cugraphmodel
from cugraphmodel.errors import CaptureError
from cugraphmodel.executors.cuda import work
from cugraphmodel.executors.cuda.device import CudaDevice
from tests.api.builders import affine, affine_steps, build, normal

pytestmark = pytest.mark.gpu
X = normal(3, 2, 4)


def assert_right(graph: cugraphmodel.CudaGraphModel) -> None:
    np.testing.assert_allclose(graph.run([X])[0], affine_steps(X)[2], rtol=1e-6, atol=1e-6)


def capture_with(monkeypatch: pytest.MonkeyPatch, disturb: Callable[[], object]) -> None:
    """Capture while ``disturb`` is called in the middle of the window."""
    original = work.Work.issue

    def issue(self: work.Work, stream: Any, record: Any = None) -> None:
        original(self, stream, record)
        disturb()

    with monkeypatch.context() as patch:
        patch.setattr(work.Work, "issue", issue)
        cugraphmodel.load(affine(), device="cuda").capture_graph(2)


def test_an_allocation_in_the_window_is_an_error_and_leaves_the_device_usable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from cupy.cuda import runtime

    cugraphmodel.load(affine(), device="cuda").capture_graph(2).close()
    before = runtime.memGetInfo()[0]
    for disturb in (lambda: runtime.malloc(1 << 20), runtime.deviceSynchronize):
        with pytest.raises(CaptureError, match="cuda:0 cannot capture the graph"):
            capture_with(monkeypatch, disturb)
        assert gc.isenabled()
        with cugraphmodel.load(affine(), device="cuda").capture_graph(2) as graph:
            assert_right(graph)
    gc.collect()
    assert runtime.memGetInfo()[0] == before


def test_a_launch_that_the_driver_refuses_names_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    original = CudaDevice.prepare

    def prepare(self: CudaDevice, plan: Any, *args: Any, **options: Any) -> Any:
        last = plan.steps[-1]
        launch = replace(last.launch)
        object.__setattr__(launch, "shared_bytes", 1 << 20)
        broken = replace(plan, steps=(*plan.steps[:-1], replace(last, launch=launch)))
        return original(self, broken, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(CudaDevice, "prepare", prepare)
        with pytest.raises(CaptureError, match=r"node \d+ .* failed in cuLaunchKernel .*1048576"):
            cugraphmodel.load(affine(), device="cuda").capture_graph(2)
    with cugraphmodel.load(affine(), device="cuda").capture_graph(2) as graph:
        assert_right(graph)


def test_capture_while_another_thread_allocates() -> None:
    from cupy.cuda import runtime

    stop = threading.Event()
    faults: list[BaseException] = []

    def allocate() -> None:
        try:
            while not stop.is_set():
                runtime.free(runtime.malloc(1 << 20))
                runtime.freeHost(runtime.hostAlloc(1 << 16, 0))
        except BaseException as fault:
            faults.append(fault)

    thread = threading.Thread(target=allocate)
    thread.start()
    try:
        model = cugraphmodel.load(affine(), device="cuda")
        for _ in range(20):
            with model.capture_graph(2) as graph:
                assert_right(graph)
    finally:
        stop.set()
        thread.join()
    assert not faults


def test_captures_in_several_threads_at_once() -> None:
    faults: list[BaseException] = []

    def work_through() -> None:
        try:
            model = cugraphmodel.load(affine(), device="cuda")
            for _ in range(5):
                with model.capture_graph(2) as graph:
                    assert_right(graph)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work_through) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_the_callers_stream_and_device_stay_current() -> None:
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream, cugraphmodel.load(affine(), device="cuda").capture_graph(2) as graph:
        assert_right(graph)
        assert cupy.cuda.get_current_stream() == stream
        assert cupy.cuda.runtime.getDevice() == 0


def test_graphs_without_work() -> None:
    proto = build("(float[N,M] x) => (float[N,M] y)", "y = Identity(x)")
    model = cugraphmodel.load(proto, device="cuda")
    for width in (0, 2):
        with model.capture_graph(3, dims={"M": width}) as graph:
            x = normal(1, 3, width)
            np.testing.assert_array_equal(graph.run([x])[0], x)
            assert graph.run_timed_inplace() == 0.0
