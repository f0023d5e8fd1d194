"""What earlier runs found; it holds while the package, but for its cases, stays the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

from tests.mutation.mutants import PACKAGE, Mutant
from tests.mutation.scratch import Answer, Run

__all__ = ["Memory"]


class Memory:
    """Files in a folder that grow by a line for everything that is found.

    Args:
        folder: of the files; they need not be there.
    """

    def __init__(self, folder: Path) -> None:
        self._package = _digest_of_package()
        self._noticed = folder / "noticed.jsonl"
        self._ran = folder / "runs.jsonl"
        self._answers = {row["mutant"]: row for row in self._rows(self._noticed)}
        self.runs = {
            row["case"]: Run(row["seconds"], row["lines"]) for row in self._rows(self._ran)
        }
        """Runs of cases, by name."""

    def recall(self, mutant: Mutant, names: Set[str]) -> Answer | None:
        """The answer that noticed a mutant, or that it does not compile, with the ``case``.

        Args:
            mutant: the mutant.
            names: of today's cases. None is recalled of a case that is not among them.
        """
        answer = self._answers.get(_key(mutant))
        return answer if answer and (answer["by"] == "test" or answer["case"] in names) else None

    def keep(self, mutant: Mutant, case: str, answer: Answer) -> None:
        """Remember an answer."""
        self._append(self._noticed, {**answer, "mutant": _key(mutant), "case": case})

    def keep_runs(self, runs: Mapping[str, Run]) -> None:
        """Remember runs of cases."""
        self.runs |= runs
        for case, run in runs.items():
            self._append(self._ran, {"case": case, "seconds": run.seconds, "lines": run.lines})

    def _rows(self, path: Path) -> Iterator[Answer]:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        rows = map(json.loads, lines)
        return (row for row in rows if row["package"] == self._package)

    def _append(self, path: Path, row: Mapping[str, object]) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps({**row, 'package': self._package})}\n")


def _key(mutant: Mutant) -> str:
    return hashlib.sha256(f"{mutant.file}\0{mutant.text}".encode()).hexdigest()


def _digest_of_package() -> str:
    """Of all that decides what a case does but the lists of cases."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in (".py", ".cu", ".cuh", ".cpp", ".h") and "_cases" not in path.stem:
            digest.update(f"{path.relative_to(PACKAGE)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
