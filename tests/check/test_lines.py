"""Source lines come from debug information; where there is none, nothing is made up."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from cugraphmodel.executors.host.compiler import compile_source, find_compiler, runtime_library
from cugraphmodel.executors.host.lines import _rows, locate
from cugraphmodel.kernels.source import Source, load_source


def test_a_library_without_debug_information_has_no_lines() -> None:
    assert locate(runtime_library(find_compiler()), 0x1100) is None


def test_addresses_outside_the_code_have_no_lines() -> None:
    library = compile_source(_source(), checked=True)
    first, last = _rows(library)[0][0], _rows(library)[-1][0]
    assert locate(library, first - 1) is None
    assert locate(library, last) is None


def test_lines_are_those_of_addr2line() -> None:
    tool = shutil.which("addr2line")
    if tool is None:
        pytest.skip("no addr2line")
    source = load_source("ops/softmax/softmax.cu")
    library = compile_source(source, [*_softmax_macros()], checked=True)
    addresses = [row[0] + 1 for row in _rows(library) if row[2] != 0]
    asked = subprocess.run(
        [tool, "-e", str(library), *(hex(address) for address in addresses)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(addresses) > 100
    for address, answer in zip(addresses, asked.stdout.splitlines(), strict=True):
        file, _, line = re.sub(r" \(discriminator \d+\)$", "", answer).rpartition(":")
        place = locate(library, address)
        if place is not None:  # none: the address lies in the next row, which ends the code
            assert file.endswith(place[0])
            assert line == str(place[1])


def _softmax_macros() -> list[tuple[str, str]]:
    return [
        ("SCALAR", "float"),
        ("LOGARITHM", "0"),
        ("ROW_THREADS", "32"),
        ("ITEMS", "4"),
        ("COLUMN_WIDTH", "32"),
        ("COLUMN_THREADS", "8"),
    ]


def _source() -> Source:
    return Source(
        "ops/one.cu",
        '#include "device.cuh"\nextern "C" __global__ void one(int* y) {\n  y[0] = 1;\n}\n',
    )
