"""What compiled kernels take of a GPU, as the compiler itself reports it. Needs no GPU.

NVRTC passes ``--ptxas-options=-v`` on and puts ptxas's report into the program log; the machine
code stays the same. Only the limit set by ``__launch_bounds__`` is not in the report: it is read
from the cubin, an ELF file, whose section ``.nv.info.KERNEL`` is a list of attributes.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from cugraphmodel.errors import KernelCompileError
from cugraphmodel.executors.cuda.compiler import compile_with_log, nvrtc_options
from cugraphmodel.kernels.source import Source, load_source

__all__ = ["Compiled", "Instance", "Job", "Usage", "compile_instance", "compile_job", "usage_of"]

REPORT_OPTION = "--ptxas-options=-v"
MAX_THREADS_ATTRIBUTE = 0x05
WORD_LIST_FORMAT = 0x04
"""An attribute of this format is followed by its size in bytes; all others fill 4 bytes."""

_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True, order=True)
class Instance:
    """A source and the macros that specialise it: one module on the GPU."""

    source: str
    macros: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return " ".join([self.source, *(f"{name}={value!r}" for name, value in self.macros)])


@dataclass(frozen=True)
class Usage:
    """What one kernel takes.

    Attributes:
        registers: per thread.
        spill_bytes: per thread, stored and loaded because registers ran out.
        local_bytes: per thread, of local memory in all: spills, and arrays indexed at run time.
        shared_bytes: per block, static.
        max_threads: per block, by ``__launch_bounds__``; 1024 without.
    """

    registers: int
    spill_bytes: int
    local_bytes: int
    shared_bytes: int
    max_threads: int


@dataclass(frozen=True)
class Compiled:
    """One instance for one architecture: kernel name -> usage."""

    cubin_bytes: int
    kernels: dict[str, Usage]


Job = tuple[Instance, str]
"""What to compile, and the architecture to compile it for."""


def compile_job(job: Job) -> Compiled | str:
    """For worker processes: the error's text instead of an exception."""
    try:
        return compile_instance(*job)
    except KernelCompileError as error:
        return str(error)


def compile_instance(instance: Instance, architecture: str) -> Compiled:
    """Compile as the library does, and read the report.

    Raises:
        KernelCompileError: it does not compile.
    """
    options = nvrtc_options(architecture, instance.macros)
    return usage_of(load_source(instance.source), options)


def usage_of(source: Source, options: tuple[str, ...]) -> Compiled:
    """Compile a source with the library's options and read the report."""
    cubin, log = compile_with_log(source, (*options, REPORT_OPTION))
    limits = _thread_limits(cubin)
    pieces = _ENTRY.split(log)[1:]
    reports = zip(pieces[::2], pieces[1::2], strict=True)
    kernels = {name: _usage(report, limits.get(name, 1024)) for name, report in reports}
    return Compiled(len(cubin), dict(sorted(kernels.items())))


def _usage(report: str, max_threads: int) -> Usage:
    """One kernel's part of the log. Functions that were not inlined have lines of their own."""
    stacks = [tuple(map(int, numbers)) for numbers in _STACK.findall(report)]
    [registers] = _REGISTERS.findall(report)
    return Usage(
        registers=int(registers),
        spill_bytes=sum(stores + loads for _, stores, loads in stacks),
        local_bytes=sum(frame for frame, _, _ in stacks),
        shared_bytes=sum(map(int, _SHARED.findall(report))),
        max_threads=max_threads,
    )


def _thread_limits(cubin: bytes) -> dict[str, int]:
    """Kernel name -> threads per block that ``__launch_bounds__`` allows, where there is one."""
    return {
        name.removeprefix(".nv.info."): x * y * z
        for name, content in _sections(cubin)
        if name.startswith(".nv.info.")
        for attribute, value in _attributes(content)
        if attribute == MAX_THREADS_ATTRIBUTE
        for x, y, z in [struct.unpack("<3I", value)]
    }


def _sections(elf: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and content of the sections of a 64-bit little-endian ELF file.

    Offsets as in the ELF-64 object file format: e_shoff at 40, e_shentsize at 58; in a section
    header sh_name at 0, sh_offset at 24, sh_size at 32.
    """
    [table] = struct.unpack_from("<Q", elf, 40)
    size, count, names_index = struct.unpack_from("<3H", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
    names = headers[names_index][4]
    for name, _, _, _, offset, length in headers:
        start = names + name
        yield elf[start : elf.index(b"\0", start)].decode(), elf[offset : offset + length]


def _attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Attributes of a ``.nv.info`` section: format, number, then 2 bytes of value or size."""
    offset = 0
    while offset < len(content):
        kind, attribute, size = struct.unpack_from("<BBH", content, offset)
        offset += 4
        length = size if kind == WORD_LIST_FORMAT else 0
        yield attribute, content[offset : offset + length]
        offset += length
