"""The compiled runtime, and the structs that pass between it and Python."""

from __future__ import annotations

import ctypes
from pathlib import Path

from cugraphmodel.executors.host.compiler import Compiler, runtime_library
from cugraphmodel.executors.host.failure import Failure

__all__ = [
    "KernelRecord",
    "LaunchRecord",
    "ParameterRecord",
    "Runtime",
    "TensorRecord",
    "load_library",
]


class ParameterRecord(ctypes.Structure):
    """``Parameter`` of ``runtime.h``."""

    _fields_ = [
        (name, ctypes.c_int)
        for name in ("kind", "num_bytes", "element_kind", "element_bytes", "is_const")
    ]


class KernelRecord(ctypes.Structure):
    """``Kernel`` of ``runtime.h``."""

    _fields_ = [
        ("call", ctypes.c_void_p),
        ("run_flat", ctypes.c_void_p),
        ("parameters", ctypes.POINTER(ParameterRecord)),
        ("num_parameters", ctypes.c_int),
        ("max_threads", ctypes.c_int),
    ]


class TensorRecord(ctypes.Structure):
    """``Tensor`` of ``records.h``: what the check mode knows of an argument."""

    _fields_ = [
        ("first", ctypes.c_void_p),
        ("num_bytes", ctypes.c_uint64),
        ("initialised", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("element_bytes", ctypes.c_uint32),
        ("is_const", ctypes.c_uint32),
    ]


class LaunchRecord(ctypes.Structure):
    """``LaunchRecord`` of ``records.h``."""

    _fields_ = [
        ("kernel", ctypes.c_void_p),
        ("arguments", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("dynamic_bytes", ctypes.c_uint64),
        ("cost_ns", ctypes.c_uint64),
        ("tensors", ctypes.c_void_p),
        ("num_tensors", ctypes.c_uint64),
    ]


class _RunOptions(ctypes.Structure):
    _fields_ = [
        ("order", ctypes.c_int32),
        ("seed", ctypes.c_uint32),
        ("num_workers", ctypes.c_int32),
    ]


class _RunError(ctypes.Structure):
    _fields_ = [
        ("launch", ctypes.c_int32),
        ("kind", ctypes.c_int32),
        ("block", ctypes.c_uint * 3),
        ("thread", ctypes.c_uint * 3),
        ("memory", ctypes.c_char * 128),
        ("file", ctypes.c_char * 256),
        ("line", ctypes.c_uint32),
        ("num_frames", ctypes.c_uint32),
        ("frames", ctypes.c_uint64 * 16),
        ("text", ctypes.c_char * 1024),
    ]


_KINDS = ("system", "trap", "limit", "synccheck", "memcheck", "racecheck", "initcheck", "ubcheck")

_ORDERS = {"forward": 0, "reverse": 1, "random": 2}


_libraries: dict[str, ctypes.CDLL] = {}


def load_library(path: Path) -> ctypes.CDLL:
    """A library from the kernel cache, loaded once a process, wherever the cache lies by then.

    Its name says what it holds. A second copy of the runtime would have threads of its own, and
    kernels are bound to the first one.
    """
    library = _libraries.get(path.name)
    if library is None:
        library = _libraries.setdefault(path.name, ctypes.CDLL(str(path)))
    return library


class Runtime:
    """The runtime that kernels of one compiler run on, plain or of the check mode."""

    def __init__(self, compiler: Compiler, *, checked: bool = False) -> None:
        self._run = load_library(runtime_library(compiler, checked)).cuhost_run
        self._run.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

    def run(
        self,
        launches: ctypes.Array[LaunchRecord],
        *,
        order: tuple[str, int] = ("forward", 0),
        num_workers: int = 1,
        first: int = 0,
    ) -> Failure | None:
        """Run launches one after the other, without the GIL.

        Args:
            launches: made by :meth:`HostKernel.record`.
            order: of the threads, as ``settings.host_order()`` gives it.
            num_workers: OS threads; one in the check mode.
            first: index of the launch to begin with.

        Returns:
            None, or why a launch failed; those after it did not run.
        """
        kind, seed = order
        options = _RunOptions(_ORDERS[kind], seed, num_workers)
        error = _RunError()
        begin = ctypes.byref(launches, first * ctypes.sizeof(LaunchRecord))
        count = len(launches) - first
        if self._run(begin, count, ctypes.byref(options), ctypes.byref(error)) == 0:
            return None
        file = error.file.decode(errors="replace")
        return Failure(
            launch=first + error.launch,
            kind=_KINDS[error.kind],
            block=tuple(error.block),
            thread=tuple(error.thread),
            text=error.text.decode(errors="replace"),
            memory=error.memory.decode(errors="replace"),
            place=(file, error.line) if file else None,
            frames=tuple(error.frames[: error.num_frames]),
        )
