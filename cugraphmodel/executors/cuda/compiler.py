"""Kernels from ``.cu`` files: NVRTC to a cubin on disk, loaded by CuPy.

NVRTC is called directly and not through ``cupy.RawKernel(code)``: CuPy always adds ``-ftz=true``,
which flushes subnormal numbers to zero, and its cache does not look at included headers.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

from cugraphmodel.errors import KernelCompileError
from cugraphmodel.executors.base import Progress
from cugraphmodel.kernels.cache import cached, is_cached
from cugraphmodel.kernels.source import DEVICE_HEADER, Source, device_header, load_source
from cugraphmodel.ops.launch import Launch

__all__ = [
    "CompiledModule",
    "compile_cubin",
    "compile_with_log",
    "cubin_file",
    "is_compiled",
    "load_kernels",
    "modules_of",
    "nvrtc_options",
]

CompiledModule: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]
"""A source and the macros that specialise it: what is compiled and loaded as one."""


def nvrtc_options(architecture: str, macros: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Options of one compilation. Nothing that trades accuracy for speed is among them.

    NVRTC's own defaults keep subnormals and the exact division and square root, and contract
    ``a * b + c`` to one fused operation.
    """
    defines = (f"-D{name}={value}" for name, value in macros)
    return (f"--gpu-architecture={architecture}", "--std=c++17", *defines)


def compile_cubin(source: Source, options: tuple[str, ...]) -> bytes:
    """Machine code for one source. Needs neither a GPU nor a driver.

    Args:
        source: CUDA C++ whose only include is ``device.cuh``.
        options: see :func:`nvrtc_options`.

    Raises:
        KernelCompileError: it does not compile.
    """
    return compile_with_log(source, options)[0]


def compile_with_log(source: Source, options: tuple[str, ...]) -> tuple[bytes, str]:
    """As :func:`compile_cubin`, with what the compiler had to say besides."""
    from cupy.cuda import nvrtc

    program = nvrtc.createProgram(
        source.text, source.name, [device_header().encode()], [DEVICE_HEADER.encode()]
    )
    try:
        nvrtc.compileProgram(program, options)
        cubin: bytes = nvrtc.getCUBIN(program)
        log: str = nvrtc.getProgramLog(program)
    except nvrtc.NVRTCError as error:
        log = nvrtc.getProgramLog(program)
        raise KernelCompileError(
            f"{source.name} does not compile ({error}) with {' '.join(options)}:\n{log}",
            source=_numbered(source.text),
            options=options,
            log=log,
        ) from error
    finally:
        nvrtc.destroyProgram(program)
    return cubin, log


def load_kernels(
    launches: Iterable[Launch], architecture: str, progress: Progress | None
) -> dict[Launch, Any]:
    """A ``cupy.RawKernel`` for every launch, loaded on the current device.

    Launches of one source with the same macros share a module. CuPy keeps a loaded module for the
    life of the process, so kernels already loaded cost no time or memory again.

    Args:
        launches: what is to run.
        architecture: the current device's, e.g. ``"sm_90"``.
        progress: called as each module is there.

    Raises:
        KernelCompileError: a source does not compile.
    """
    import cupy

    modules = modules_of(launches)
    kernels: dict[Launch, Any] = {}
    for done, ((source, macros), users) in enumerate(modules.items()):
        if progress is not None:
            progress(source, done, len(modules))
        module = cupy.RawModule(path=str(cubin_file(source, macros, architecture)))
        for launch in users:
            kernels[launch] = module.get_function(launch.entry)
    if progress is not None:
        progress("kernels", len(modules), len(modules))
    return kernels


def modules_of(launches: Iterable[Launch]) -> dict[CompiledModule, list[Launch]]:
    """Modules, each with the launches that use it."""
    modules: dict[CompiledModule, list[Launch]] = {}
    for launch in launches:
        modules.setdefault((launch.source, launch.macros), []).append(launch)
    return modules


def cubin_file(name: str, macros: tuple[tuple[str, str], ...], architecture: str) -> Path:
    """The machine code of a source with these macros, compiled unless the cache has it.

    Raises:
        KernelCompileError: it does not compile.
    """
    source = load_source(name)
    options = nvrtc_options(architecture, macros)

    def build(path: Path) -> None:
        path.write_bytes(compile_cubin(source, options))

    return cached(_cache_parts(source, options), ".cubin", build)


def is_compiled(name: str, macros: tuple[tuple[str, str], ...], architecture: str) -> bool:
    """Whether :func:`cubin_file` would find the machine code in the cache."""
    parts = _cache_parts(load_source(name), nvrtc_options(architecture, macros))
    return is_cached(parts, ".cubin")


def _cache_parts(source: Source, options: tuple[str, ...]) -> list[str]:
    from cupy.cuda import nvrtc

    version = ".".join(map(str, nvrtc.getVersion()))
    return ["nvrtc", version, *options, source.name, source.text, device_header()]


def _numbered(source: str) -> str:
    lines = source.splitlines()
    width = len(str(len(lines)))
    return "\n".join(f"{number:{width}d}  {line}" for number, line in enumerate(lines, 1))
