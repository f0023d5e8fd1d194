"""The CPU device runs plans: memory, views, errors, threads, timing."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from cugraphmodel.arena import Slot
from cugraphmodel.errors import (
    DataIndexError,
    DeviceMemoryError,
    GraphClosedError,
    KernelCompileError,
    KernelError,
    ParameterError,
)
from cugraphmodel.executors.host import device as device_module
from cugraphmodel.executors.host.device import HostDevice, HostExecutable
from cugraphmodel.executors.host.memory import HostWeightStore, available_bytes
from cugraphmodel.ir import Constant, Node, Parameters, TensorType, Value, constant_of
from cugraphmodel.kernels.source import Source
from cugraphmodel.ops.launch import ERROR_CODE, ERROR_WORD, Argument, Launch, Workspace
from cugraphmodel.plan import Plan, Step
from tests.host.support import Array

SOURCE = """#include "device.cuh"
extern "C" __global__ void scale(const float* x, const float* factor, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * factor[0];
}
extern "C" __global__ void twice(const float* x, float* scratch, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) scratch[i] = x[i] + x[i];
  if (i < n) y[i] = scratch[i];
}
extern "C" __global__ void pick(const float* x, const int* index, float* y, int n, unsigned* word,
                                unsigned code) {
  const int i = threadIdx.x;
  const bool inside = index[i] >= 0 && index[i] < n;
  if (!inside) cg_report_index_error(word, code);
  y[i] = x[inside ? index[i] : 0];
}
extern "C" __global__ void trap(float* y) {
  if (y[0] < 0) __trap();
  __syncthreads();
}
"""
N = 1000
FLOATS = np.dtype(np.float32)


@pytest.fixture(autouse=True)
def own_source(monkeypatch: pytest.MonkeyPatch) -> None:
    flat, fibers = SOURCE.split('extern "C" __global__ void trap')
    texts = {
        "flat.cu": flat,
        "fibers.cu": f'#include "device.cuh"\nextern "C" __global__ void trap{fibers}',
        "broken.cu": "int f() { return missing; }",
    }
    monkeypatch.setattr(device_module, "load_source", lambda name: Source(name, texts[name]))


def launch(source: str, entry: str, *args: Argument, threads: int = 128) -> Launch:
    return Launch(source, entry, (-(-N // 128), 1, 1), (threads, 1, 1), args)


def value(name: str, dtype: Any = np.float32, size: int = N) -> Value:
    return Value(np.dtype(dtype), (size,), name)


def node(index: int, name: str = "") -> Node:
    return Node("Test", (), (), name=name or f"n{index}", index=index)


def plan_of(
    launches: list[Launch],
    inputs: list[Value],
    outputs: list[Value],
    constants: Mapping[str, Constant] | None = None,
) -> Plan:
    """A plan in which every value and workspace has memory of its own."""
    constants = constants or {}
    slots: dict[str, Slot] = {}
    steps = []
    end = 0
    for index, item in enumerate(launches):
        workspaces = {}
        for argument in item.args:
            if isinstance(argument, Workspace):
                workspaces[argument] = Slot(end, argument.num_bytes)
                end += argument.num_bytes // 256 * 256 + 256
        steps.append(Step(node(index), item, workspaces))
    known = [a for item in launches for a in item.args if isinstance(a, Value)]
    for one in (*inputs, *known, *outputs):
        if one.name not in constants and one.name not in slots:
            slots[one.name] = Slot(end, one.num_bytes)
            end += one.num_bytes // 256 * 256 + 256
    uses_word = any(a is ERROR_WORD for item in launches for a in item.args)
    return Plan(tuple(inputs), tuple(outputs), tuple(steps), slots, constants, end, uses_word)


def scaling_plan(key: str = "factor", factor: float = 3.0) -> Plan:
    x, y, z = value("x"), value("y"), value("z")
    factors = value("f", size=1)
    constant = constant_of(np.array([factor], np.float32), key)
    launches = [
        launch("flat.cu", "scale", x, factors, y, np.int32(N)),
        launch("flat.cu", "twice", y, Workspace(4 * N), z, np.int32(N)),
    ]
    return plan_of(launches, [x], [z, y], {"f": constant})


def prepare(plan: Plan, store: HostWeightStore | None = None, **params: Array) -> HostExecutable:
    device = HostDevice()
    return device.prepare(plan, store or device.weight_store(), Parameters(params), capture=True)


def test_a_plan_runs_and_its_views_are_live() -> None:
    executable = prepare(scaling_plan())
    source = np.linspace(-1, 1, N, dtype=np.float32)
    executable.inputs[0][...] = source
    z, y = executable.outputs
    assert not z.any()
    executable.replay()
    np.testing.assert_array_equal(y, source * np.float32(3))
    np.testing.assert_array_equal(z, 2 * y)
    executable.inputs[0][...] = 1
    assert executable.replay_timed() > 0
    np.testing.assert_array_equal(z, 6)


def test_views_are_writable_in_and_read_only_out() -> None:
    executable = prepare(scaling_plan())
    assert executable.inputs[0].flags.writeable
    for output in executable.outputs:
        assert not output.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            output[0] = 1


def test_views_outlive_close_and_nothing_else_does() -> None:
    executable = prepare(scaling_plan())
    executable.inputs[0][...] = 2
    executable.replay()
    seen = executable.outputs[0]
    assert executable._memory is not None
    arena = weakref.ref(executable._memory)
    executable.close()
    executable.close()
    gc.collect()
    assert arena() is None
    np.testing.assert_array_equal(seen, 12)
    with pytest.raises(GraphClosedError):
        executable.replay()
    with pytest.raises(GraphClosedError):
        executable.replay_timed()


def test_inputs_and_constants_may_be_outputs_and_one_may_stand_twice() -> None:
    x, factors = value("x"), value("f", size=1)
    constant = constant_of(np.array([7], np.float32), "k")
    plan = plan_of([], [x], [x, factors, x], {"f": constant})
    executable = prepare(plan)
    executable.inputs[0][...] = 5
    executable.replay()
    for got, expected in zip(executable.outputs, (5, 7, 5), strict=True):
        np.testing.assert_array_equal(got, expected)
    executable.inputs[0][...] = 6
    np.testing.assert_array_equal(executable.outputs[0], 5)


def test_a_bad_index_names_the_first_node_and_the_graph_goes_on() -> None:
    x, index = value("x"), value("index", np.int32, 8)
    y, z = value("y", size=8), value("z", size=8)
    size = np.int32(N)
    picks = [
        Launch(
            "flat.cu", "pick", (1, 1, 1), (8, 1, 1), (x, index, one, size, ERROR_WORD, ERROR_CODE)
        )
        for one in (y, z)
    ]
    executable = prepare(plan_of(picks, [x, index], [y, z]))
    executable.inputs[0][...] = np.arange(N)
    executable.inputs[1][...] = [0, 1, 2, 3, 4, 5, 6, N]
    with pytest.raises(DataIndexError, match=r"node 0 'n0' \(Test\)"):
        executable.replay()
    with pytest.raises(DataIndexError):
        executable.replay_timed()
    executable.inputs[1][7] = 7
    executable.replay()
    np.testing.assert_array_equal(executable.outputs[1], np.arange(8))


def test_a_failing_kernel_names_node_and_thread_and_the_graph_goes_on() -> None:
    x = value("x")
    step = Launch("fibers.cu", "trap", (1, 1, 1), (32, 1, 1), (x,))
    executable = prepare(plan_of([step], [x], [x]))
    executable.inputs[0][...] = -1
    with pytest.raises(KernelError, match=r"node 0 'n0' \(Test\), trap: block .* thread .*trap"):
        executable.replay()
    executable.inputs[0][...] = 1
    executable.replay()
    np.testing.assert_array_equal(executable.outputs[0], 1)


def test_a_launch_that_does_not_fit_names_node_file_and_argument() -> None:
    x, y = value("x", np.float64), value("y")
    wrong = launch("flat.cu", "twice", x, Workspace(4 * N), y, np.int32(N))
    with pytest.raises(KernelError, match=r"n0.*flat.cu.*twice: parameter 0 .* float64"):
        prepare(plan_of([wrong], [x], [y]))


def test_a_kernel_that_does_not_compile_is_an_error() -> None:
    x = value("x")
    with pytest.raises(KernelCompileError, match="missing"):
        prepare(plan_of([launch("broken.cu", "f", x)], [x], [x]))


def test_too_little_memory_is_an_error_before_any_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device_module, "available_bytes", lambda: 5000)
    monkeypatch.setattr(device_module, "allocate", lambda _num_bytes: pytest.fail("allocated"))
    plan = scaling_plan()
    with pytest.raises(DeviceMemoryError) as caught:
        prepare(plan)
    need = plan.arena_bytes + plan.staging_bytes + plan.weight_bytes
    assert caught.value.need_bytes == need  # type: ignore[attr-defined]
    assert caught.value.have_bytes == 5000  # type: ignore[attr-defined]


def test_progress_is_told() -> None:
    device = HostDevice()
    heard: list[tuple[str, int, int]] = []
    x = value("x")
    plan = plan_of(
        [
            launch("flat.cu", "twice", x, Workspace(4 * N), x, np.int32(N)),
            launch("fibers.cu", "trap", x, threads=32),
            launch("flat.cu", "twice", x, Workspace(4 * N), x, np.int32(N)),
        ],
        [x],
        [x],
    )
    store = device.weight_store()
    device.prepare(
        plan,
        store,
        Parameters({}),
        capture=False,
        progress=lambda *news: heard.append(news),
    )
    assert sorted(name for name, _, _ in heard) == ["fibers.cu", "flat.cu"]
    assert [news[1:] for news in heard] == [(1, 2), (2, 2)]


def test_graphs_share_constants_and_the_store_keeps_only_what_is_used() -> None:
    store = HostWeightStore()
    first = prepare(scaling_plan("shared"), store)
    used = store.num_bytes
    second = prepare(scaling_plan("shared", factor=-1), store)
    assert store.num_bytes == used > 0
    store.update({"shared": np.array([5], np.float32), "unknown": np.zeros(3)})
    for executable in (first, second):
        executable.inputs[0][...] = 1
        executable.replay()
        np.testing.assert_array_equal(executable.outputs[1], 5)
    first.close()
    del first
    gc.collect()
    assert store.num_bytes == used
    second.close()
    del second, executable
    gc.collect()
    assert store.num_bytes == 0


def test_constants_are_computed_from_parameters() -> None:
    kind = TensorType(FLOATS, (1,))
    constant = Constant("k", kind, frozenset({"p"}), lambda params: params["p"] * 2)
    x, factors, y = value("x"), value("f", size=1), value("y")
    step = launch("flat.cu", "scale", x, factors, y, np.int32(N))
    plan = plan_of([step], [x], [y], {"f": constant})
    executable = prepare(plan, p=np.array([4], np.float32))
    executable.inputs[0][...] = 1
    executable.replay()
    np.testing.assert_array_equal(executable.outputs[0], 8)
    with pytest.raises(ParameterError, match=r"'k' is float32\[1\]"):
        prepare(plan, p=np.array([4], np.float64))


def test_two_graphs_run_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUGRAPHMODEL_HOST_THREADS", "3")
    executables = [prepare(scaling_plan(f"k{i}", factor=i + 1.0)) for i in range(4)]
    problems: list[str] = []

    def work(number: int) -> None:
        executable = executables[number]
        for turn in range(200):
            executable.inputs[0][...] = turn
            executable.replay()
            if not (executable.outputs[0] == 2 * turn * (number + 1)).all():
                problems.append(f"graph {number}, turn {turn}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert problems == []


def test_a_replay_lets_other_python_threads_run() -> None:
    x = Value(FLOATS, (1,), "x")
    spin = Launch("fibers.cu", "trap", (2_000_000, 1, 1), (1, 1, 1), (x,))
    executable = prepare(plan_of([spin], [x], [x]))
    executable.inputs[0][...] = 1
    thread = threading.Thread(target=executable.replay)
    thread.start()
    ticks = 0
    while thread.is_alive():
        ticks += 1
        time.sleep(0.001)
    assert ticks > 3


def test_available_memory_is_less_than_all_there_is() -> None:
    assert 0 < available_bytes() < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_it_says_what_it_is() -> None:
    device = HostDevice()
    assert device.name == "cpu"
    assert "kernels by" in device.description
