"""Runs cases on the kernels of a scratch copy of the repository; a process of its own there.

Requests come in and answers go out as lines of JSON; see ``scratch.py``. Each attempt at a case is
a child process: a fault in a kernel may crash it or never end.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cugraphmodel.errors import KernelCheckError, KernelCompileError
from cugraphmodel.executors import open_device
from cugraphmodel.executors.host.compiler import find_compiler, runtime_library
from cugraphmodel.executors.host.module import HostModule
from cugraphmodel.kernels.source import load_source
from cugraphmodel.ops.case import OpCase
from cugraphmodel.plan import build_plan
from tests.mutation.mutants import PACKAGE
from tests.ops import harness, test_cases

__all__ = ["attempt", "main"]

Answer = dict[str, Any]
MAX_WALL_S = 120
BY_NAME = {str(case): case for case in test_cases.CASES}


def attempt(case: OpCase) -> Answer:
    """What the suite says of a case, in CI's order: the check mode, then plain.

    ``by``: ``"nobody"`` if all is well, ``"compiler"``, ``"check"`` (with ``kind`` and ``at``),
    ``"value"``, ``"order"`` (another replay or another order of the threads gave other bits) or
    ``"error"``.
    """
    try:
        with harness.prepared(case, open_device("cpu:check")) as executable:
            harness.write_inputs(case, executable, case.inputs)
            got = harness.replay(executable)
        for array, right in zip(got, harness.expected_outputs(case), strict=True):
            harness.assert_close(case, array, right)
        with pytest.MonkeyPatch.context() as patch:
            test_cases.test_case_gives_the_right_outputs(case, open_device("cpu"), patch)
    except KernelCompileError as error:
        return {"by": "compiler", "text": str(error)}
    except KernelCheckError as error:
        found = vars(error)
        at = f"{found['file']}:{found['line']}" if found["file"] else None
        return {"by": "check", "kind": found["kind"], "at": at, "text": str(error)}
    except AssertionError as error:
        frames = {frame.name for frame in traceback.extract_tb(error.__traceback__)}
        return {"by": "value" if "assert_close" in frames else "order", "text": str(error)}
    except Exception as error:  # any other failure fails a test as well
        return {"by": "error", "text": f"{type(error).__name__}: {error}"}
    return {"by": "nobody"}


def machine_code(case: OpCase) -> Answer:
    """Digest of the libraries that the plain CPU device runs a case with."""
    steps = build_plan(harness.graph_of(case)).steps
    modules = {(step.launch.source, step.launch.macros) for step in steps}
    try:
        libraries = [
            HostModule(load_source(source), macros).library for source, macros in sorted(modules)
        ]
    except KernelCompileError as error:
        return {"by": "compiler", "text": str(error)}
    data = b"".join(library.read_bytes() for library in libraries)
    return {"by": "nobody", "code": hashlib.sha256(data).hexdigest()}


def in_child(work: Callable[[], Answer], cpu_s: float) -> Answer:
    """What ``work`` gives in a child process; ``by`` is ``"hang"`` or ``"crash"`` if that ends it.

    The processor time is the child's own, without that of the compiler it calls.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            signal.alarm(MAX_WALL_S)
            signal.setitimer(signal.ITIMER_PROF, cpu_s)
            os.write(writing, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        data = stream.read()
    _, status = os.waitpid(child, 0)
    if data:
        answer: Answer = json.loads(data)
        return answer
    number = os.WTERMSIG(status)
    if number in (signal.SIGPROF, signal.SIGALRM):
        return {"by": "hang", "text": f"no end after {cpu_s:.1f} s"}
    return {"by": "crash", "text": f"signal {number}"}


def answer(request: dict[str, Any]) -> list[Answer]:
    """The answers of the cases in turn, up to the first that notices the fault.

    ``request``: ``file`` and its ``text`` while this runs, the names of ``cases``, ``cpu_s`` for
    each, and ``what``: ``"attempt"`` or ``"code"``; for the latter all cases are gone through.
    """
    path = PACKAGE / request["file"]
    cache = Path(os.environ["CUGRAPHMODEL_CACHE_DIR"])
    kept = set(cache.iterdir())
    original = path.read_text(encoding="utf-8")
    path.write_text(request["text"], encoding="utf-8")
    answers = []
    try:
        for name, cpu_s in zip(request["cases"], request["cpu_s"], strict=True):
            case = BY_NAME[name]
            if request["what"] == "code":
                answers.append(in_child(functools.partial(machine_code, case), cpu_s))
                continue
            harness.expected_outputs(case)  # cached for the child
            answers.append(in_child(functools.partial(attempt, case), cpu_s))
            if answers[-1]["by"] != "nobody":
                break
    finally:
        path.write_text(original, encoding="utf-8")
        if request["text"] != original:
            for compiled in set(cache.iterdir()) - kept:
                compiled.unlink()
    return answers


def main() -> None:
    """Answer requests until there are no more."""
    warnings.simplefilter("ignore")
    harness.expected_outputs = functools.cache(harness.expected_outputs)
    for checked in (False, True):  # before the first mutant, so that these stay in the cache
        runtime_library(find_compiler(), checked)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
