"""Copies of the repository in a temporary folder, whose kernels may be broken."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest

from cugraphmodel.executors.host.compiler import find_compiler
from tests.mutation.mutants import PACKAGE, Mutant, text_of

__all__ = ["Answer", "Case", "Instance", "Run", "Scratch", "Worker"]

Answer = dict[str, Any]
ROOT = PACKAGE.parent
HERE = Path(__file__).parent
CPU_S, CPU_FACTOR = 2.0, 50
"""Processor time an attempt may take: a constant, and a factor on a replay in the check mode."""


@dataclass(frozen=True)
class Run:
    """A replay of an operator case in the check mode: seconds, and the lines that ran by file."""

    seconds: float
    lines: Mapping[str, Sequence[int]]


Instance = tuple[str, tuple[tuple[str, str], ...]]
"""A kernel source and its macros."""


@dataclass(frozen=True)
class Case:
    """An operator case.

    Attributes:
        name: unique.
        instances: what its launches are compiled from.
        files: kernel files that these include, and they themselves.
        run: in the check mode, if known.
    """

    name: str
    instances: frozenset[Instance] = frozenset()
    files: frozenset[str] = frozenset()
    run: Run | None = None

    @property
    def seconds(self) -> float:
        """Of a replay in the check mode; a guess if that is not known."""
        return self.run.seconds if self.run else 0.1

    @property
    def cpu_s(self) -> float:
        """Processor time after which an attempt counts as one that never ends."""
        return CPU_S + CPU_FACTOR * self.seconds


class Scratch:
    """A copy of package and tests, with a kernel cache of its own.

    Args:
        folder: for both; made if it is not there. A cache that is there already is used.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder / "copy"
        self.package = self.root / PACKAGE.name
        self._cache = folder / "cache"
        shutil.rmtree(self.root, ignore_errors=True)
        skip = shutil.ignore_patterns("__pycache__")
        for name in (PACKAGE.name, "tests"):
            shutil.copytree(ROOT / name, self.root / name, ignore=skip)
        shutil.copy(ROOT / "pyproject.toml", self.root)
        self._cache.mkdir(mode=0o700, exist_ok=True)

    def run(
        self, arguments: Sequence[str], *, given: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run ``python arguments`` in the copy; both streams are captured."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=self.environment(**environment),
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )

    def environment(self, **more: str) -> dict[str, str]:
        """Variables under which Python takes the copy, and the kernels do not land elsewhere."""
        return {
            **os.environ,
            "PYTHONPATH": str(self.root),
            "PYTHONDONTWRITEBYTECODE": "1",
            "CUGRAPHMODEL_CACHE_DIR": str(self._cache),
            "CUGRAPHMODEL_HOST_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            **more,
        }

    @contextmanager
    def edited(self, file: str, old: str, new: str) -> Iterator[int]:
        """A text that occurs once in a kernel file, replaced for the time being; its line."""
        path = self.package / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{file} has {old!r} {text.count(old)} times"
        path.write_text(text.replace(old, new), encoding="utf-8")
        try:
            yield text[: text.index(old)].count("\n") + 1
        finally:
            path.write_text(text, encoding="utf-8")

    def runs(self, names: Sequence[str]) -> dict[str, Run]:
        """Run cases in the check mode, and record what they run.

        Returns:
            By name; without a case in which that leads to a finding.

        Raises:
            RuntimeError: the compiler cannot report basic blocks.
        """
        compiler = find_compiler()
        tracer = self.root.parent / "tracer.so"
        options = ("-O2", "-shared", "-fPIC", "-o", str(tracer), str(HERE / "coverage.cpp"))
        subprocess.run([*compiler.command, *options], check=True)
        traced = shlex.join([*compiler.command, "-fsanitize-coverage=trace-pc"])
        ran = self.run(
            ["-m", "tests.mutation.coverage", str(tracer)], given="\n".join(names), CXX=traced
        )
        if ran.returncode != 0:
            raise RuntimeError(f"coverage of the cases failed:\n{ran.stderr}")
        rows = map(json.loads, ran.stdout.splitlines())
        return {row["case"]: Run(row["seconds"], row["lines"]) for row in rows}


class Worker:
    """A process that tries cases on mutants in a scratch copy. A context manager."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutation.worker"],
            cwd=scratch.root,
            env=scratch.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def attempts(self, file: str, text: str, cases: Sequence[Case]) -> list[Answer]:
        """What each case in turn says of a kernel file's text, up to the first that complains."""
        return self._ask("attempt", file, text, cases)

    def has_same_code(self, mutant: Mutant, cases: Sequence[Case]) -> bool:
        """Whether the plain CPU device runs the very same machine code for all of these cases."""
        texts = (text_of(mutant.file), mutant.text)
        one, other = (self._ask("code", mutant.file, text, cases) for text in texts)
        return one == other

    def tests(self, mutant: Mutant, tests: Sequence[str]) -> Answer:
        """What test files of the repository say of a mutant."""
        path = self._scratch.package / mutant.file
        path.write_text(mutant.text, encoding="utf-8")
        try:
            ran = self._scratch.run(["-m", "pytest", "-qx", "-p", "no:cacheprovider", *tests])
        finally:
            path.write_text(text_of(mutant.file), encoding="utf-8")
        if ran.returncode == pytest.ExitCode.OK:
            return {"by": "nobody"}
        stillborn = "KernelCompileError" in ran.stdout
        return {"by": "compiler" if stillborn else "test", "text": ran.stdout[-1000:]}

    def _ask(self, what: str, file: str, text: str, cases: Sequence[Case]) -> list[Answer]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {
            "what": what,
            "file": file,
            "text": text,
            "cases": [case.name for case in cases],
            "cpu_s": [case.cpu_s for case in cases],
        }
        print(json.dumps(request), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker ended: {self._process.wait()}")
        answers: list[Answer] = json.loads(line)
        return answers
