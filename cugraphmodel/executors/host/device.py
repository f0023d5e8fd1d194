"""Plans on the CPU: one call into the runtime a replay."""

from __future__ import annotations

import concurrent.futures
import ctypes
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel import settings
from cugraphmodel.errors import (
    DataIndexError,
    DeviceMemoryError,
    GraphClosedError,
    KernelCheckError,
    KernelError,
)
from cugraphmodel.executors.base import Progress, WeightStore
from cugraphmodel.executors.host.checked import Marks, Tensor, spaced, tensor_records
from cugraphmodel.executors.host.compiler import find_compiler, runtime_library
from cugraphmodel.executors.host.failure import Failure
from cugraphmodel.executors.host.memory import (
    HostWeightStore,
    Resident,
    allocate,
    available_bytes,
    view,
)
from cugraphmodel.executors.host.module import HostKernel, HostModule, Pointer
from cugraphmodel.executors.host.runtime import LaunchRecord, Runtime, TensorRecord
from cugraphmodel.ir import Parameters, Value
from cugraphmodel.kernels.source import load_source
from cugraphmodel.ops.launch import ERROR_CODE, ERROR_WORD, Argument, Launch, Workspace
from cugraphmodel.plan import Plan, Step

__all__ = ["HostDevice", "HostExecutable"]

Array = npt.NDArray[Any]
_Macros = tuple[tuple[str, str], ...]
_Modules = Mapping[tuple[str, _Macros], HostModule]

_NO_ERROR = 0xFFFFFFFF


class HostDevice:
    """The CPU; see :class:`cugraphmodel.executors.base.Device`.

    Args:
        checked: look up every access and compare every barrier; see ``docs/check.md``.

    Raises:
        DeviceUnavailableError: this is not Linux on x86-64.
        CompilerNotFoundError: there is no C++ compiler.
    """

    def __init__(self, *, checked: bool = False) -> None:
        self._checked = checked
        self._compiler = find_compiler()
        self.name = "cpu:check" if checked else "cpu"
        self.compute_capability: tuple[int, int] | None = None
        self.description = f"{_processor_name()}, kernels by {self._compiler.title}"

    def weight_store(self) -> HostWeightStore:
        """A new, empty store."""
        return HostWeightStore()

    def prepare(
        self,
        plan: Plan,
        store: WeightStore,
        params: Parameters,
        *,
        capture: bool,  # noqa: ARG002 - of the Device protocol
        progress: Progress | None = None,
    ) -> HostExecutable:
        """Compile the plan's kernels, then allocate its memory.

        ``capture`` changes nothing here: every replay is one call into the runtime.

        Raises:
            KernelCompileError: a kernel does not compile.
            KernelError: a launch does not fit its kernel's signature.
            DeviceMemoryError: there is not enough memory.
        """
        if not isinstance(store, HostWeightStore):
            raise TypeError(f"a store of this device is needed, got {type(store).__name__}")
        if self._checked:
            plan = spaced(plan)
        modules = self._modules([step.launch for step in plan.steps], progress)
        constants = list(plan.constants.values())
        need = plan.arena_bytes + plan.staging_bytes + store.missing_bytes(constants)
        have = available_bytes()
        if need > have:
            raise DeviceMemoryError(
                f"This graph needs {need / 2**20:,.0f} MiB of memory, {have / 2**20:,.0f} MiB are "
                "free. A smaller batch needs less.",
                need_bytes=need,
                have_bytes=have,
            )
        residents = store.acquire(constants, params)
        runtime = Runtime(self._compiler, checked=self._checked)
        return HostExecutable(plan, modules, residents, runtime, checked=self._checked)

    def compile(self, launches: Sequence[Launch], progress: Progress | None = None) -> None:
        """See :meth:`cugraphmodel.executors.base.Device.compile`."""
        self._modules(launches, progress)

    def _modules(self, launches: Sequence[Launch], progress: Progress | None) -> _Modules:
        """All distinct modules; compilers run side by side."""
        wanted = list(dict.fromkeys(_module_key(launch) for launch in launches))
        runtime_library(self._compiler, self._checked)
        modules: dict[tuple[str, _Macros], HostModule] = {}
        with concurrent.futures.ThreadPoolExecutor(settings.host_threads()) as pool:
            jobs = {
                pool.submit(
                    HostModule,
                    load_source(source),
                    macros,
                    self._compiler,
                    checked=self._checked,
                ): (source, macros)
                for source, macros in wanted
            }
            try:
                for job in concurrent.futures.as_completed(jobs):
                    modules[jobs[job]] = job.result()
                    if progress is not None:
                        progress(jobs[job][0], len(modules), len(wanted))
            finally:
                pool.shutdown(cancel_futures=True)
        return modules


def _module_key(launch: Launch) -> tuple[str, _Macros]:
    return launch.source, launch.macros


def _processor_name() -> str:
    match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return match[1].strip() if match else "x86-64 processor"


