"""What one replay puts on a stream, with every address fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cugraphmodel.errors import CaptureError
from cugraphmodel.ir import Value
from cugraphmodel.ops.launch import ERROR_CODE, ERROR_WORD, Argument, Launch, Workspace
from cugraphmodel.plan import Plan, Step

__all__ = ["Addresses", "BoundLaunch", "Command", "Work", "bind_launches", "pack"]

FAULT = " A fault on the GPU ends a process's use of it: start a new process."

Array = npt.NDArray[Any]
Record = Callable[[int], None]
"""``record(0)`` is called before the first kernel is issued, ``record(1)`` after the last."""


class Command(Protocol):
    """Something to put on a stream."""

    def issue(self, stream: Any) -> None:
        """Put it on the stream, which is the current one, without waiting."""
        ...


def pack(data: bytes) -> Array:
    """A kernel argument of exactly these bytes: CuPy passes an array of size one by value."""
    return np.frombuffer(data, f"V{len(data)}")


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


@dataclass(frozen=True, eq=False)
class BoundLaunch:
    """A launch whose arguments are fixed.

    Attributes:
        label: what messages call whatever it belongs to.
        launch: kernel and geometry.
        kernel: its ``cupy.RawKernel``.
        arguments: see :func:`pack`.
    """

    label: str
    launch: Launch
    kernel: Any
    arguments: tuple[Array, ...]

    def issue(self, stream: Any) -> None:  # noqa: ARG002  CuPy launches on the current stream
        """Launch on the current stream.

        Raises:
            CaptureError: the driver refused.
        """
        launch = self.launch
        try:
            self.kernel(launch.grid, launch.block, self.arguments, shared_mem=launch.shared_bytes)
        except RuntimeError as error:
            raise self.failure("cuLaunchKernel", error) from error

    def failure(self, call: str, error: Exception, advice: str = "") -> CaptureError:
        """The error to raise when a CUDA call failed for this launch."""
        launch = self.launch
        return CaptureError(
            f"{self.label}: kernel {launch.entry} of {launch.source} failed in {call} with grid "
            f"{launch.grid}, block {launch.block} and {launch.shared_bytes} bytes of dynamic "
            f"shared memory: {error}.{advice}",
            launch=launch,
            call=call,
        )


def bind_launches(
    steps: Sequence[Step], kernels: Mapping[Launch, Any], addresses: Addresses
) -> Iterator[BoundLaunch]:
    """Launches of a plan with their arguments; a node's error code is the position of its step."""
    for code, step in enumerate(steps):
        arguments = tuple(
            pack(addresses.argument_bytes(argument, step, code)) for argument in step.launch.args
        )
        yield BoundLaunch(step.node.label, step.launch, kernels[step.launch], arguments)


@dataclass(frozen=True)
class Work:
    """One replay.

    Attributes:
        copies_in: pinned memory to the device.
        launches: the plan's kernels, in order.
        copies_out: device to pinned memory.
    """

    copies_in: tuple[Command, ...] = ()
    launches: tuple[BoundLaunch, ...] = ()
    copies_out: tuple[Command, ...] = ()

    def issue(self, stream: Any, record: Record | None = None) -> None:
        """Put everything on a stream of the current device, without waiting.

        Raises:
            CaptureError: a launch failed.
        """
        with stream:
            for copy in self.copies_in:
                copy.issue(stream)
            if record is not None:
                record(0)
            for launch in self.launches:
                launch.issue(stream)
            if record is not None:
                record(1)
            for copy in self.copies_out:
                copy.issue(stream)

    def warm_up(self, stream: Any) -> None:
        """Run everything once, waiting after each kernel, so that a fault is found at its origin.

        The driver loads code and sets up local memory at a kernel's first launch; both must not
        happen during capture.

        Raises:
            CaptureError: a kernel failed.
        """
        with stream:
            for command in (*self.copies_in, *self.launches, *self.copies_out):
                command.issue(stream)
                if isinstance(command, BoundLaunch):
                    try:
                        stream.synchronize()
                    except RuntimeError as error:
                        call = "cudaStreamSynchronize"
                        raise command.failure(call, error, FAULT) from error
