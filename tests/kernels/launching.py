"""Launching an entry point of a test's own ``.cu`` file on the CPU device or on a GPU."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.executors.cuda.compiler import compile_cubin, nvrtc_options
from cugraphmodel.executors.host.module import HostModule
from cugraphmodel.kernels.source import load_source

__all__ = ["Array", "Dim3", "Macros", "launch"]

Array = npt.NDArray[Any]
Dim3 = tuple[int, int, int]
Macros = tuple[tuple[str, str], ...]


def launch(
    device: str,
    file: Path,
    entry: str,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Array | np.generic],
    macros: Macros = (),
) -> None:
    """Run a kernel; what it writes is in the arrays afterwards.

    Args:
        device: ``"cpu"`` or ``"cuda"``.
        file: the source.
        entry: name of the kernel.
        grid: blocks.
        block: threads of a block.
        args: of the kernel; arrays are passed by address.
        macros: preprocessor definitions.
    """
    if device == "cpu":
        _on_cpu(file, macros).get_function(entry)(grid, block, args)
        return
    import cupy

    on_gpu = [cupy.asarray(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    _on_gpu(file, macros).get_function(entry)(grid, block, tuple(on_gpu))
    for arg, copy in zip(args, on_gpu, strict=True):
        if isinstance(arg, np.ndarray):
            arg[...] = cupy.asnumpy(copy)


@functools.cache
def _on_cpu(file: Path, macros: Macros) -> HostModule:
    return HostModule(load_source(str(file)), macros)


@functools.cache
def _on_gpu(file: Path, macros: Macros) -> Any:
    import cupy

    architecture = f"sm_{cupy.cuda.Device().compute_capability}"
    cubin = compile_cubin(load_source(str(file)), nvrtc_options(architecture, macros))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test.cubin"
        path.write_bytes(cubin)
        return cupy.RawModule(path=str(path))
