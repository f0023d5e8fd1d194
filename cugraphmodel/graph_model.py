"""A captured graph: staging arrays, the four ways to run it, and its end."""

from __future__ import annotations

import html
import operator
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cugraphmodel.cost import Rates, rates_of
from cugraphmodel.dtypes import plain_bools, written_dtype
from cugraphmodel.errors import (
    ArgumentError,
    DtypeError,
    GraphClosedError,
    PositionError,
    ShapeError,
)
from cugraphmodel.executors import open_device
from cugraphmodel.executors.base import Executable
from cugraphmodel.forks import renew_lock_in_child
from cugraphmodel.ir import Value
from cugraphmodel.plan import Plan
from cugraphmodel.profiling import Profile, profile_of

__all__ = ["CudaGraphModel", "Inputs", "check_dtype", "ordered_inputs"]

Array = npt.NDArray[Any]
Inputs = Sequence[Array | np.generic] | Mapping[str, Array | np.generic]


class CudaGraphModel:
    """A model captured for fixed shapes; made by :meth:`LoadedModel.capture_graph`.

    All memory is allocated before the first run. A run is one launch and one wait. Any thread may
    call any method: calls of one graph take turns, two graphs run at the same time. What is
    written to or read from the staging arrays between calls is the caller's to guard.

    Attributes:
        name: what messages call this graph.
        device: ``"cpu"``, ``"cuda:0"``, ...
        precision: the mode asked for at capture.
        plan: kernels, memory and shapes as plain data; print it.
        input_names, output_names: in the file's order, and in the order asked for.
        input_shapes, output_shapes: concrete shapes, likewise.
        input_dtypes, output_dtypes: NumPy dtypes, likewise.
        state_names: the inputs that the graph feeds itself; see :meth:`reset_state`.
        output_labels: for each output the class labels of its columns if it comes from a ZipMap,
            whose scores are given as one array (N, C); else None.
    """

    def __init__(
        self,
        name: str,
        device: str,
        precision: str,
        plan: Plan,
        executable: Executable,
        labels: Mapping[str, tuple[str | int, ...]],
        initial_state: Mapping[str, Array],
    ) -> None:
        self.name = name
        self.device = device
        self.precision = precision
        self.plan = plan
        self.input_names = tuple(value.name for value in plan.inputs)
        self.output_names = tuple(value.name for value in plan.outputs)
        self.input_shapes = tuple(value.shape for value in plan.inputs)
        self.output_shapes = tuple(value.shape for value in plan.outputs)
        self.input_dtypes = tuple(value.dtype for value in plan.inputs)
        self.output_dtypes = tuple(value.dtype for value in plan.outputs)
        self.state_names = tuple(plan.state)
        self.output_labels = tuple(labels.get(value.name) for value in plan.outputs)
        self._executable: Executable | None = executable
        self._initial_state = dict(initial_state)
        self._lock = threading.RLock()
        renew_lock_in_child(self)
        self.reset_state()

    def run(self, inputs: Inputs) -> list[Array]:
        """Run on the caller's arrays.

        Args:
            inputs: a list or tuple in the file's order, or a dict by name. Each array has exactly
                the input's dtype, and its shape or as many elements in one dimension; any strides.

        Returns:
            Fresh arrays, one per output, that no later run touches.

        Raises:
            DtypeError: not an array, or an array of another dtype.
            ShapeError: another shape.
            ArgumentError: another number of inputs, unknown or missing names.
            DataIndexError: index data outside the tensor it indexes; the graph stays usable.
            GraphClosedError: after :meth:`close`.
        """
        return self._run(inputs, timed=False)[0]

    def run_timed(self, inputs: Inputs) -> tuple[list[Array], float]:
        """Like :meth:`run`; also the milliseconds that the kernels took for the whole batch.

        On a GPU that is the time between two CUDA events around the kernels, without the copies of
        inputs and outputs; on the CPU device it is wall-clock time of the same part.
        """
        return self._run(inputs, timed=True)

    def run_inplace(self) -> None:
        """Run on what the input staging arrays hold; the result is in the output staging arrays.

        Allocates nothing, neither on the host nor on the device.

        Raises:
            DataIndexError, GraphClosedError: as :meth:`run`.
        """
        with self._lock:
            self._open().replay()

    def run_timed_inplace(self) -> float:
        """Like :meth:`run_inplace`; returns milliseconds as :meth:`run_timed` does."""
        with self._lock:
            return self._open().replay_timed()

    def profile(self, repeats: int = 20, rates: Rates | None = None) -> Profile:
        """Time each kernel by itself, on what the input staging arrays hold.

        Outputs and state stay as they are. On a GPU a kernel's time is that of a node in a graph
        of ``repeats`` such nodes; on the CPU device it is wall-clock time.

        Args:
            repeats: timed launches of each kernel.
            rates: how fast the device could be; None takes what is known of it, if anything.

        Returns:
            Kernels, times, operations, bytes, and the floor under each time where rates are known.

        Raises:
            ArgumentError: ``repeats`` is less than 1.
            GraphClosedError: after :meth:`close`.
        """
        if repeats < 1:
            raise ArgumentError(f"repeats is {repeats}; a kernel is timed once or more often.")
        with self._lock:
            times_ms = self._open().time_steps(repeats)
        description = open_device(self.device).description
        return profile_of(self.plan, times_ms, description, rates or rates_of(description))

    def input_slice_mut(self, index: int) -> Array:
        """Writable staging array of an input: its shape and dtype, in pinned memory on a GPU.

        The next run reads it. The array stays valid for as long as it is referenced, also after
        :meth:`close`.
        """
        with self._lock:
            views = self._open().inputs
        return views[self._position(index, len(views), "input")]

    def output_slice(self, index: int) -> Array:
        """Read-only live staging array of an output, in pinned memory on a GPU.

        Every run overwrites it; it holds zeros before the first. Copy it to keep a result. The
        array stays valid for as long as it is referenced, also after :meth:`close`.
        """
        with self._lock:
            views = self._open().outputs
        return views[self._position(index, len(views), "output")]

    def reset_state(self) -> None:
        """Set the state back to what the graph was captured with; the next run begins from it.

        A graph without state is left as it is.

        Raises:
            GraphClosedError: after :meth:`close`.
        """
        with self._lock:
            self._open().set_state(self._initial_state)

    @property
    def num_kernels(self) -> int:
        """Kernel launches in the graph."""
        return len(self.plan.steps)

    @property
    def memory(self) -> dict[str, int]:
        """Bytes held by weights (shared by the model's graphs), arena and staging."""
        return {
            "weight_bytes": self.plan.weight_bytes,
            "arena_bytes": self.plan.arena_bytes,
            "staging_bytes": self.plan.staging_bytes,
        }

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._executable is None

    def close(self) -> None:
        """Free the graph's memory now, but for staging arrays that are still referenced.

        Waits for a call that is running in another thread. Calling it again does nothing.
        """
        with self._lock:
            executable, self._executable = self._executable, None
            if executable is not None:
                executable.close()

    def __enter__(self) -> CudaGraphModel:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{self.num_kernels} kernels"
        inputs = ", ".join(map(str, self.plan.inputs))
        outputs = ", ".join(map(str, self.plan.outputs))
        kept = f", keeps {', '.join(self.state_names)}" if self.state_names else ""
        return (
            f"<CudaGraphModel {self.name} on {self.device}, {self.precision}, {state}{kept}: "
            f"({inputs}) -> ({outputs})>"
        )

    def _repr_html_(self) -> str:
        """A small table for notebooks."""
        rows = [("input", value) for value in self.plan.inputs]
        rows += [("output", value) for value in self.plan.outputs]
        rows += [("state", replace(value, name=name)) for name, value in self.plan.state.items()]
        body = "".join(
            f"<tr><td>{kind}</td><td>{html.escape(value.name)}</td><td>{value.dtype.name}</td>"
            f"<td>{list(value.shape)}</td></tr>"
            for kind, value in rows
        )
        memory = ", ".join(f"{name} {size:,}" for name, size in self.memory.items())
        state = "closed" if self.closed else f"{self.num_kernels} kernels in one launch"
        return (
            f"<b>{html.escape(self.name)}</b> on {self.device}, {self.precision}, {state}; {memory}"
            f"<table><tr><th></th><th>name</th><th>dtype</th><th>shape</th></tr>{body}</table>"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self.name} owns memory and cannot be copied; capture another graph.")

    def _open(self) -> Executable:
        executable = self._executable
        if executable is None:
            raise GraphClosedError(f"{self.name} was closed; capture the graph again.")
        return executable

    def _run(self, inputs: Inputs, *, timed: bool) -> tuple[list[Array], float]:
        with self._lock:
            executable = self._open()
            arrays = ordered_inputs(inputs, self.input_names)
            for array, expected in zip(arrays, self.plan.inputs, strict=True):
                check_dtype(array, f"input {expected.name!r}", expected.dtype)
                _check_shape(array, expected)
            for view, array in zip(executable.inputs, _apart(arrays, executable), strict=True):
                view[...] = plain_bools(array).reshape(view.shape)
            elapsed_ms = 0.0
            if timed:
                elapsed_ms = executable.replay_timed()
            else:
                executable.replay()
            return [view.copy() for view in executable.outputs], elapsed_ms

    @staticmethod
    def _position(index: int, count: int, kind: str) -> int:
        try:
            position = operator.index(index)
        except TypeError:
            raise TypeError(f"{kind} index {index!r} is not an integer.") from None
        if not -count <= position < count:
            raise PositionError(
                f"{kind} index {position} is outside the graph's {count} {kind}s.", index=position
            )
        return position