class HostExecutable:
    """A plan with memory; see :class:`cugraphmodel.executors.base.Executable`."""

    def __init__(
        self,
        plan: Plan,
        modules: _Modules,
        residents: Mapping[str, Resident],
        runtime: Runtime,
        *,
        checked: bool = False,
    ) -> None:
        self._plan = plan
        self._runtime = runtime
        self._order = settings.host_order()
        self._num_workers = 1 if checked else settings.host_threads()
        self._marks = Marks(plan) if checked else None
        self._modules = modules
        self._error_word = np.full(1, _NO_ERROR, np.uint32)
        memory = _Memory(plan, residents, allocate(plan.arena_bytes))

        self.inputs: tuple[Array, ...] = tuple(_staging(value) for value in plan.inputs)
        staged = tuple(_staging(value) for value in plan.outputs)
        self._copies_in = [
            (memory.tensor(value), array)
            for value, array in zip(plan.inputs, self.inputs, strict=True)
        ]
        self._copies_out = [
            (array, memory.tensor(value)) for value, array in zip(plan.outputs, staged, strict=True)
        ]
        self.outputs: tuple[Array, ...] = tuple(_read_only(array) for array in staged)

        self._packed: list[Array] = []
        self._kernels: list[HostKernel] = []
        self._tensors: list[ctypes.Array[TensorRecord]] = []
        records = [
            self._record(number, step, memory, modules) for number, step in enumerate(plan.steps)
        ]
        self._launches = (LaunchRecord * len(records))(*records)
        self._memory: _Memory | None = memory
        self.set_state({name: np.zeros(v.shape, v.dtype) for name, v in plan.state.items()})

    def _record(self, number: int, step: Step, memory: _Memory, modules: _Modules) -> LaunchRecord:
        launch = step.launch
        try:
            kernel = modules[_module_key(launch)].get_function(launch.entry)
            arguments = [self._resolved(number, step, item, memory) for item in launch.args]
            packed = kernel.pack(arguments)
            tensors = self._tensor_records(kernel, step, memory)
            record = kernel.record(launch.grid, launch.block, packed, launch.shared_bytes, tensors)
        except KernelError as error:
            raise KernelError(f"{step.node.label}, {launch.source}: {error}") from None
        self._packed.append(packed)
        self._kernels.append(kernel)
        return record

    def _tensor_records(
        self, kernel: HostKernel, step: Step, memory: _Memory
    ) -> ctypes.Array[TensorRecord] | None:
        """Check mode: the memory that a launch may access."""
        if self._marks is None:
            return None
        tensors = []
        for position, (parameter, argument) in enumerate(
            zip(kernel.parameters, step.launch.args, strict=True)
        ):
            tensor = self._tensor(f"argument {position}", argument, step, memory, self._marks)
            if tensor is not None:
                tensors.append((parameter, tensor))
        self._tensors.append(tensor_records(tensors))
        return self._tensors[-1]

    def _tensor(
        self, name: str, argument: Argument, step: Step, memory: _Memory, marks: Marks
    ) -> Tensor | None:
        if isinstance(argument, Value):
            slot = self._plan.slots.get(argument.name)  # None: a constant
            return Tensor(
                memory.address(argument),
                argument.num_bytes,
                argument.dtype.itemsize,
                None if slot is None else marks.address(slot),
                f"{name} ({argument.name})",
            )
        if isinstance(argument, Workspace):
            slot = step.workspaces[argument]
            address = memory.arena.ctypes.data + slot.offset
            return Tensor(address, slot.num_bytes, None, marks.address(slot), f"{name} (workspace)")
        if argument is ERROR_WORD:
            return Tensor(self._error_word.ctypes.data, 4, 4, None, f"{name} (error word)")
        return None

    def _resolved(
        self, number: int, step: Step, argument: Argument, memory: _Memory
    ) -> Pointer | np.generic | Array | None:
        """What a launch argument stands for in this executable."""
        if isinstance(argument, Value):
            return Pointer(memory.address(argument), argument.dtype)
        if isinstance(argument, Workspace):
            return Pointer(memory.arena.ctypes.data + step.workspaces[argument].offset)
        if argument is ERROR_WORD:
            return Pointer(self._error_word.ctypes.data, self._error_word.dtype)
        if argument is ERROR_CODE:
            return np.uint32(number)
        assert argument is None or isinstance(argument, np.generic | np.ndarray)
        return argument

    def replay(self) -> None:
        """Copy in, run all steps, copy out.

        Raises:
            DataIndexError: index data lay outside its tensor.
            KernelError: a kernel deadlocked or trapped.
            GraphClosedError: after :meth:`close`.
        """
        self._replay(lambda: None)

    def replay_timed(self) -> float:
        """Like :meth:`replay`; returns the milliseconds of the steps alone."""
        marks: list[int] = []
        self._replay(lambda: marks.append(time.perf_counter_ns()))
        return (marks[1] - marks[0]) / 1e6

    def _replay(self, mark: Callable[[], None]) -> None:
        self._begin()
        mark()
        failure = self._run(0)
        mark()
        if failure is not None:
            raise self._error(failure)
        unwritten = None if self._marks is None else self._marks.unwritten_output()
        if unwritten is not None:
            raise unwritten
        for staged, source in self._copies_out:
            np.copyto(staged, source)
        if self._error_word[0] != _NO_ERROR:
            step = self._plan.steps[int(self._error_word[0])]
            raise DataIndexError(
                f"{step.node.label}: an index of this run lies outside the tensor that it indexes. "
                "The outputs of this run mean nothing; the graph can be run again.",
                node=step.node,
            )

    def time_steps(self, repeats: int) -> list[float]:
        """See :class:`cugraphmodel.executors.base.Executable`; times are those of a wall clock.

        Raises:
            KernelError: a kernel deadlocked or trapped.
            GraphClosedError: after :meth:`close`.
        """
        self._begin()
        assert self._memory is not None
        state = {n: self._memory.tensor(v).copy() for n, v in self._plan.state.items()}
        try:
            return [self._time_step(number, repeats) for number in range(len(self._launches))]
        finally:
            self.set_state(state)

    def _time_step(self, number: int, repeats: int) -> float:
        offset = number * ctypes.sizeof(LaunchRecord)
        launches = (LaunchRecord * 1).from_buffer(self._launches, offset)
        start = 0
        for repeat in range(repeats + 1):
            if repeat == 1:
                start = time.perf_counter_ns()
            failure = self._runtime.run(launches, order=self._order, num_workers=self._num_workers)
            if failure is not None:
                raise self._error(replace(failure, launch=number))
        return (time.perf_counter_ns() - start) / repeats / 1e6

    def set_state(self, arrays: Mapping[str, Array]) -> None:
        """Overwrite the plan's state, by name.

        Raises:
            GraphClosedError: after :meth:`close`.
        """
        if self._memory is None:
            raise GraphClosedError("This graph was closed; capture it again.")
        for name, array in arrays.items():
            np.copyto(self._memory.tensor(self._plan.state[name]), array)

    def findings(self) -> list[KernelCheckError]:
        """Check mode: replay to the end, whatever is found on the way.

        Returns:
            The first fault of each launch that has one. What such a launch left unwritten counts
            as zeros for those after it. The outputs mean nothing.
        """
        assert self._marks is not None, "not a check-mode executable"
        self._begin()
        assert self._memory is not None
        found: list[KernelCheckError] = []
        failure = self._run(0)
        while failure is not None:
            error = self._error(failure)
            if not isinstance(error, KernelCheckError):
                raise error
            found.append(error)
            self._marks.clear_unwritten(self._plan.steps[failure.launch], self._memory.arena)
            failure = self._run(failure.launch + 1)
        unwritten = self._marks.unwritten_output()
        return found if unwritten is None else [*found, unwritten]

    def _begin(self) -> None:
        if self._memory is None:
            raise GraphClosedError("This graph was closed; capture it again.")
        self._error_word[0] = _NO_ERROR
        for target, staged in self._copies_in:
            np.copyto(target, staged)
        if self._marks is not None:
            self._marks.restart()

    def _run(self, first: int) -> Failure | None:
        """Run all launches from ``first`` on, to the end or to the first failure."""
        return self._runtime.run(
            self._launches, order=self._order, num_workers=self._num_workers, first=first
        )

    def _error(self, failure: Failure) -> KernelError:
        step = self._plan.steps[failure.launch]
        kernel = self._kernels[failure.launch]
        return kernel.error(failure, f"{step.node.label}, {step.launch.entry}")

    def close(self) -> None:
        """Drop all memory; what views still alive refer to goes with them."""
        self._memory = None
        self.inputs = self.outputs = ()
        self._copies_in = []
        self._copies_out = []
        self._packed = []
        self._launches = (LaunchRecord * 0)()


class _Memory:
    """Where the values of a plan lie."""

    def __init__(self, plan: Plan, residents: Mapping[str, Resident], arena: Array) -> None:
        self._slots = plan.slots
        self._constants = {
            name: residents[constant.key] for name, constant in plan.constants.items()
        }
        self.arena = arena

    def _place(self, value: Value) -> tuple[Array, int]:
        if value.name in self._constants:
            return self._constants[value.name].memory, 0
        return self.arena, self._slots[value.name].offset

    def address(self, value: Value) -> int:
        """Address of a value's first byte."""
        memory, offset = self._place(value)
        return int(memory.ctypes.data) + offset

    def tensor(self, value: Value) -> Array:
        """The value as an array."""
        memory, offset = self._place(value)
        return view(memory, offset, value.dtype, value.shape)


def _staging(value: Value) -> Array:
    array = view(allocate(value.num_bytes), 0, value.dtype, value.shape)
    array.fill(0)
    return array


def _read_only(array: Array) -> Array:
    seen = array.view()
    seen.flags.writeable = False
    return seen
