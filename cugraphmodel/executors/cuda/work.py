"""What one replay does, with every address fixed: copies in, kernels, copies out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.errors import CaptureError
from cugraphmodel.ir import Value
from cugraphmodel.ops.launch import ERROR_CODE, ERROR_WORD, Argument, Launch, Workspace
from cugraphmodel.plan import Plan, Step

__all__ = ["NO_ERROR", "Addresses", "Copy", "Work", "bind_launches"]

NO_ERROR = 0xFFFFFFFF
"""Content of the error word when no kernel met bad index data; see ``device.cuh``."""
ERROR_WORD_BYTES = 4
FAULT = " A fault on the GPU ends a process's use of it: start a new process."

Array = npt.NDArray[Any]
Record = Callable[[int], None]
"""``record(0)`` is called before the first kernel is issued, ``record(1)`` after the last."""


@dataclass(frozen=True)
class Addresses:
    """Where the values of a plan lie on the device.

    Attributes:
        plan: the plan.
        arena: address of the arena.
        weights: ``Constant.key`` -> address.
        error_word: address of the error word, 0 if the plan uses none.
    """

    plan: Plan
    arena: int
    weights: Mapping[str, int]
    error_word: int

    def of_value(self, name: str) -> int:
        """Address of a value."""
        slot = self.plan.slots.get(name)
        if slot is not None:
            return self.arena + slot.offset
        return self.weights[self.plan.constants[name].key]

    def argument_bytes(self, argument: Argument, step: Step, error_code: int) -> bytes:
        """What the kernel finds as this parameter, byte for byte."""
        if isinstance(argument, np.generic | np.ndarray):
            return argument.tobytes()
        if argument is ERROR_CODE:
            return np.uint32(error_code).tobytes()
        return np.uint64(self._pointer(argument, step)).tobytes()

    def _pointer(self, argument: Argument, step: Step) -> int:
        if isinstance(argument, Value):
            return self.of_value(argument.name)
        if isinstance(argument, Workspace):
            return self.arena + step.workspaces[argument].offset
        if argument is ERROR_WORD:
            return self.error_word
        if argument is None:
            return 0
        raise TypeError(f"{step.node.label}: {step.launch.entry} cannot take {argument!r}.")


@dataclass(frozen=True)
class Copy:
    """A copy between pinned host memory and the device, in bytes and addresses."""

    target: int
    source: int
    num_bytes: int


@dataclass(frozen=True, eq=False)
class BoundLaunch:
    """A ``cupy.RawKernel`` and its arguments, each as an array of one element.

    CuPy passes a NumPy array of size one by value: the kernel gets exactly its bytes.
    """

    step: Step
    kernel: Any
    arguments: tuple[Array, ...]

    def issue(self) -> None:
        """Launch on the current stream.

        Raises:
            CaptureError: the driver refused.
        """
        launch = self.step.launch
        try:
            self.kernel(launch.grid, launch.block, self.arguments, shared_mem=launch.shared_bytes)
        except RuntimeError as error:
            raise self.failure("cuLaunchKernel", error) from error

    def failure(self, call: str, error: Exception, advice: str = "") -> CaptureError:
        """The error to raise when a CUDA call failed for this launch."""
        node, launch = self.step.node, self.step.launch
        return CaptureError(
            f"{node.label}: kernel {launch.entry} of {launch.source} failed in {call} with grid "
            f"{launch.grid}, block {launch.block} and {launch.shared_bytes} bytes of dynamic "
            f"shared memory: {error}.{advice}",
            node=node,
            launch=launch,
            call=call,
        )


def bind_launches(
    steps: Sequence[Step], kernels: Mapping[Launch, Any], addresses: Addresses
) -> Iterator[BoundLaunch]:
    """Launches of a plan with their arguments; a node's error code is the position of its step."""
    for code, step in enumerate(steps):
        packed = (addresses.argument_bytes(argument, step, code) for argument in step.launch.args)
        arguments = tuple(np.frombuffer(data, f"V{len(data)}") for data in packed)
        yield BoundLaunch(step, kernels[step.launch], arguments)


@dataclass(frozen=True, eq=False)
class Work:
    """One replay.

    Attributes:
        copies_in: pinned memory to the arena.
        launches: kernels, in order.
        copies_out: arena and weights to pinned memory.
        error_word: device address of the error word, 0 for none.
    """

    copies_in: tuple[Copy, ...]
    launches: tuple[BoundLaunch, ...]
    copies_out: tuple[Copy, ...]
    error_word: int

    def issue(self, stream: Any, record: Record | None = None) -> None:
        """Put everything on a stream of the current device, without waiting.

        Raises:
            CaptureError: a launch failed.
        """
        with stream:
            self.issue_inputs(stream)
            if record is not None:
                record(0)
            for launch in self.launches:
                launch.issue()
            if record is not None:
                record(1)
            self._issue_outputs(stream)

    def warm_up(self, stream: Any) -> None:
        """Run all kernels once, waiting after each, so that a fault is found where it happens.

        The driver loads code and sets up local memory at a kernel's first launch; both must not
        happen during capture.

        Raises:
            CaptureError: a kernel failed.
        """
        with stream:
            self.issue_inputs(stream)
            for launch in self.launches:
                launch.issue()
                try:
                    stream.synchronize()
                except RuntimeError as error:
                    raise launch.failure("cudaStreamSynchronize", error, FAULT) from error

    def issue_inputs(self, stream: Any) -> None:
        """Put the copies in, and the clearing of the error word, on a stream."""
        from cupy.cuda import runtime

        if self.error_word:
            runtime.memsetAsync(self.error_word, 0xFF, ERROR_WORD_BYTES, stream.ptr)
        for copy in self.copies_in:
            runtime.memcpyAsync(
                copy.target, copy.source, copy.num_bytes, runtime.memcpyHostToDevice, stream.ptr
            )

    def _issue_outputs(self, stream: Any) -> None:
        from cupy.cuda import runtime

        for copy in self.copies_out:
            runtime.memcpyAsync(
                copy.target, copy.source, copy.num_bytes, runtime.memcpyDeviceToHost, stream.ptr
            )
