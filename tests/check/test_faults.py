"""Planted faults are found, with their line; clean kernels are not complained about."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cugraphmodel.errors import KernelCheckError
from tests.check.support import FILE, Array, kernel, launch
from tests.host.support import ORDERS

HERE = Path(__file__).parent
FAULTS = (HERE / "faults.cu").read_text(encoding="utf-8")
CLEAN = (HERE / "clean.cu").read_text(encoding="utf-8")
N = 128
COMPILERS = ("g++", "zig")
UNWRITTEN = {"unwritten_global": (1,)}


def entries(text: str) -> list[str]:
    return re.findall(r"__global__ void (\w+)", text)


def declared(entry: str) -> dict[int, set[str]]:
    """Lines that a finding in an entry point may name -> kinds that it may have there."""
    lines: dict[int, set[str]] = {}
    current = ""
    for number, line in enumerate(FAULTS.splitlines(), 1):
        if match := re.search(r"__global__ void (\w+)", line):
            current = match[1]
        if current == entry and (match := re.search(r"// <- (.+)$", line)):
            lines[number] = set(match[1].split())
    return lines


def arguments(entry: str) -> list[Array | np.generic | None]:
    """x, y and n; x is aligned for vectors, and left out where the entry wants a null pointer."""
    raw = np.ones(N + 8, np.float32)
    start = -(raw.ctypes.data // 4) % 4
    x = None if entry == "read_of_null" else raw[start : start + N]
    y = np.ones(N + 8, np.float32)
    start = -(y.ctypes.data // 4) % 4
    return [x, y[start : start + N], np.int32(N)]


def test_there_are_enough_faults() -> None:
    assert len(entries(FAULTS)) >= 21
    assert all(declared(entry) for entry in entries(FAULTS))


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("entry", entries(FAULTS))
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_fault_is_found_where_it_is(compiler: str, entry: str, order: tuple[str, int]) -> None:
    run = kernel(FAULTS, entry, compiler)
    grid = (3 if entry == "write_past_the_end" else 2, 1, 1)
    with pytest.raises(KernelCheckError) as caught:
        launch(
            run, grid, (64, 1, 1), arguments(entry), shared_bytes=4 * 60, order=order,
            unwritten=UNWRITTEN.get(entry, ()),
        )  # fmt: skip
    error = caught.value
    facts = vars(error)
    assert facts["file"] == FILE, error
    assert facts["kind"] in declared(entry).get(facts["line"], set()), error
    assert facts["kernel"] == entry
    text = str(error)
    for part in (entry, facts["kind"], f"{FILE}:{facts['line']}", facts["memory"] or ""):
        assert part in text
    assert "block ({},{},{}) thread ({},{},{})".format(*facts["block"], *facts["thread"]) in text


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("entry", entries(CLEAN))
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_clean_kernel_passes(compiler: str, entry: str, order: tuple[str, int]) -> None:
    launch(
        kernel(CLEAN, entry, compiler), (2, 1, 1), (64, 1, 1), arguments(entry),
        shared_bytes=4 * 64, order=order,
    )  # fmt: skip


def test_memory_and_offsets_are_named() -> None:
    with pytest.raises(
        KernelCheckError,
        match="write of 4 bytes at byte 512 of argument 1, which has 512 bytes",
    ):
        launch(kernel(FAULTS, "write_past_the_end", "g++"), (3, 1, 1), (64, 1, 1), arguments(""))
    with pytest.raises(KernelCheckError, match="at byte 240 of held, which has 240 bytes"):
        launch(kernel(FAULTS, "shared_too_small", "g++"), (1, 1, 1), (64, 1, 1), arguments(""))
    with pytest.raises(KernelCheckError, match="at byte 0 of dynamic shared memory, which has 0"):
        launch(
            kernel(FAULTS, "dynamic_shared_too_small", "g++"), (1, 1, 1), (64, 1, 1), arguments("")
        )
    with pytest.raises(KernelCheckError, match="thread 32 of block 0 accessed it"):
        launch(kernel(FAULTS, "blocks_that_overlap", "g++"), (2, 1, 1), (64, 1, 1), arguments(""))


def test_the_process_goes_on_after_a_finding() -> None:
    for entry in entries(FAULTS)[:4]:
        with pytest.raises(KernelCheckError):
            launch(kernel(FAULTS, entry, "g++"), (3, 1, 1), (64, 1, 1), arguments(entry))
        x, y, n = arguments("tail")
        assert isinstance(y, np.ndarray)
        y[:] = 0
        launch(kernel(CLEAN, "tail", "g++"), (2, 1, 1), (64, 1, 1), [x, y, n])
        np.testing.assert_array_equal(y, 1)
