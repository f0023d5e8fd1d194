"""The check mode on plans: memory of its own, marks that follow the launches, all findings."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from cugraphmodel.arena import ALIGNMENT, Slot
from cugraphmodel.errors import ArgumentError, KernelCheckError, KernelError
from cugraphmodel.executors import open_device
from cugraphmodel.executors.host import HostDevice, HostExecutable
from cugraphmodel.executors.host import device as device_module
from cugraphmodel.executors.host.checked import spaced
from cugraphmodel.ir import Parameters, Value, constant_of
from cugraphmodel.kernels.source import Source
from cugraphmodel.ops.launch import Argument, Launch, Workspace
from cugraphmodel.plan import Plan
from tests.host.test_executor import plan_of

SOURCE = """#include "device.cuh"
extern "C" __global__ void add_one(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}
extern "C" __global__ void trap(const float* x, float* y, int n) {
  if (x[0] == n) __trap();
  y[threadIdx.x] = 0;
}
"""
N = 256


@pytest.fixture(autouse=True)
def own_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "load_source", lambda name: Source(name, SOURCE))


def value(name: str, size: int = N) -> Value:
    return Value(np.dtype(np.float32), (size,), name)


def add_one(x: Argument, y: Argument, count: int = N, entry: str = "add_one") -> Launch:
    return Launch("ops/one.cu", entry, (2, 1, 1), (N, 1, 1), (x, y, np.int32(count)))


def prepared(plan: Plan) -> HostExecutable:
    device = HostDevice(checked=True)
    return device.prepare(plan, device.weight_store(), Parameters({}), capture=True)


def facts(error: KernelCheckError) -> tuple[str, str, int]:
    found = vars(error)
    return found["kind"], found["file"], found["line"]


def test_a_clean_plan_runs_and_repeats() -> None:
    x, y, z = value("x"), value("y"), value("z")
    scratch = Workspace(4 * N)
    plan = plan_of([add_one(x, scratch), add_one(scratch, y), add_one(y, z)], [x], [z, x])
    writer, reader, last = plan.steps
    reader = dataclasses.replace(reader, workspaces=writer.workspaces)
    executable = prepared(dataclasses.replace(plan, steps=(writer, reader, last)))
    for start in (0, 5):
        executable.inputs[0][...] = start
        executable.replay()
        np.testing.assert_array_equal(executable.outputs[0], start + 3)
        assert executable.findings() == []


def test_constants_are_initialised_and_have_bounds() -> None:
    y, short = value("y"), value("c", N - 1)
    constants = {"c": constant_of(np.ones(N - 1, np.float32), "c")}
    executable = prepared(plan_of([add_one(short, y, N - 1)], [], [], constants))
    assert executable.findings() == []
    executable = prepared(plan_of([add_one(short, y)], [], [y], constants))
    with pytest.raises(KernelCheckError, match=r"byte 1020 of argument 0 \(c\), which has 1020"):
        executable.replay()


def test_bounds_are_exact_even_where_the_plan_leaves_no_gap() -> None:
    x, y = value("x"), value("y")
    plan = plan_of([add_one(x, y, N + 1)], [x], [y])
    tight = {"x": Slot(0, 4 * N), "y": Slot(4 * N, 4 * N)}
    executable = prepared(dataclasses.replace(plan, slots=tight, arena_bytes=8 * N))
    (error,) = executable.findings()
    assert facts(error) == ("memcheck", "ops/one.cu", 4)
    assert "node 0 'n0' (Test)" in str(error)
    assert "argument 0 (x)" in str(error)


def test_what_an_earlier_replay_wrote_counts_for_nothing() -> None:
    x, y, z = value("x"), value("y"), value("z")
    executable = prepared(plan_of([add_one(y, z), add_one(x, y)], [x], [z]))
    for _ in range(2):
        with pytest.raises(KernelCheckError, match=r"argument 0 \(y\), which nobody wrote"):
            executable.replay()


def test_each_faulty_launch_is_reported_once_and_the_others_run() -> None:
    x, *chain = (value(f"v{i}") for i in range(6))
    pairs = list(itertools.pairwise([x, *chain]))
    counts = [N, N + 1, N, N + 1, N]
    launches = [add_one(a, b, count) for (a, b), count in zip(pairs, counts, strict=True)]
    executable = prepared(plan_of(launches, [x], [chain[-1]]))
    found = executable.findings()
    assert [str(error).split(",")[0] for error in found] == [
        "node 1 'n1' (Test)",
        "node 3 'n3' (Test)",
    ]
    assert [error.message for error in executable.findings()] == [error.message for error in found]


def test_an_output_not_written_in_full_is_a_finding() -> None:
    x, y = value("x"), value("y")
    executable = prepared(plan_of([add_one(x, y, N - 3)], [x], [y]))
    with pytest.raises(KernelCheckError, match="wrote 12 of its 1024 bytes, first byte 1012"):
        executable.replay()
    assert [vars(error)["memory"] for error in executable.findings()] == ["y"]


def test_a_trap_is_no_finding_but_an_error() -> None:
    x, y = value("x"), value("y")
    executable = prepared(plan_of([add_one(x, y, 0, "trap")], [x], []))
    for run in (executable.replay, executable.findings):
        with pytest.raises(KernelError, match=r"__trap\(\)") as caught:
            run()
        assert not isinstance(caught.value, KernelCheckError)


def test_spaced_plans_use_no_memory_twice_but_for_views() -> None:
    x, y = value("x"), value("y")
    plan = plan_of([add_one(x, y)], [x], [y])
    slots = {"x": Slot(0, 4 * N), "y": Slot(0, 4 * N)}
    slots["view of x"] = slots["x"]
    moved = spaced(dataclasses.replace(plan, slots=slots))
    assert moved.slots["view of x"] is moved.slots["x"]
    assert moved.slots["y"].offset >= moved.slots["x"].end + ALIGNMENT
    assert moved.arena_bytes >= moved.slots["y"].end + ALIGNMENT


def test_the_device_has_a_name() -> None:
    assert open_device("cpu:check").name == "cpu:check"
    assert open_device("cpu:check") is not open_device("cpu")
    with pytest.raises(ArgumentError, match="cpu:check"):
        open_device("cpu:0")
