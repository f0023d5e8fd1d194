"""The CUDA executor's logic on a stand-in for CuPy: order, ownership, and every way to fail."""

from __future__ import annotations

import ctypes
import gc
import os
from typing import Any

import numpy as np
import pytest

from cugraphmodel import errors
from cugraphmodel.arena import Slot
from cugraphmodel.executors.cuda import device as device_module
from cugraphmodel.executors.cuda import executable as executable_module
from cugraphmodel.executors.cuda import staging
from cugraphmodel.executors.cuda.device import CudaDevice
from cugraphmodel.executors.cuda.executable import CudaExecutable
from cugraphmodel.executors.cuda.weights import CudaWeightStore
from cugraphmodel.ir import Constant, Node, Parameters, TensorType, Value
from cugraphmodel.ops.launch import ERROR_CODE, ERROR_WORD, Launch, Workspace, dims
from cugraphmodel.plan import Plan, Step
from tests.cuda.stand_in import StandIn

FLOAT = np.dtype(np.float32)
X = Value(FLOAT, (4,), "x")
Y = Value(FLOAT, (4,), "y")
W = Value(FLOAT, (4,), "w")
SCRATCH = Workspace(16)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    stand_in.install(monkeypatch)
    stand_in.kernels["multiply"] = _multiply
    stand_in.kernels["gather"] = _gather

    def load(launches: list[Launch], _architecture: str, _progress: object) -> dict[Launch, Any]:
        import cupy

        module = cupy.RawModule(path="cubin")
        return {launch: module.get_function(launch.entry) for launch in launches}

    def record(event: int, stream: int) -> None:
        stand_in.call("cuEventRecordWithFlags")
        events = {each.ptr: each for each in stand_in.others}
        events[event].record(events[stream])

    monkeypatch.setattr(device_module, "load_kernels", load)
    monkeypatch.setattr(device_module, "compile_ahead", lambda *_: None)
    monkeypatch.setattr(executable_module, "record_event_in_capture", record)
    return stand_in


@pytest.fixture
def device(gpu: StandIn) -> CudaDevice:
    gpu.device = 3
    return CudaDevice(0)


def _floats(address: bytes, count: int = 4) -> np.ndarray:
    pointer = ctypes.cast(int.from_bytes(address, "little"), ctypes.POINTER(ctypes.c_float))
    return np.ctypeslib.as_array(pointer, (count,))


def _multiply(y: bytes, x: bytes, w: bytes, scratch: bytes, absent: bytes, sizes: bytes) -> None:
    """Computes y = x * w + 1 through scratch; checks the form of the other arguments."""
    assert absent == bytes(8)
    assert np.frombuffer(sizes, np.int64).tolist() == [4, 0, 0, 0, 0, 0, 0, 0]
    _floats(scratch)[:] = _floats(x) * _floats(w)
    _floats(y)[:] = _floats(scratch) + 1


def _gather(x: bytes, word: bytes, code: bytes, limit: bytes) -> None:
    """Reports an error if the first element reaches the limit."""
    if _floats(x)[0] >= np.frombuffer(limit, np.float32)[0]:
        cell = ctypes.cast(int.from_bytes(word, "little"), ctypes.POINTER(ctypes.c_uint32))
        cell[0] = min(cell[0], int.from_bytes(code, "little"))


def _weight(value: float = 2.0, key: str = "w") -> Constant:
    return Constant(
        key, TensorType(FLOAT, (4,)), frozenset("w"), lambda p: p["w"] * np.float32(value)
    )


def _plan(constant: Constant | None = None) -> Plan:
    multiply = Launch(
        "ops/multiply.cu", "multiply", (1, 1, 1), (4, 1, 1), (Y, X, W, SCRATCH, None, dims(4))
    )
    gather = Launch(
        "ops/gather.cu", "gather", (1, 1, 1), (4, 1, 1), (X, ERROR_WORD, ERROR_CODE, FLOAT.type(9))
    )
    return Plan(
        inputs=(X,),
        outputs=(Y, X, W, Y),
        steps=(
            Step(Node("Mul", ("x", "w"), ("y",), index=5), multiply, {SCRATCH: Slot(512, 16)}),
            Step(Node("Gather", ("x",), ("y",), index=6, name="pick"), gather, {}),
        ),
        slots={"x": Slot(0, 16), "y": Slot(256, 16)},
        constants={"w": constant or _weight()},
        arena_bytes=768,
        uses_error_word=True,
    )


