"""On a GPU: one launch a replay, right values, the same bits, honest times."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import cugraphmodel
from cugraphmodel.errors import DeviceUnavailableError
from cugraphmodel.executors.cuda import driver, work
from tests.api.builders import affine, affine_steps, build, normal

pytestmark = pytest.mark.gpu
X = normal(3, 2, 4)


class Counted:
    """Passes one method on and counts its calls."""

    def __init__(self, inner: Any, method: str) -> None:
        self._inner, self._method, self.count = inner, method, 0

    def __getattr__(self, name: str) -> Any:
        if name == self._method:
            self.count += 1
        return getattr(self._inner, name)


def test_a_replay_is_one_graph_launch_and_one_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    with cugraphmodel.load(affine(), device="cuda").capture_graph(2) as graph:
        executable: Any = graph._executable
        monkeypatch.setattr(work.Work, "issue", None)
        executable._graph = graphs = Counted(executable._graph, "launch")
        executable._timed_graph = timed = Counted(executable._timed_graph, "launch")
        executable._stream = stream = Counted(executable._stream, "synchronize")
        graph.run([X])
        graph.run_inplace()
        assert (graphs.count, timed.count, stream.count) == (2, 0, 2)
        graph.run_timed([X])
        graph.run_timed_inplace()
        assert (graphs.count, timed.count, stream.count) == (2, 2, 4)


def test_eager_captured_and_timed_agree_with_numpy() -> None:
    model = cugraphmodel.load(affine(), device="cuda")
    right = affine_steps(X)[2]
    with model.capture_graph(2) as graph:
        timed, _ = graph.run_timed([X])
        captured = graph.run([X])
    np.testing.assert_array_equal(timed[0], captured[0])
    for got in (captured[0], model.forward([X])[0]):
        np.testing.assert_allclose(got, right, rtol=1e-6, atol=1e-6)


def test_two_replays_and_two_captures_give_the_same_bits() -> None:
    proto = build(
        "(float[N,2048] x) => (float[N,1024] y)",
        "p = MatMul(x, w) y = Softmax<axis=1>(p)",
        w=normal(1, 2048, 1024),
    )
    x = normal(2, 16, 2048)
    model = cugraphmodel.load(proto, device="cuda")
    with model.capture_graph(16) as first, model.capture_graph(16) as second:
        right = first.run([x])[0].tobytes()
        for graph in (first, second) * 10:
            assert graph.run([x])[0].tobytes() == right


def test_subnormals_infinities_and_signed_zeros_survive() -> None:
    proto = build(
        "(float[N] x) => (float[N] half, float[N] sum)",
        "half = Mul(x, one_half) sum = Add(x, x)",
        one_half=np.array(0.5, np.float32),
    )
    x = np.array([1e-40, -1e-40, 2e-45, 1.2e-38, -0.0, 0.0, np.inf, -np.inf], np.float32)
    with cugraphmodel.load(proto, device="cuda").capture_graph(x.size) as graph:
        half, total = graph.run([x])
    for got, right in ((half, x * np.float32(0.5)), (total, x + x)):
        np.testing.assert_array_equal(got.view(np.uint32), right.view(np.uint32))


def test_time_is_that_of_the_kernels_alone() -> None:
    """A large copy and a small kernel: the copy must not be in the time."""
    size = 16_000_000
    proto = build(
        f"(float[{size}] x, float[N,4] s) => (float[{size}] x_out, float[N,4] y)",
        "x_out = Identity(x) y = Relu(s)",
    )
    with cugraphmodel.load(proto, device="cuda").capture_graph(2) as graph:
        graph.run_timed_inplace()
        start = time.perf_counter()
        elapsed_ms = graph.run_timed_inplace()
        wall_ms = (time.perf_counter() - start) * 1e3
    assert 0 < elapsed_ms < wall_ms / 4, "128 MB cross the bus outside of the events"


def test_load_param_reaches_every_graph() -> None:
    model = cugraphmodel.load(affine(), device="cuda")
    with model.capture_graph(2) as first, model.capture_graph(2) as second:
        before = first.run([X])[0]
        model.load_param("w", normal(1, 4, 3) * np.float32(2))
        right = np.maximum(affine_steps(X)[0] * 2 + normal(2, 3), 0)
        for graph in (first, second):
            np.testing.assert_allclose(graph.run([X])[0], right, rtol=1e-6, atol=1e-6)
        model.load_param("w", normal(1, 4, 3))
        np.testing.assert_array_equal(second.run([X])[0], before)


def test_a_gpu_that_is_not_there() -> None:
    count = driver.probe().num_devices
    with pytest.raises(DeviceUnavailableError, match=f"sees {count} GPU"):
        cugraphmodel.load(affine(), device=f"cuda:{count}")


def test_the_device_describes_itself() -> None:
    from cugraphmodel.executors import open_device

    device = open_device("cuda")
    assert device.name == "cuda:0"
    for word in ("sm_", "driver for CUDA", "NVRTC", "CuPy"):
        assert word in device.description
