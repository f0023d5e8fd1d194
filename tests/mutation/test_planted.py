"""Faults of the kinds that matter most, planted in kernels of ours: CI names file and line.

CI's own tests run on a scratch copy of the repository, where they pass without the faults.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.mutation.scratch import Scratch

pytestmark = pytest.mark.xdist_group("mutation_planted")
CHECKED = "tests/check/test_operators.py::test_case_has_no_finding"
COMPILED = "tests/kernels/test_nvrtc.py::test_every_instance_compiles"


@dataclass(frozen=True)
class Planted:
    """A fault, and what CI says.

    Attributes:
        file, old, new: the fault; each is in a file of its own.
        test: of CI.
        complaint: what it prints, as a pattern whose groups are the file and the line it names.
        at: code on that line.
    """

    file: str
    old: str
    new: str
    test: str
    complaint: str
    at: str


FAULTS = {
    "removed barrier": Planted(
        "ops/movement/transpose.cu",
        "  __syncthreads();",
        "",
        f"{CHECKED}[Transpose-matrix-7]",
        r"transpose_tiles: initcheck: .* of tile, which nobody wrote, at (\S+):(\d+)",
        "= tile[x][y];",
    ),
    "removed barrier before memory is used again": Planted(
        "ops/matmul/gemm.cu",
        "thread, sums);\n    __syncthreads();",
        "thread, sums);\n",
        f"{CHECKED}[MatMul-deep-17]",
        r"gemm: racecheck: .* of left_tile: .* no barrier in between, at (\S+):(\d+)",
        "spread_lanes<kRun>(left[k][row0 + i]);",
    ),
    "bound loosened by one": Planted(
        "ops/topk/sort_chunks.cu",
        "if (place < size) {",
        "if (place <= size) {",
        f"{CHECKED}[TopK-attribute-7]",
        r"sort_chunks: memcheck: .* at byte 168 of .* which has 168 bytes, at (\S+):(\d+)",
        "sort_key(source[start + place * inner_size])",
    ),
    "dropped tail guard": Planted(
        "ops/elementwise/elementwise.cu",
        "  if (first >= Index(size)) return;",
        "",
        f"{CHECKED}[Add-scalars-7]",
        r"elementwise: memcheck: .*: write of 16 bytes at .*, at (\S+):(\d+)",
        "cg_store4(out, values);",
    ),
    "part of a workspace that nobody wrote": Planted(
        "ops/reduce/reduce.cu",
        "if (inside && lane == 0) out[",
        "if (inside && lane == 0 && (gridDim.y == 1 || blockIdx.y != 1)) out[",
        f"{CHECKED}[ReduceSum-rows_9000-12]",
        r"reduce_columns: initcheck: .* \(workspace\), which nobody wrote, at (\S+):(\d+)",
        "base[offset_of",
    ),
    "name that NVRTC does not know": Planted(
        "ops/softmax/hardmax.cu",
        "= i / inner / axis_size;",
        "= __builtin_llabs(i / inner) / axis_size;",
        f"{COMPILED}[ops/softmax/hardmax.cu]",
        r'(\S+)\((\d+)\): error: identifier "__builtin_llabs" is undefined',
        "__builtin_llabs(i / inner)",
    ),
}


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    """A copy of the repository that has all faults."""
    copy = Scratch(tmp_path_factory.mktemp("scratch"))
    with contextlib.ExitStack() as edits:
        for fault in FAULTS.values():
            edits.enter_context(copy.edited(fault.file, fault.old, fault.new))
        yield copy


@pytest.fixture(scope="module")
def output(scratch: Scratch) -> str:
    """What pytest prints of CI's tests there."""
    tests = [fault.test for fault in FAULTS.values()]
    return scratch.run(["-m", "pytest", "-p", "no:cacheprovider", "--tb=short", *tests]).stdout


@pytest.mark.parametrize("name", FAULTS)
def test_ci_names_file_and_line(name: str, scratch: Scratch, output: str) -> None:
    fault = FAULTS[name]
    if fault.test.startswith(COMPILED):
        pytest.importorskip("cupy", reason="NVRTC is called through CuPy")
    assert f"FAILED {fault.test}" in output
    complaint = re.search(fault.complaint, output)
    assert complaint is not None, output
    lines = (scratch.package / complaint[1]).read_text(encoding="utf-8").splitlines()
    assert fault.at in lines[int(complaint[2]) - 1]
