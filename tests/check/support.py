"""Compiling and launching small kernels in the check mode."""

from __future__ import annotations

import functools
import importlib.util
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cugraphmodel.executors.host.checked import Tensor, tensor_records
from cugraphmodel.executors.host.compiler import Compiler, _described, _zig
from cugraphmodel.executors.host.module import HostKernel, HostModule
from cugraphmodel.kernels.source import Source, load_source

Array = npt.NDArray[Any]
FOLDER = "ops/planted"
FILE = f"{FOLDER}/planted.cu"
HERE = Path(__file__).parent


@functools.cache
def compiler(name: str) -> Compiler:
    """g++ or the compiler of the ziglang wheel; skips the test where it is not installed."""
    if name == "zig":
        spec = importlib.util.find_spec("ziglang")
        if spec is None or not spec.submodule_search_locations:
            pytest.skip("no ziglang")
        return _zig(Path(spec.submodule_search_locations[0]) / "zig")
    if shutil.which(name) is None:
        pytest.skip(f"no {name}")
    return _described((name,))


@functools.cache
def kernel(text: str, entry: str, compiler_name: str) -> HostKernel:
    """An entry point of a source that is given as text, compiled for the check mode."""
    return _module(Source(FILE, text), compiler_name).get_function(entry)


def planted(file: str, entry: str, compiler_name: str) -> HostKernel:
    """An entry point of one of the files in this folder, compiled for the check mode."""
    return _module(_planted(file), compiler_name).get_function(entry)


@functools.cache
def _planted(file: str) -> Source:
    # Under a path as the package's own files have: clang shortens absolute ones.
    source = load_source(str(HERE / file))
    return Source(f"{FOLDER}/{file}", source.text.replace(f'"{HERE}/', f'"{FOLDER}/'))


@functools.cache
def _module(source: Source, compiler_name: str) -> HostModule:
    return HostModule(source, (), compiler(compiler_name), checked=True)


def launch(
    run: HostKernel,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    args: Sequence[Array | np.generic | None],
    *,
    shared_bytes: int = 0,
    unwritten: Collection[int] = (),
    order: tuple[str, int] = ("forward", 0),
) -> None:
    """Launch; ``unwritten``: positions of the arrays that count as never written."""
    tensors = []
    marks = []
    for position, (parameter, array) in enumerate(zip(run.parameters, args, strict=True)):
        if parameter.kind != "P" or not isinstance(array, np.ndarray):
            continue
        marks.append(np.full(array.nbytes, position not in unwritten, np.uint8))
        tensor = Tensor(
            array.ctypes.data,
            array.nbytes,
            array.dtype.itemsize,
            marks[-1].ctypes.data,
            f"argument {position}",
        )
        tensors.append((parameter, tensor))
    records = tensor_records(tensors)
    run(grid, block, args, shared_bytes=shared_bytes, order=order, tensors=records)
