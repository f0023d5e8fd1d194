"""Loaded kernels, and the packing of their arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel import settings
from cugraphmodel.dtypes import from_onnx
from cugraphmodel.errors import KernelError
from cugraphmodel.executors.host.compiler import Compiler, compile_source, find_compiler
from cugraphmodel.executors.host.failure import Failure
from cugraphmodel.executors.host.runtime import (
    KernelRecord,
    LaunchRecord,
    ParameterRecord,
    Runtime,
    TensorRecord,
    load_library,
)
from cugraphmodel.kernels.source import Source

__all__ = ["HostKernel", "HostModule", "Parameter", "Pointer"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Pointer:
    """A device address as an argument.

    Attributes:
        address: in bytes.
        dtype: of the elements; None: raw memory, which fits every pointer.
    """

    address: int
    dtype: np.dtype | None = None


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel, from its C++ signature.

    Attributes:
        kind: NumPy's type character of a scalar, ``"V"`` for a struct, ``"P"`` for a pointer.
        num_bytes: size of the parameter.
        element: dtype behind a pointer; None for ``void`` and structs.
        is_const: whether a pointer is to const.
        element_bytes: of an element behind a pointer; 1 for ``void``, 0 for a struct.
    """

    kind: str
    num_bytes: int
    element: np.dtype | None
    is_const: bool
    element_bytes: int

    def __str__(self) -> str:
        if self.kind == "P":
            const = "const " if self.is_const else ""
            return f"{const}{self.element.name if self.element else 'void'}*"
        return f"struct of {self.num_bytes} bytes" if self.kind == "V" else np.dtype(self.kind).name

    def bytes_of(self, argument: Pointer | np.generic | Array | None) -> bytes:
        """The argument as the kernel takes it.

        Raises:
            TypeError: it does not fit; the text says what came.
        """
        if self.kind == "P":
            if argument is None:
                return bytes(8)
            if isinstance(argument, np.ndarray):
                argument = Pointer(argument.ctypes.data, argument.dtype)
            if not isinstance(argument, Pointer):
                raise TypeError(_described(argument))
            if not self._takes_elements(argument.dtype):
                raise TypeError(f"a pointer to {argument.dtype}")
            return argument.address.to_bytes(8, "little")
        if self.kind == "V":
            if not isinstance(argument, np.ndarray) or argument.nbytes != self.num_bytes:
                raise TypeError(_described(argument))
            return argument.tobytes()
        if not isinstance(argument, np.generic) or argument.dtype != np.dtype(self.kind):
            raise TypeError(_described(argument))
        return argument.tobytes()

    def _takes_elements(self, dtype: np.dtype | None) -> bool:
        """Kernels that move elements, or compute modulo 2^n, may take them as unsigned words."""
        if dtype is None or self.element is None or dtype == self.element:
            return True
        return self.element.kind == "u" and self.element.itemsize % dtype.itemsize == 0


def _element(kind: int) -> np.dtype | None:
    """From NumPy's type character, or the number in ONNX of a type that is not C++'s own."""
    if 0 < kind < ord(" "):
        return from_onnx(kind)
    return None if chr(kind) in "\0VP" else np.dtype(chr(kind))


def _element_bytes(entry: ParameterRecord) -> int:
    return 0 if chr(entry.element_kind) == "V" else max(entry.element_bytes, 1)


def _described(argument: object) -> str:
    if isinstance(argument, np.ndarray):
        return f"an array of {argument.nbytes} bytes"
    if isinstance(argument, np.generic):
        return f"a scalar {argument.dtype.name}"
    return type(argument).__name__


class HostModule:
    """The kernels of one source, compiled and loaded.

    Args:
        source: a package file, or text of your own.
        macros: preprocessor definitions.
        compiler: default: whichever is found first.
        checked: for the check mode.

    Attributes:
        library: path of the compiled library.
        checked: whether it is for the check mode.
    """

    def __init__(
        self,
        source: Source,
        macros: Sequence[tuple[str, str]] = (),
        compiler: Compiler | None = None,
        *,
        checked: bool = False,
    ) -> None:
        compiler = compiler or find_compiler()
        self.source = source
        self.checked = checked
        self.runtime = Runtime(compiler, checked=checked)
        self.library = compile_source(source, macros, compiler, checked=checked)
        self._loaded = load_library(self.library)

    def get_function(self, name: str) -> HostKernel:
        """The entry point of this name.

        Raises:
            KernelError: there is none.
        """
        try:
            return HostKernel(
                self, name, KernelRecord.in_dll(self._loaded, f"cuhost_kernel_{name}")
            )
        except ValueError:
            raise KernelError(
                f'{self.source.name} has no `extern "C" __global__ void {name}(...)`.'
            ) from None


