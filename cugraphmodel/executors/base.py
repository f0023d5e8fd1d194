"""What an executor is: a device that turns plans into something that replays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy.typing as npt

from cugraphmodel.ir import Parameters
from cugraphmodel.ops.launch import Launch
from cugraphmodel.plan import Plan

__all__ = ["Device", "Executable", "Progress", "WeightStore"]

Array = npt.NDArray[Any]
Progress = Callable[[str, int, int], None]
"""``progress(what, done, total)``: called while kernels compile and load."""


class WeightStore(Protocol):
    """The constants of one model on one device, each there once, shared by its graphs.

    Keeps only what some living executable uses.
    """

    def update(self, constants: Mapping[str, Array]) -> None:
        """Overwrite constants (by ``Constant.key``) in place; returns when the device has them.

        The caller holds the locks of all graphs of the model. Keys that are not on the device
        are left out.
        """
        ...

    @property
    def num_bytes(self) -> int:
        """Bytes held on the device now."""
        ...


class Executable(Protocol):
    """A plan bound to memory of its own. One caller at a time; ``close`` is idempotent."""

    inputs: tuple[Array, ...]
    """Writable views of the staging memory of each input; alive on their own after close."""
    outputs: tuple[Array, ...]
    """Read-only live views of the staging memory of each output; likewise."""

    def replay(self) -> None:
        """Copy in, run all steps, copy out, wait. Allocates nothing that outlives the call.

        Raises:
            DataIndexError: index data lay outside its tensor (first such node in plan order).
        """
        ...

    def replay_timed(self) -> float:
        """Like :meth:`replay`; returns the milliseconds of the kernels alone."""
        ...

    def time_steps(self, repeats: int) -> list[float]:
        """Run the plan on what :attr:`inputs` hold, each step again and again, and time each.

        Outputs and state stay as they are.

        Args:
            repeats: timed runs of a step, at least 1; one more goes before them.

        Returns:
            Milliseconds of one run of each step of the plan, the mean of ``repeats``.
        """
        ...

    def set_state(self, arrays: Mapping[str, Array]) -> None:
        """Overwrite the plan's state, by name; returns when the device has it.

        The caller does so before the first replay; a plan without state needs no call.
        """
        ...

    def close(self) -> None:
        """Free all memory but that under views still alive."""
        ...


class Device(Protocol):
    """A place where plans run."""

    name: str
    """``"cpu"``, ``"cuda:0"``, ..."""
    description: str
    """For people: processor and compiler, or GPU, driver and CuPy."""
    compute_capability: tuple[int, int] | None
    """Of a GPU, e.g. ``(9, 0)``; None for the CPU."""

    def weight_store(self) -> WeightStore:
        """A new, empty store."""
        ...

    def compile(self, launches: Sequence[Launch], progress: Progress | None = None) -> None:
        """Bring the kernel cache up to what launches need, on all processors."""
        ...

    def prepare(
        self,
        plan: Plan,
        store: WeightStore,
        params: Parameters,
        *,
        capture: bool,
        progress: Progress | None = None,
    ) -> Executable:
        """Compile, allocate, upload missing weights, warm up and (if asked) capture.

        Checks that the memory suffices before it allocates any, and gives back all it took when it
        fails.

        Raises:
            KernelCompileError, DeviceMemoryError, CaptureError
        """
        ...
