"""A small CuPy on host memory, for the paths of the CUDA executor that a GPU rarely takes.

It keeps what the executor relies on: memory that lives by reference counting, streams that record
while capturing, graphs that replay what was recorded, and errors at any chosen call. Kernels are
Python functions on addresses. It says nothing about whether CUDA itself does what is expected.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

Kernel = Callable[..., None]


class CudaError(RuntimeError):
    """Like ``CUDARuntimeError``."""

    def __init__(self, call: str, status: int) -> None:
        super().__init__(f"{call} failed with status {status}")
        self.status = status


class StandIn:
    """State of the pretended GPU.

    Attributes:
        kernels: entry point -> function of the packed arguments.
        calls: how often each CUDA call was made.
        fail_at: call name -> (which time, status) that fails.
        free_bytes: what ``memGetInfo`` reports, less what is allocated.
        device: the current device.
    """

    def __init__(self) -> None:
        self.kernels: dict[str, Kernel] = {"copy_blocks": _copy_blocks}
        self.calls: Counter[str] = Counter()
        self.fail_at: dict[str, tuple[int, int]] = {}
        self.total_bytes = 1 << 30
        self.device = 0
        self.capturing: Stream | None = None
        self.clock_ms = 0.0
        self.device_memory: weakref.WeakSet[Any] = weakref.WeakSet()
        self.pinned_memory: weakref.WeakSet[Any] = weakref.WeakSet()
        self.others: weakref.WeakSet[Any] = weakref.WeakSet()

    def call(self, name: str) -> None:
        """Count a call; fail if the test asked for it, or if it is forbidden while capturing."""
        self.calls[name] += 1
        which, status = self.fail_at.get(name, (0, 0))
        if self.calls[name] == which:
            raise CudaError(name, status)
        if self.capturing is not None and name in ("malloc", "hostAlloc", "streamSynchronize"):
            raise CudaError(name, 900)

    @property
    def device_bytes(self) -> int:
        """Device memory allocated now."""
        return sum(memory.size for memory in self.device_memory)

    @property
    def pinned_bytes(self) -> int:
        """Pinned memory allocated now."""
        return sum(memory.size for memory in self.pinned_memory)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Take the place of CuPy in ``sys.modules`` for one test."""
        modules = _modules(self)
        for name in [name for name in sys.modules if name.split(".")[0] == "cupy"]:
            monkeypatch.delitem(sys.modules, name)
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)


class _Memory:
    def __init__(self, gpu: StandIn, call: str, size: int) -> None:
        self.size = size
        self.ptr = 0
        if size:
            gpu.call(call)
            # Filled with rubbish, as fresh memory may be.
            self.buffer = ctypes.create_string_buffer(b"\xa5" * size, size)
            self.ptr = ctypes.addressof(self.buffer)


class Stream:
    """A stream that runs everything at once, or records it."""

    def __init__(self, gpu: StandIn) -> None:
        gpu.call("streamCreate")
        self.gpu = gpu
        self.ptr = id(self)
        self.recorded: list[Callable[[], None]] | None = None
        gpu.others.add(self)

    def put(self, action: Callable[[], None]) -> None:
        if self.recorded is None:
            action()
        else:
            self.recorded.append(action)

    def begin_capture(self, mode: int) -> None:
        assert mode == 1, "thread-local"
        self.gpu.call("streamBeginCapture")
        self.recorded = []
        self.gpu.capturing = self

    def end_capture(self) -> Graph:
        actions, self.recorded, self.gpu.capturing = self.recorded, None, None
        assert actions is not None
        self.gpu.call("streamEndCapture")
        return Graph(self.gpu, actions)

    def synchronize(self) -> None:
        self.gpu.call("streamSynchronize")

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class Graph:
    """What a stream recorded."""

    def __init__(self, gpu: StandIn, actions: list[Callable[[], None]]) -> None:
        self.gpu, self.actions, self.ptr = gpu, actions, id(self)
        gpu.others.add(self)

    def upload(self, _stream: Stream) -> None:
        self.gpu.call("graphUpload")

    def launch(self, _stream: Stream) -> None:
        self.gpu.call("graphLaunch")
        for action in self.actions:
            action()