class HostKernel:
    """One entry point.

    Attributes:
        name: of the entry point.
        parameters: its signature.
        max_threads: threads a block may have, from ``__launch_bounds__``.
        is_flat: whether its threads run as plain loops.
    """

    def __init__(self, module: HostModule, name: str, kernel: KernelRecord) -> None:
        self._module = module
        self._kernel = kernel
        self.name = name
        self.max_threads: int = kernel.max_threads
        self.is_flat = kernel.run_flat is not None
        self.parameters = tuple(
            Parameter(
                chr(entry.kind),
                entry.num_bytes,
                _element(entry.element_kind),
                bool(entry.is_const),
                _element_bytes(entry),
            )
            for entry in kernel.parameters[: kernel.num_parameters]
        )

    def pack(self, arguments: Sequence[Pointer | np.generic | Array | None]) -> Array:
        """Arguments in memory: a table of addresses, then the values they point to.

        The result must live as long as a launch record points to it.

        Raises:
            KernelError: an argument does not fit the C++ signature.
        """
        if len(arguments) != len(self.parameters):
            raise KernelError(
                f"{self.name} takes {len(self.parameters)} arguments, got {len(arguments)}."
            )
        values = []
        for index, (parameter, argument) in enumerate(zip(self.parameters, arguments, strict=True)):
            try:
                values.append(parameter.bytes_of(argument))
            except TypeError as error:
                raise KernelError(
                    f"{self.name}: parameter {index} is {parameter}, got {error}."
                ) from None
        table_bytes = -(-8 * len(values) // 16) * 16
        offsets = np.cumsum([table_bytes, *(-(-len(value) // 16) * 16 for value in values)])
        packed = np.zeros(int(offsets[-1]) + 16, np.uint8)
        packed = packed[-packed.ctypes.data % 16 :][: int(offsets[-1])]
        packed[: 8 * len(values)].view(np.uint64)[:] = packed.ctypes.data + offsets[:-1]
        for offset, value in zip(offsets, values, strict=False):
            packed[offset : offset + len(value)] = np.frombuffer(value, np.uint8)
        return packed

    def record(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        packed: Array,
        dynamic_bytes: int = 0,
        tensors: ctypes.Array[TensorRecord] | None = None,
    ) -> LaunchRecord:
        """A launch for :meth:`Runtime.run`.

        Args:
            grid: blocks, as in CUDA.
            block: threads of a block, as in CUDA.
            packed: from :meth:`pack`; must live as long as the record.
            dynamic_bytes: dynamic shared memory of a block.
            tensors: check mode: all memory that the arguments point to; must live as long as the
                record.

        Raises:
            KernelError: the block has more threads than ``__launch_bounds__`` promises.
        """
        threads = block[0] * block[1] * block[2]
        if not 1 <= threads <= self.max_threads:
            raise KernelError(
                f"{self.name} runs with at most {self.max_threads} threads a block, got {block}."
            )
        address = ctypes.addressof(self._kernel)
        where, count = (ctypes.addressof(tensors), len(tensors)) if tensors else (None, 0)
        return LaunchRecord(
            address, packed.ctypes.data, grid, block, dynamic_bytes, 0, where, count
        )

    def error(self, failure: Failure, where: str) -> KernelError:
        """The exception for a failed launch of this kernel; its message begins with ``where``."""
        module = self._module
        return failure.error(self.name, module.library, checked=module.checked, where=where)

    def __call__(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: Sequence[Pointer | np.generic | Array | None],
        *,
        shared_bytes: int = 0,
        order: tuple[str, int] | None = None,
        num_workers: int | None = None,
        tensors: ctypes.Array[TensorRecord] | None = None,
    ) -> None:
        """Launch and wait.

        Args:
            grid: blocks, as in CUDA.
            block: threads of a block, as in CUDA.
            args: arrays are passed by address, or by value where the kernel takes a struct.
            shared_bytes: dynamic shared memory of a block.
            order: of the threads; default: ``settings.host_order()``.
            num_workers: OS threads; default: ``settings.host_threads()``, in the check mode 1.
            tensors: check mode: as :meth:`record`.

        Raises:
            KernelError: the arguments do not fit, or the kernel failed.
        """
        packed = self.pack(args)
        launches = (LaunchRecord * 1)(self.record(grid, block, packed, shared_bytes, tensors))
        workers = 1 if self._module.checked else num_workers or settings.host_threads()
        failure = self._module.runtime.run(
            launches, order=order or settings.host_order(), num_workers=workers
        )
        if failure is not None:
            raise self.error(failure, self.name)
