"""Planted faults are found, with their line; clean kernels are not complained about."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cugraphmodel.errors import KernelCheckError
from cugraphmodel.executors.host.module import HostKernel, HostModule
from cugraphmodel.kernels.source import load_source
from tests.check.support import FOLDER, HERE, Array, compiler, launch, planted
from tests.host.support import ORDERS

FAULTS = ("faults.cu", "async_faults.cu")
CLEAN = ("clean.cu", "async_clean.cu")
N = 128
COMPILERS = ("g++", "zig")
UNWRITTEN = {"unwritten_global": (1,), "source_unwritten": (0,)}


def entries(*files: str) -> list[tuple[str, str]]:
    """File and name of each entry point."""
    return [
        (file, name)
        for file in files
        for name in re.findall(r"__global__ void (\w+)", (HERE / file).read_text(encoding="utf-8"))
    ]


def declared(file: str, entry: str) -> dict[int, set[str]]:
    """Lines that a finding in an entry point may name -> kinds that it may have there."""
    lines: dict[int, set[str]] = {}
    current = ""
    for number, line in enumerate((HERE / file).read_text(encoding="utf-8").splitlines(), 1):
        if match := re.search(r"__global__ void (\w+)", line):
            current = match[1]
        if current == entry and (match := re.search(r"// <- (.+)$", line)):
            lines[number] = set(match[1].split())
    return lines


def fault(entry: str, compiler: str = "g++") -> HostKernel:
    """The faulty kernel of this name."""
    [file] = [file for file, name in entries(*FAULTS) if name == entry]
    return planted(file, entry, compiler)


def aligned(size: int, dtype: type) -> Array:
    """Ones, on a boundary of 16 bytes and with something after the last."""
    raw: Array = np.ones(size + 16, dtype)
    start = -raw.ctypes.data % 16 // raw.itemsize
    return raw[start : start + size]


def arguments(entry: str) -> list[Array | np.generic | None]:
    """x, y and n; x is left out where the entry wants a null pointer."""
    x = None if entry == "read_of_null" else aligned(N, np.float32)
    return [x, aligned(N, np.float32), np.int32(N)]


def test_there_are_enough_faults() -> None:
    assert len(entries(*FAULTS)) >= 60
    assert all(declared(*entry) for entry in entries(*FAULTS))


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize(("file", "entry"), entries(*FAULTS))
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_fault_is_found_where_it_is(
    compiler: str, file: str, entry: str, order: tuple[str, int]
) -> None:
    run = planted(file, entry, compiler)
    grid = (3 if entry == "write_past_the_end" else 2, 1, 1)
    with pytest.raises(KernelCheckError) as caught:
        launch(
            run, grid, (64, 1, 1), arguments(entry), shared_bytes=4 * 60, order=order,
            unwritten=UNWRITTEN.get(entry, ()),
        )  # fmt: skip
    error = caught.value
    facts = vars(error)
    assert facts["file"] == f"{FOLDER}/{file}", error
    assert facts["kind"] in declared(file, entry).get(facts["line"], set()), error
    assert facts["kernel"] == entry
    text = str(error)
    for part in (entry, facts["kind"], f"{FOLDER}/{file}:{facts['line']}", facts["memory"] or ""):
        assert part in text
    assert "block ({},{},{}) thread ({},{},{})".format(*facts["block"], *facts["thread"]) in text


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize(("file", "entry"), entries(*CLEAN))
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_clean_kernel_passes(
    compiler: str, file: str, entry: str, order: tuple[str, int]
) -> None:
    launch(
        planted(file, entry, compiler), (2, 1, 1), (64, 1, 1), arguments(entry),
        shared_bytes=4 * 64, order=order,
    )  # fmt: skip


def test_memory_and_offsets_are_named() -> None:
    with pytest.raises(
        KernelCheckError,
        match="write of 4 bytes at byte 512 of argument 1, which has 512 bytes",
    ):
        launch(fault("write_past_the_end"), (3, 1, 1), (64, 1, 1), arguments(""))
    with pytest.raises(KernelCheckError, match="at byte 240 of held, which has 240 bytes"):
        launch(fault("shared_too_small"), (1, 1, 1), (64, 1, 1), arguments(""))
    with pytest.raises(KernelCheckError, match="at byte 0 of dynamic shared memory, which has 0"):
        launch(fault("dynamic_shared_too_small"), (1, 1, 1), (64, 1, 1), arguments(""))
    with pytest.raises(KernelCheckError, match="thread 32 of block 0 accessed it"):
        launch(fault("blocks_that_overlap"), (2, 1, 1), (64, 1, 1), arguments(""))


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("no_wait", "async copy into held not waited for: read of 4 bytes at byte 0"),
        ("copied_twice_at_once", "into held not waited for: write of 4 bytes at byte 0, to which"),
        ("source_overwritten_by_itself", "async copy out of argument 0 not waited for: write of 4"),
        ("barrier_before_the_wait", "read-after-write hazard at byte|async copy into held not"),
        ("misaligned_source", "misaligned async copy: its source must be a multiple of 16"),
        ("misaligned_destination", "its destination must be a multiple of 8"),
        ("more_valid_bytes_than_copied", "an async copy of 4 bytes has 16 valid ones"),
        ("source_past_the_end", "read of 16 bytes at byte 512 of argument 0, which has 512 bytes"),
        ("copied_to_global_memory", "async copy to memory that is not shared"),
        ("copied_from_shared_memory", "async copy from memory that is not global"),
        ("matrices_of_global_memory", "the address is not in shared memory"),
    ],
)
def test_what_is_wrong_with_an_async_copy_is_said(entry: str, text: str) -> None:
    with pytest.raises(KernelCheckError, match=text):
        launch(fault(entry), (1, 1, 1), (64, 1, 1), arguments(entry))


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("compiler_name", COMPILERS)
def test_a_matrix_product_on_tensor_cores_is_clean(
    compiler_name: str, order: tuple[str, int]
) -> None:
    file = HERE.parent / "kernels" / "tensor_core.cu"
    module = HostModule(load_source(str(file)), (), compiler(compiler_name), checked=True)
    m, n, k = 66, 72, 40
    a, b = aligned(m * k, np.float16), aligned(k * n, np.float16)
    a[:], b[:] = np.arange(a.size) % 7 - 3, np.arange(b.size) % 5 - 2
    y = np.zeros((m, n), np.float32)
    args: list[Array | np.generic | None] = [a, b, y, *map(np.int32, (m, n, k))]
    launch(module.get_function("gemm"), (2, 2, 1), (128, 1, 1), args, unwritten=(2,), order=order)
    exact = a.reshape(m, k).astype(np.float32) @ b.reshape(k, n).astype(np.float32)
    np.testing.assert_array_equal(y, exact)


def test_the_process_goes_on_after_a_finding() -> None:
    for _, entry in [*entries("faults.cu")[:4], *entries("async_faults.cu")[:4]]:
        with pytest.raises(KernelCheckError):
            launch(fault(entry), (3, 1, 1), (64, 1, 1), arguments(entry))
        x, y, n = arguments("tail")
        assert isinstance(y, np.ndarray)
        y[:] = 0
        launch(planted("clean.cu", "tail", "g++"), (2, 1, 1), (64, 1, 1), [x, y, n])
        np.testing.assert_array_equal(y, 1)
