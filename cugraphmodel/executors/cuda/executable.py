"""A plan bound to memory of one GPU: ready to replay."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.arena import align
from cugraphmodel.errors import CaptureError, DataIndexError
from cugraphmodel.executors.cuda.capture import capture as capture_graph
from cugraphmodel.executors.cuda.driver import record_event_in_capture
from cugraphmodel.executors.cuda.memory import DeviceBlock, require_free, zeroed_pinned
from cugraphmodel.executors.cuda.staging import COPY_KERNEL, Copy, bind_copies
from cugraphmodel.executors.cuda.weights import CudaWeightStore, Weight
from cugraphmodel.executors.cuda.work import Addresses, BoundLaunch, Work, bind_launches
from cugraphmodel.ir import Parameters, TensorType
from cugraphmodel.ops.launch import Launch
from cugraphmodel.plan import Plan

if TYPE_CHECKING:
    from cugraphmodel.executors.cuda.device import CudaDevice

__all__ = ["CudaExecutable"]

Array = npt.NDArray[Any]

NO_ERROR = 0xFFFFFFFF
"""Content of the error word when no kernel met bad index data; see ``device.cuh``."""
ERROR_WORD_BYTES = 4


_living: weakref.WeakSet[CudaExecutable] = weakref.WeakSet()


class CudaExecutable:
    """A plan with its own stream, arena and staging memory. One caller at a time.

    Attributes:
        inputs: writable pinned arrays, one for each input of the plan; empty after :meth:`close`.
        outputs: read-only views of pinned arrays, one for each output; likewise.
    """

    inputs: tuple[Array, ...] = ()
    outputs: tuple[Array, ...] = ()

    def __init__(
        self,
        device: CudaDevice,
        plan: Plan,
        store: CudaWeightStore,
        parameters: Parameters,
        kernels: Mapping[Launch, Any],
        *,
        capture: bool,
    ) -> None:
        """Allocate, upload, warm up and capture. The device must be the current one."""
        from cupy.cuda import Event, Stream

        _living.add(self)
        self._device = device
        self._plan = plan
        self._arena: DeviceBlock | None = None
        self._weights: dict[str, Weight] = {}
        self._error_word: Array = np.full(1, NO_ERROR, np.uint32)
        self._clean_word: Array = self._error_word
        self._staged_outputs: tuple[Array, ...] = ()
        self._work = Work()
        self._graph: Any = None
        self._timed_graph: Any = None
        self._stream: Any = Stream(non_blocking=True)
        self._events: tuple[Any, ...] = (Event(), Event()) if plan.steps else ()
        try:
            self._allocate(store, parameters)
            self._bind(kernels)
            self.set_state({name: np.zeros(v.shape, v.dtype) for name, v in plan.state.items()})
            self._warm_up()
            if capture:
                self._capture()
        except BaseException:
            with suppress(RuntimeError):  # after a fault on the device every call fails
                self._stream.synchronize()
            self._release()
            raise

    def replay(self) -> None:
        """Copy in, run all steps, copy out, wait. Allocates nothing that outlives the call.

        Raises:
            DataIndexError: index data lay outside its tensor.
            DeviceUnavailableError: this process was forked after the device was opened.
        """
        previous = self._device.enter()
        try:
            if self._graph is not None:
                self._graph.launch(self._stream)
            else:
                self._work.issue(self._stream)
            self._stream.synchronize()
        finally:
            self._device.leave(previous)
        self._check_error_word()

    def replay_timed(self) -> float:
        """Like :meth:`replay`; milliseconds from the first kernel's start to the last one's end."""
        from cupy.cuda import get_elapsed_time

        if not self._events:
            self.replay()
            return 0.0
        previous = self._device.enter()
        try:
            if self._timed_graph is not None:
                self._timed_graph.launch(self._stream)
            else:
                self._work.issue(self._stream, self._record)
            self._stream.synchronize()
            elapsed_ms: float = get_elapsed_time(*self._events)
        finally:
            self._device.leave(previous)
        self._check_error_word()
        return elapsed_ms

    def time_steps(self, repeats: int) -> list[float]:
        """See :class:`cugraphmodel.executors.base.Executable`.

        Each step gets a graph of its own: ``repeats`` launches between two event records. So the
        time holds what a node costs in a graph, and what a step reads is in the GPU's cache if it
        fits there.

        Raises:
            CaptureError: a graph cannot be captured.
            DeviceUnavailableError: this process was forked after the device was opened.
        """
        with self._device.current():
            state = self._read_state()
            try:
                with self._stream:
                    for copy in self._work.copies_in:
                        copy.issue(self._stream)
                return [self._time_launch(launch, repeats) for launch in self._work.launches]
            finally:
                self.set_state(state)

    def _time_launch(self, launch: BoundLaunch, repeats: int) -> float:
        from cupy.cuda import get_elapsed_time

        def issue() -> None:
            with self._stream:
                self._record_in_capture(0)
                for _ in range(repeats):
                    launch.issue(self._stream)
                self._record_in_capture(1)

        with self._stream:
            launch.issue(self._stream)
        graph = self._captured(issue)
        graph.launch(self._stream)
        self._stream.synchronize()
        elapsed_ms: float = get_elapsed_time(*self._events)
        return elapsed_ms / repeats

    def _read_state(self) -> dict[str, Array]:
        """The plan's state by name, copied."""
        from cupy.cuda import runtime

        assert self._arena is not None  # not closed
        state = {name: np.zeros(v.shape, v.dtype) for name, v in self._plan.state.items()}
        for name, array in state.items():
            if array.nbytes == 0:
                continue
            runtime.memcpyAsync(
                array.ctypes.data,
                self._arena.address + self._plan.slots[self._plan.state[name].name].offset,
                array.nbytes,
                runtime.memcpyDeviceToHost,
                self._stream.ptr,
            )
        self._stream.synchronize()
        return state

    def set_state(self, arrays: Mapping[str, Array]) -> None:
        """Overwrite the plan's state, by name; the device has it on return.

        Raises:
            DeviceUnavailableError: this process was forked after the device was opened.
        """
        from cupy.cuda import runtime

        assert self._arena is not None  # not closed
        with self._device.current():
            for name, array in arrays.items():
                if array.nbytes == 0:
                    continue
                slot = self._plan.slots[self._plan.state[name].name]
                source = np.ascontiguousarray(array)
                runtime.memcpyAsync(
                    self._arena.address + slot.offset,
                    source.ctypes.data,
                    source.nbytes,
                    runtime.memcpyHostToDevice,
                    self._stream.ptr,
                )
                self._stream.synchronize()  # the caller may drop the array

    def close(self) -> None:
        """Free all memory but that under views still alive. May be called again.

        In a process forked from the one that made it this does nothing: the memory is not its own.
        """
        if self._stream is None or not self._device.usable:
            return
        with self._device.current():
            try:
                self._stream.synchronize()
            finally:
                self._release()

    def _release(self) -> None:
        self._graph = self._timed_graph = self._stream = None
        self._events = ()
        self._work = Work()
        self._error_word = self._clean_word = np.full(1, NO_ERROR, np.uint32)
        self.inputs = self.outputs = self._staged_outputs = ()
        self._weights = {}
        if self._arena is not None:
            self._arena.free()

    def _allocate(self, store: CudaWeightStore, parameters: Parameters) -> None:
        plan = self._plan
        constants = list(plan.constants.values())
        arena_bytes = plan.arena_bytes + (align(ERROR_WORD_BYTES) if plan.uses_error_word else 0)
        require_free(arena_bytes + store.missing_bytes(constants))
        self._arena = DeviceBlock(arena_bytes)
        self._weights = store.acquire(constants, parameters, self._stream)
        self.inputs = tuple(zeroed_pinned(value) for value in plan.inputs)
        self._staged_outputs = tuple(zeroed_pinned(value) for value in plan.outputs)
        self.outputs = tuple(_read_only(array) for array in self._staged_outputs)
        if plan.uses_error_word:
            word = TensorType(np.dtype(np.uint32), (1,))
            self._error_word, self._clean_word = zeroed_pinned(word), zeroed_pinned(word)
            self._clean_word[0] = NO_ERROR

    def _bind(self, kernels: Mapping[Launch, Any]) -> None:
        plan, arena = self._plan, self._arena
        assert arena is not None  # _allocate came before
        error_word = arena.address + plan.arena_bytes if plan.uses_error_word else 0
        addresses = Addresses(
            plan,
            arena.address,
            {key: weight.address for key, weight in self._weights.items()},
            error_word,
        )
        copies_in = [
            Copy(addresses.of_value(value.name), array.ctypes.data, array.nbytes)
            for value, array in zip(plan.inputs, self.inputs, strict=True)
        ]
        copies_out = [
            Copy(array.ctypes.data, addresses.of_value(value.name), array.nbytes)
            for value, array in zip(plan.outputs, self._staged_outputs, strict=True)
        ]
        if plan.uses_error_word:
            clean, found = self._clean_word.ctypes.data, self._error_word.ctypes.data
            copies_in.append(Copy(error_word, clean, ERROR_WORD_BYTES))
            copies_out.append(Copy(found, error_word, ERROR_WORD_BYTES))
        copy_kernel = kernels[COPY_KERNEL]
        self._work = Work(
            tuple(bind_copies(copies_in, copy_kernel, to_device=True)),
            tuple(bind_launches(plan.steps, kernels, addresses)),
            tuple(bind_copies(copies_out, copy_kernel, to_device=False)),
        )

    def _warm_up(self) -> None:
        """Run once with inputs and state of zeros; the outputs hold zeros again afterwards.

        The state holds what that run left.
        """
        self._work.warm_up(self._stream)
        self._stream.synchronize()
        for array in self._staged_outputs:
            array.fill(0)

    def _capture(self) -> None:
        """Capture the work twice: bare for :meth:`replay`, and with events around the kernels."""
        stream = self._stream
        self._graph = self._captured(lambda: self._work.issue(stream))
        if self._events:
            self._timed_graph = self._captured(
                lambda: self._work.issue(stream, self._record_in_capture)
            )

    def _captured(self, issue: Callable[[], None]) -> Any:
        """A graph of what ``issue`` puts on the stream, uploaded to the device.

        Raises:
            CaptureError: the device cannot capture it.
        """
        try:
            graph = capture_graph(self._stream, issue)
            graph.upload(self._stream)
            self._stream.synchronize()
        except RuntimeError as error:
            if isinstance(error, CaptureError):
                raise
            raise CaptureError(f"{self._device.name} cannot capture the graph: {error}.") from error
        return graph

    def _record(self, which: int) -> None:
        self._events[which].record(self._stream)

    def _record_in_capture(self, which: int) -> None:
        record_event_in_capture(self._events[which].ptr, self._stream.ptr)

    def _check_error_word(self) -> None:
        code = int(self._error_word[0])
        if code == NO_ERROR:
            return
        node = self._plan.steps[code].node
        raise DataIndexError(
            f"{node.label}: an index of this run lies outside the tensor that it indexes. "
            "The outputs of this run mean nothing; the graph can be run again.",
            node=node,
        )


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _keep_in_child() -> None:
    """In a forked process: never let go of what only the parent can free.

    CUDA does not work there, so freeing would do nothing but print errors.
    """
    for executable in list(_living):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(executable))


os.register_at_fork(after_in_child=_keep_in_child)