def _apart(arrays: list[Array], executable: Executable) -> list[Array]:
    """The arrays, with copies of those that filling another input would change."""
    if len(arrays) == 1:
        return arrays
    staging = executable.inputs
    return [
        array.copy() if any(np.may_share_memory(array, view) for view in staging) else array
        for array in arrays
    ]


def ordered_inputs(inputs: Inputs, names: Sequence[str]) -> list[Any]:
    """The caller's arrays in the file's order, not yet checked to be arrays.

    Raises:
        DtypeError: ``inputs`` is no list, tuple or dict.
        ArgumentError: another number of inputs, or unknown or missing names.
    """
    if isinstance(inputs, Mapping):
        unknown = [name for name in inputs if name not in names]
        missing = [name for name in names if name not in inputs]
        if unknown or missing:
            raise ArgumentError(
                f"The inputs are {list(names)}; missing: {missing}, unknown: {unknown}.",
                missing=tuple(missing),
                unknown=tuple(unknown),
            )
        return [inputs[name] for name in names]
    if not isinstance(inputs, (list, tuple)):
        hint = "; pass [x] for one input" if hasattr(inputs, "dtype") else ""
        raise DtypeError(
            "inputs is a list or tuple of arrays in the file's order, or a dict by name, "
            f"not {type(inputs).__name__}{hint}."
        )
    if len(inputs) != len(names):
        raise ArgumentError(f"Expected {len(names)} inputs {list(names)}, got {len(inputs)}.")
    return list(inputs)