class Event:
    """A point in time."""

    def __init__(self, gpu: StandIn) -> None:
        gpu.call("eventCreate")
        self.gpu, self.ptr, self.time_ms = gpu, id(self), 0.0
        gpu.others.add(self)

    def record(self, stream: Stream) -> None:
        def action() -> None:
            self.time_ms = self.gpu.clock_ms

        stream.put(action)


def _modules(gpu: StandIn) -> dict[str, ModuleType]:
    streams: weakref.WeakValueDictionary[int, Stream] = weakref.WeakValueDictionary()

    def new_stream(non_blocking: bool) -> Stream:
        assert non_blocking
        stream = Stream(gpu)
        streams[stream.ptr] = stream
        return stream

    def memory(size: int) -> _Memory:
        block = _Memory(gpu, "malloc", size)
        gpu.device_memory.add(block)
        return block

    def pinned(size: int, flags: int) -> _Memory:
        assert flags == 1
        block = _Memory(gpu, "hostAlloc", size)
        gpu.pinned_memory.add(block)
        return block

    def copy(target: int, source: int, num_bytes: int, kind: int, stream: int) -> None:
        assert num_bytes > 0
        gpu.call(f"memcpyAsync{kind}")
        streams[stream].put(lambda: void(ctypes.memmove(target, source, num_bytes)))

    def set_device(ordinal: int) -> None:
        gpu.device = ordinal

    def void(_: object) -> None:
        pass

    runtime = _module(
        "cupy.cuda.runtime",
        CUDARuntimeError=CudaError,
        hostAllocPortable=1,
        memcpyHostToDevice=1,
        memcpyDeviceToHost=2,
        streamCaptureModeThreadLocal=1,
        memcpyAsync=copy,
        getDevice=lambda: gpu.device,
        setDevice=set_device,
        memGetInfo=lambda: (gpu.total_bytes - gpu.device_bytes, gpu.total_bytes),
        getDeviceProperties=lambda _: {"name": b"Stand-in", "major": 9, "minor": 0},
        driverGetVersion=lambda: 12080,
        runtimeGetVersion=lambda: 12090,
    )

    class RawModule:
        def __init__(self, path: str) -> None:
            self.path = path

        def get_function(self, name: str) -> Callable[..., None]:
            return _kernel(gpu, name)

    cuda = _module(
        "cupy.cuda",
        runtime=runtime,
        nvrtc=_module(
            "cupy.cuda.nvrtc", getVersion=lambda: (12, 9), getSupportedArchs=lambda: (80, 90)
        ),
        Memory=memory,
        PinnedMemory=pinned,
        PinnedMemoryPointer=lambda block, offset: _view(block, offset),
        Stream=new_stream,
        Event=lambda: Event(gpu),
        get_elapsed_time=lambda start, end: end.time_ms - start.time_ms,
    )
    root = _module("cupy", cuda=cuda, RawModule=RawModule, __version__="0", __path__=[])
    cuda.__dict__["__path__"] = []
    return {"cupy": root, "cupy.cuda": cuda, "cupy.cuda.runtime": runtime}


def _kernel(gpu: StandIn, name: str) -> Callable[..., None]:
    def launch(grid: Any, block: Any, arguments: Any, *, shared_mem: int) -> None:
        gpu.call("launchKernel")
        assert len(grid) == len(block) == 3
        assert shared_mem >= 0
        assert all(isinstance(each, np.ndarray) and each.size == 1 for each in arguments)
        packed = [each.tobytes() for each in arguments]

        def action() -> None:
            gpu.clock_ms += 1.0
            gpu.kernels[name](*packed)

        if gpu.capturing is not None:
            gpu.capturing.put(action)
        else:
            action()

    return launch


def _copy_blocks(table: bytes) -> None:
    for target, source, num_bytes in np.frombuffer(table, np.int64).reshape(3, 8).T.tolist():
        ctypes.memmove(target, source, num_bytes)


def _view(block: _Memory, offset: int) -> Any:
    """A buffer that keeps the block alive, as ``PinnedMemoryPointer`` does."""
    array: Any = (ctypes.c_byte * block.size).from_address(block.ptr + offset)
    array.keeps = block
    return array


def _module(name: str, **attributes: Any) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(attributes)
    return module
