"""One kernel launch as plain data: which kernel, which geometry, which arguments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cugraphmodel.ir import Value

__all__ = [
    "ERROR_CODE",
    "ERROR_WORD",
    "Argument",
    "Launch",
    "Workspace",
    "ceil_div",
    "dims",
    "index_type",
    "on_scratch",
]

# Limits that every GPU since compute capability 3.0 shares (CUDA C++ Programming Guide, table of
# technical specifications).
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_THREADS_PER_BLOCK = 1024
MAX_SHARED_BYTES = 48 * 1024


@dataclass(frozen=True, eq=False)
class Workspace:
    """Scratch memory of one node; its bytes are undefined when the node starts.

    The same object in several launches of a node is the same memory.
    """

    num_bytes: int


@dataclass(frozen=True)
class _Marker:
    name: str


ERROR_WORD = _Marker("error_word")
"""Argument ``unsigned* error_word``: see ``cg_report_index_error`` in ``device.cuh``."""

ERROR_CODE = _Marker("error_code")
"""Argument ``unsigned error_code``: identifies the node to whoever reads the error word."""

Argument: TypeAlias = Value | Workspace | _Marker | np.generic | npt.NDArray[Any] | None
"""Value or Workspace: a pointer. NumPy scalar: a scalar of that exact type. NumPy array: a struct
by value with those bytes. None: a null pointer (an optional tensor that is left out)."""


@dataclass(frozen=True, eq=False)
class Launch:
    """One kernel launch.

    Attributes:
        source: the ``.cu`` file, relative to the package, e.g. ``"ops/softmax/softmax.cu"``, or an
            absolute path.
        entry: name of the ``extern "C" __global__`` function.
        grid, block: as in CUDA, three numbers each.
        args: in the order of the kernel's parameters.
        macros: preprocessor definitions that specialise the source: types, tile sizes, functions.
        shared_bytes: dynamic shared memory per block.
    """

    source: str
    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[Argument, ...]
    macros: tuple[tuple[str, str], ...] = ()
    shared_bytes: int = 0

    def __post_init__(self) -> None:
        fits = all(1 <= size <= limit for size, limit in zip(self.grid, MAX_GRID, strict=True))
        threads = self.block[0] * self.block[1] * self.block[2]
        if not fits or not 1 <= threads <= MAX_THREADS_PER_BLOCK or self.block[2] > 64:
            raise ValueError(
                f"{self.entry}: grid {self.grid} block {self.block} is outside CUDA's limits"
            )
        if self.shared_bytes > MAX_SHARED_BYTES:
            raise ValueError(f"{self.entry}: {self.shared_bytes} bytes of dynamic shared memory")

    def __str__(self) -> str:
        macros = " ".join(f"{name}={value}" for name, value in self.macros)
        return f"{self.entry}<{macros}> grid={self.grid} block={self.block}"


def ceil_div(count: int, size: int) -> int:
    """``count / size``, rounded up."""
    return -(-count // size)


def index_type(count: int) -> str:
    """C++ type that counts to ``count``; division by a 32-bit one is several times faster."""
    return "unsigned" if count < 2**31 else "long long"


def on_scratch(launches: Iterable[Launch], tensors: Iterable[Value]) -> list[Launch]:
    """The launches with scratch memory in place of ``tensors``, values that no graph has.

    So one operator can hand what it computed to the launches of another.
    """
    scratch = {id(tensor): Workspace(tensor.num_bytes) for tensor in tensors}
    return [
        replace(launch, args=tuple(scratch.get(id(argument), argument) for argument in launch.args))
        for launch in launches
    ]


def dims(*values: int, length: int = 8, fill: int = 0) -> npt.NDArray[np.int64]:
    """A ``Dims`` struct (``long long v[8]`` in ``device.cuh``), padded with ``fill``."""
    if len(values) > length:
        raise ValueError(f"{len(values)} dimensions, a kernel takes {length}")
    return np.array([*values, *[fill] * (length - len(values))], np.int64)
