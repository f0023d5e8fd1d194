"""Which lines of the kernel files each case runs, and how long it takes in the check mode.

Runs in a process whose kernels are compiled to report every basic block; see ``scratch.py``. A
block counts as its first line, so a line that did run may lie a little below one that is listed.
"""

from __future__ import annotations

import bisect
import ctypes
import json
import sys
import time
from pathlib import Path

import numpy as np

from cugraphmodel.errors import KernelCheckError
from cugraphmodel.executors import open_device
from cugraphmodel.executors.host.device import HostExecutable
from cugraphmodel.executors.host.lines import locate
from cugraphmodel.kernels.source import DEVICE_HEADER
from tests.mutation.mutants import kernel_files
from tests.ops import harness
from tests.ops.test_cases import CASES

__all__ = ["main"]

MAX_BLOCKS = 65536
"""Slots of ``coverage.cpp``."""


class _Tracer:
    def __init__(self, library: str) -> None:
        self._take = ctypes.CDLL(library, ctypes.RTLD_GLOBAL).coverage_take
        self._take.restype = ctypes.c_size_t
        self._places = np.zeros(MAX_BLOCKS, np.uint64)

    def take(self) -> list[int]:
        """Addresses of the blocks that ran since the last call."""
        count = self._take(ctypes.c_void_p(self._places.ctypes.data))
        return [int(place) for place in self._places[:count]]


def _libraries() -> list[tuple[int, Path]]:
    """First address and path of each mapped library, by address."""
    starts: dict[Path, int] = {}
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].endswith(".so"):
            starts.setdefault(Path(fields[5]), int(fields[0].split("-")[0], 16))
    return sorted((start, path) for path, start in starts.items())


def _lines(places: list[int]) -> dict[str, list[int]]:
    found: dict[str, set[int]] = {}
    libraries = _libraries()
    for place in places:
        position = bisect.bisect_right(libraries, place, key=lambda library: library[0])
        start, path = libraries[position - 1]
        line = locate(path, place - start)
        if line is not None:
            found.setdefault(line[0], set()).add(line[1])
    return {_in_package(file): sorted(lines) for file, lines in found.items()}


def _in_package(file: str) -> str:
    """The name that debug information has for ``device.cuh`` depends on the include path."""
    return f"kernels/{DEVICE_HEADER}" if Path(file).name == DEVICE_HEADER else file


def main() -> None:
    """``python -m tests.mutation.coverage TRACER``; names of cases come in, runs go out."""
    tracer = _Tracer(sys.argv[1])
    by_name = {str(case): case for case in CASES}
    device = open_device("cpu:check")
    files = set(kernel_files())
    for name in sys.stdin.read().splitlines():
        case = by_name[name]
        with harness.prepared(case, device) as executable:
            assert isinstance(executable, HostExecutable)
            harness.write_inputs(case, executable, case.inputs)
            tracer.take()
            begin = time.perf_counter()
            try:
                executable.replay()
            except KernelCheckError as error:  # of code that the compiler made otherwise
                print(f"{name} is not traced: {error}", file=sys.stderr)
                continue
            seconds = time.perf_counter() - begin
        lines = {file: found for file, found in _lines(tracer.take()).items() if file in files}
        print(json.dumps({"case": name, "seconds": round(seconds, 4), "lines": lines}))


if __name__ == "__main__":
    main()
