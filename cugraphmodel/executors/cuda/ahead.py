"""Compiling many kernels at once, in processes: NVRTC holds a lock of its own against threads.

``python -m cugraphmodel.executors.cuda.ahead ARCHITECTURE`` is one such process. It reads modules
from its standard input, leaves their machine code in the kernel cache, and writes a line for each.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cugraphmodel.errors import KernelCompileError
from cugraphmodel.executors.base import Progress
from cugraphmodel.executors.cuda.compiler import CompiledModule, cubin_file, is_compiled
from cugraphmodel.kernels import cache

__all__ = ["compile_ahead"]

LEAST_MODULES = 4
"""For fewer, starting processes takes longer than compiling."""
MAX_PROCESSES = 16


def compile_ahead(
    modules: Sequence[CompiledModule], architecture: str, progress: Progress | None
) -> None:
    """Compile what the kernel cache does not have, on all processors.

    What does not compile is left out: whoever loads it compiles it again, and says why it fails.

    Args:
        modules: sources with their macros.
        architecture: e.g. ``"sm_90"``.
        progress: called as each of them is there.
    """
    missing = [module for module in modules if not is_compiled(*module, architecture)]
    if len(missing) < LEAST_MODULES:
        return
    count = min(len(os.sched_getaffinity(0)), MAX_PROCESSES, len(missing))
    lock, done = threading.Lock(), 0

    def count_up() -> None:
        nonlocal done
        with lock:
            done += 1
            if progress is not None:
                progress("kernels", done, len(missing))

    with ThreadPoolExecutor(count) as pool:
        shares = [missing[number::count] for number in range(count)]
        list(pool.map(lambda share: _compile_apart(share, architecture, count_up), shares))


def _compile_apart(
    modules: Sequence[CompiledModule], architecture: str, count_up: Callable[[], None]
) -> None:
    """Compile some modules in a process."""
    package_folder = str(Path(__file__).parents[3])
    search = [package_folder, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "CUGRAPHMODEL_CACHE_DIR": str(cache.folder()),
        "PYTHONPATH": os.pathsep.join(search),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "cugraphmodel.executors.cuda.ahead", architecture],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    ) as worker:
        assert worker.stdin is not None  # both are pipes
        assert worker.stdout is not None
        worker.stdin.write(json.dumps(modules))
        worker.stdin.close()
        for _ in worker.stdout:
            count_up()


def _serve(architecture: str) -> None:
    for source, macros in json.load(sys.stdin):
        with contextlib.suppress(KernelCompileError):
            cubin_file(source, tuple((name, value) for name, value in macros), architecture)
        sys.stdout.write(f"{source}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve(sys.argv[1])