def _prepare(
    device: CudaDevice,
    plan: Plan | None = None,
    store: CudaWeightStore | None = None,
    *,
    capture: bool = True,
) -> CudaExecutable:
    parameters = Parameters({"w": np.arange(4, dtype=FLOAT)})
    return device.prepare(
        plan or _plan(), store or device.weight_store(), parameters, capture=capture
    )


def _assert_nothing_left(gpu: StandIn) -> None:
    gc.collect()
    assert (gpu.device_bytes, gpu.pinned_bytes, list(gpu.others)) == (0, 0, [])
    assert gpu.capturing is None
    assert gc.isenabled()
    assert gpu.device == 3


@pytest.mark.parametrize("capture", [True, False])
@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("limit", [0, staging.MAX_KERNEL_COPY_BYTES])
def test_replay_computes_what_the_plan_says(
    gpu: StandIn,
    device: CudaDevice,
    capture: bool,
    timed: bool,
    limit: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(staging, "MAX_KERNEL_COPY_BYTES", limit)
    executable = _prepare(device, capture=capture)
    for start in (0, 1):
        executable.inputs[0][:] = x = np.arange(start, start + 4, dtype=FLOAT)
        if timed:
            assert executable.replay_timed() == 2.0, "one tick a step"
        else:
            executable.replay()
        w = 2 * np.arange(4, dtype=FLOAT)
        for got, expected in zip(executable.outputs, (x * w + 1, x, w, x * w + 1), strict=True):
            np.testing.assert_array_equal(got, expected)
    executable.close()
    del executable, got
    _assert_nothing_left(gpu)


def test_a_captured_replay_is_one_launch_and_one_wait(gpu: StandIn, device: CudaDevice) -> None:
    executable = _prepare(device)
    for replay in (executable.replay, executable.replay_timed):
        gpu.calls.clear()
        replay()
        assert gpu.calls == {"graphLaunch": 1, "streamSynchronize": 1}


def test_a_replay_allocates_nothing(gpu: StandIn, device: CudaDevice) -> None:
    executable = _prepare(device)
    before = gpu.device_bytes, gpu.pinned_bytes, len(gpu.others)
    executable.replay()
    executable.replay_timed()
    assert (gpu.device_bytes, gpu.pinned_bytes, len(gpu.others)) == before


def test_outputs_are_zero_before_the_first_run_and_read_only(
    gpu: StandIn, device: CudaDevice
) -> None:
    executable = _prepare(device)
    assert all(not array.any() for array in (*executable.inputs, *executable.outputs))
    assert executable.inputs[0].flags.writeable
    assert not any(array.flags.writeable for array in executable.outputs)
    assert gpu.device == 3


def test_bad_index_data_names_the_node_and_leaves_the_graph_usable(
    gpu: StandIn, device: CudaDevice
) -> None:
    executable = _prepare(device)
    for replay in (executable.replay, executable.replay_timed):
        executable.inputs[0][0] = 9
        with pytest.raises(errors.DataIndexError, match="node 6 'pick' \\(Gather\\)") as raised:
            replay()
        assert isinstance(raised.value, IndexError)
        executable.inputs[0][0] = 8
        replay()
    assert gpu.device == 3


def test_views_outlive_the_executable(gpu: StandIn, device: CudaDevice) -> None:
    executable = _prepare(device)
    executable.inputs[0][:] = 3
    view = executable.outputs[1]
    executable.replay()
    executable.close()
    executable.close()
    gc.collect()
    assert gpu.device_bytes == 0
    assert gpu.pinned_bytes == view.nbytes, "only what the view needs"
    np.testing.assert_array_equal(view, 3)
    del view
    _assert_nothing_left(gpu)


def test_dropping_without_close_frees_all(gpu: StandIn, device: CudaDevice) -> None:
    executable = _prepare(device)
    executable.replay()
    del executable
    _assert_nothing_left(gpu)


def test_graphs_of_a_model_share_weights_until_the_last_one_goes(
    gpu: StandIn, device: CudaDevice
) -> None:
    store = device.weight_store()
    first = _prepare(device, store=store)
    assert store.num_bytes == 256
    one = gpu.device_bytes
    second = _prepare(device, store=store)
    assert store.num_bytes == 256
    assert gpu.device_bytes == one + 768 + 256
    first.close()
    second.replay()
    np.testing.assert_array_equal(second.outputs[2], 2 * np.arange(4))
    second.close()
    assert (store.num_bytes, gpu.device_bytes) == (0, 0)


def test_update_overwrites_weights_that_are_there(gpu: StandIn, device: CudaDevice) -> None:
    store = device.weight_store()
    executable = _prepare(device, store=store)
    store.update({"w": np.full(4, 7, FLOAT), "elsewhere": np.zeros(3, FLOAT)})
    executable.inputs[0][:] = 1
    executable.replay()
    np.testing.assert_array_equal(executable.outputs[0], 8)
    with pytest.raises(errors.ParameterError, match=r"'w' is float32\[4\].*float64\[4\]"):
        store.update({"w": np.zeros(4)})
    assert gpu.device == 3


def test_a_plan_without_work_runs(gpu: StandIn, device: CudaDevice) -> None:
    empty = Value(FLOAT, (0, 3), "e")
    plan = Plan((empty,), (empty,), (), {"e": Slot(0, 0)}, {}, 0, uses_error_word=False)
    executable = _prepare(device, plan)
    executable.replay()
    assert executable.replay_timed() == 0.0
    assert executable.outputs[0].shape == (0, 3)
    assert gpu.calls["memcpyAsync1"] == gpu.calls["memcpyAsync2"] == 0
    executable.close()
    _assert_nothing_left(gpu)


def test_small_tensors_go_through_kernels_and_large_ones_through_copy_nodes(
    gpu: StandIn, device: CudaDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "MAX_KERNEL_COPY_BYTES", 48)
    values = [Value(FLOAT, (size,), f"v{size}") for size in range(20)]
    slots = {value.name: Slot(256 * place, value.num_bytes) for place, value in enumerate(values)}
    plan = Plan(tuple(values), tuple(values), (), slots, {}, 256 * 20, uses_error_word=False)
    executable = _prepare(device, plan)
    gpu.calls.clear()
    again = _prepare(device, plan)
    assert gpu.calls["memcpyAsync1"] == gpu.calls["memcpyAsync2"] == 2 * 7, "13 to 19, run twice"
    assert gpu.calls["launchKernel"] == 2 * 2 * 2, "12 in two launches, in and out, run twice"
    for number, view in enumerate(executable.inputs):
        view[:] = number
    executable.replay()
    for number, view in enumerate(executable.outputs):
        np.testing.assert_array_equal(view, np.full(number, number))
    again.close()


def test_too_little_memory_is_known_before_anything_is_taken(
    gpu: StandIn, device: CudaDevice
) -> None:
    gpu.total_bytes = 768 + 256 + 255
    with pytest.raises(errors.DeviceMemoryError, match=r"1,280 bytes .* 1,279 bytes") as raised:
        _prepare(device)
    assert (raised.value.need_bytes, raised.value.have_bytes) == (1280, 1279)  # type: ignore[attr-defined]
    assert gpu.calls["malloc"] == gpu.calls["hostAlloc"] == 0
    del raised
    _assert_nothing_left(gpu)
    gpu.total_bytes += 1
    _prepare(device)


@pytest.mark.parametrize(
    ("call", "which", "status", "error"),
    [
        ("malloc", 1, 2, errors.DeviceMemoryError),
        ("malloc", 2, 2, errors.DeviceMemoryError),
        ("malloc", 2, 46, RuntimeError),
        ("memcpyAsync1", 1, 1, RuntimeError),  # the weight's
        ("streamSynchronize", 1, 1, RuntimeError),
        ("hostAlloc", 1, 2, errors.DeviceMemoryError),
        ("hostAlloc", 7, 2, errors.DeviceMemoryError),
        ("launchKernel", 1, 1, errors.CaptureError),  # warm-up: inputs, two steps, outputs
        ("launchKernel", 3, 1, errors.CaptureError),
        ("streamSynchronize", 4, 700, errors.CaptureError),
        ("streamBeginCapture", 1, 900, errors.CaptureError),
        ("launchKernel", 7, 701, errors.CaptureError),
        ("launchKernel", 8, 701, errors.CaptureError),
        ("streamEndCapture", 1, 901, errors.CaptureError),
        ("graphUpload", 1, 2, errors.CaptureError),
        ("streamBeginCapture", 2, 900, errors.CaptureError),
        ("cuEventRecordWithFlags", 2, 1, errors.CaptureError),
        ("launchKernel", 11, 701, errors.CaptureError),
        ("streamEndCapture", 2, 901, errors.CaptureError),
        ("graphUpload", 2, 2, errors.CaptureError),
    ],
)
def test_a_failure_gives_back_everything(
    gpu: StandIn,
    device: CudaDevice,
    call: str,
    which: int,
    status: int,
    error: type[Exception],
) -> None:
    gpu.fail_at[call] = (which, status)
    with pytest.raises(error) as raised:
        _prepare(device)
    assert call in f"{raised.value} {raised.value.__cause__}"
    # The exception and its frames are still alive here, as they are in a notebook.
    gc.collect()
    assert (gpu.device_bytes, gpu.pinned_bytes) == (0, 0)
    raised.value.__traceback__ = None
    del raised
    _assert_nothing_left(gpu)
    gpu.fail_at.clear()
    executable = _prepare(device)
    executable.replay()


def test_a_launch_failure_names_the_step(gpu: StandIn, device: CudaDevice) -> None:
    gpu.fail_at["launchKernel"] = (3, 1)
    with pytest.raises(errors.CaptureError) as raised:
        _prepare(device)
    assert str(raised.value) == (
        "node 6 'pick' (Gather): kernel gather of ops/gather.cu failed in cuLaunchKernel with "
        "grid (1, 1, 1), block (4, 1, 1) and 0 bytes of dynamic shared memory: launchKernel "
        "failed with status 1."
    )


def test_a_fault_on_the_gpu_names_the_step(gpu: StandIn, device: CudaDevice) -> None:
    gpu.fail_at["streamSynchronize"] = (4, 700)
    with pytest.raises(errors.CaptureError, match=r"node 6 .*failed in cudaStreamSync.*new proc"):
        _prepare(device)


def test_a_forked_process_is_told_so(
    gpu: StandIn, device: CudaDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = device.weight_store()
    executable = _prepare(device, store=store)
    gpu.calls.clear()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        for use in (
            executable.replay,
            executable.replay_timed,
            lambda: executable.set_state({}),
            lambda: store.update({}),
            lambda: _prepare(device),
        ):
            with pytest.raises(errors.DeviceUnavailableError, match="spawn"):
                use()
        executable.close()
    assert not gpu.calls, "the forked process made no CUDA call"
    executable.replay()


S = Value(FLOAT, (4,), "s")
EMPTY = Value(FLOAT, (0,), "e")


def _stateful_plan() -> Plan:
    """Adds x to the state s, and gives back the sum."""
    add = Launch("ops/add.cu", "add", (1, 1, 1), (4, 1, 1), (Y, X, S))
    keep = Launch("ops/keep.cu", "keep", (1, 1, 1), (4, 1, 1), (Y, S))
    return Plan(
        inputs=(X,),
        outputs=(Y,),
        steps=(
            Step(Node("Add", ("x", "s"), ("y",)), add, {}),
            Step(Node("Carry", (), ()), keep, {}),
        ),
        slots={"x": Slot(0, 16), "y": Slot(256, 16), "s": Slot(512, 16), "e": Slot(768, 0)},
        constants={},
        arena_bytes=768,
        uses_error_word=False,
        state={"s": S, "e": EMPTY},
    )


@pytest.mark.parametrize("capture", [True, False])
def test_state_stays_from_one_replay_to_the_next(
    gpu: StandIn, device: CudaDevice, capture: bool
) -> None:
    begun_with = []

    def add(y: bytes, x: bytes, s: bytes) -> None:
        begun_with.append(_floats(s).copy())
        _floats(y)[:] = _floats(x) + _floats(s)

    def keep(y: bytes, s: bytes) -> None:
        _floats(s)[:] = _floats(y)

    gpu.kernels |= {"add": add, "keep": keep}
    executable = _prepare(device, _stateful_plan(), capture=capture)
    np.testing.assert_array_equal(begun_with, [np.zeros(4)], "the warm-up reads no rubbish")
    executable.inputs[0][:] = 1
    for start in (np.arange(4, dtype=FLOAT), np.arange(8, dtype=FLOAT)[::-2]):
        executable.set_state({"s": start, "e": np.zeros(0, FLOAT)})
        executable.replay()
        executable.replay_timed()
        executable.replay()
        np.testing.assert_array_equal(executable.outputs[0], start + 3)
    assert gpu.device == 3
    executable.close()
    _assert_nothing_left(gpu)


def test_state_that_cannot_be_written_gives_back_everything(
    gpu: StandIn, device: CudaDevice
) -> None:
    gpu.fail_at["memcpyAsync1"] = (1, 1)
    with pytest.raises(RuntimeError, match="memcpyAsync1"):
        _prepare(device, _stateful_plan())
    _assert_nothing_left(gpu)


def test_a_store_of_another_device_is_refused(gpu: StandIn, device: CudaDevice) -> None:
    with pytest.raises(TypeError, match=r"cuda:0\.weight_store"):
        _prepare(device, store=CudaDevice(1).weight_store())
    assert gpu.device == 3


@pytest.mark.parametrize("capture", [True, False])
def test_steps_are_timed_one_by_one(gpu: StandIn, device: CudaDevice, capture: bool) -> None:
    executable = _prepare(device, capture=capture)
    executable.inputs[0][:] = 3
    executable.replay()
    before = executable.outputs[0].copy()
    executable.inputs[0][:] = 5
    multiplied = []

    def multiply(y: bytes, x: bytes, *others: bytes) -> None:
        multiplied.append(_floats(x).copy())
        _multiply(y, x, *others)
        gpu.clock_ms += 2.0

    gpu.kernels["multiply"] = multiply
    gpu.calls.clear()
    assert executable.time_steps(4) == [3.0, 1.0]
    assert gpu.calls["graphLaunch"] == 2
    assert gpu.calls["malloc"] == gpu.calls["hostAlloc"] == 0
    np.testing.assert_array_equal(multiplied, np.full((5, 4), 5), "on what the inputs hold")
    np.testing.assert_array_equal(executable.outputs[0], before)
    executable.replay()
    np.testing.assert_array_equal(executable.outputs[0], np.arange(4) * 10 + 1)
    executable.close()
    del executable
    _assert_nothing_left(gpu)


def test_timing_leaves_the_state_as_it_was(gpu: StandIn, device: CudaDevice) -> None:
    def add(y: bytes, x: bytes, s: bytes) -> None:
        _floats(y)[:] = _floats(x) + _floats(s)

    def keep(y: bytes, s: bytes) -> None:
        _floats(s)[:] = _floats(y)

    gpu.kernels |= {"add": add, "keep": keep}
    executable = _prepare(device, _stateful_plan())
    executable.inputs[0][:] = 1
    executable.set_state({"s": np.arange(4, dtype=FLOAT), "e": np.zeros(0, FLOAT)})
    assert executable.time_steps(3) == [1.0, 1.0]
    executable.replay()
    np.testing.assert_array_equal(executable.outputs[0], np.arange(4) + 1)
    for call, error in (("launchKernel", errors.CaptureError), ("graphLaunch", RuntimeError)):
        gpu.calls.clear()
        gpu.fail_at = {call: (2, 1)}
        with pytest.raises(error):
            executable.time_steps(3)
        gpu.fail_at = {}
        executable.replay()
    np.testing.assert_array_equal(executable.outputs[0], np.arange(4) + 3)
    executable.close()