def check_dtype(array: object, what: str, dtype: np.dtype) -> None:
    """Raise a :class:`DtypeError` unless this is a NumPy array or scalar of exactly that dtype.

    A masked array is refused: what lies under its mask means nothing.

    Args:
        array: what the caller passed.
        what: what it is for, as messages call it: ``"input 'x'"``.
        dtype: what it must be.
    """
    written = written_dtype(dtype)
    if not isinstance(array, (np.ndarray, np.generic)):
        hint = f"convert it with np.asarray(x, {written})."
        if hasattr(array, "__cuda_array_interface__"):
            hint = "it lies on a GPU: copy it with cupy.asnumpy(x) or x.cpu().numpy()."
        raise DtypeError(
            f"{what} is a {type(array).__name__}, expected a NumPy array of {dtype.name}; {hint}"
        )
    if isinstance(array, np.ma.MaskedArray):
        raise DtypeError(f"{what} is a masked array; fill it with x.filled(value).")
    if array.dtype != dtype:
        same_bytes = array.dtype.type is np.void and array.dtype.itemsize == dtype.itemsize
        how = (
            f"take its bytes for it with x.view({written})"
            if same_bytes
            else (f"convert it with x.astype({written})")
        )
        raise DtypeError(
            f"{what} has dtype {array.dtype.name} ({array.dtype.str!r}), expected "
            f"{dtype.name} ({dtype.str!r}); {how}."
        )


def _check_shape(array: Array, expected: Value) -> None:
    if array.shape != expected.shape and array.shape != (expected.size,):
        raise ShapeError(
            f"input {expected.name!r} has shape {array.shape}, expected {expected.shape} or "
            f"{expected.size} elements in one dimension. A graph's shapes are fixed: capture "
            "another one for others."
        )
