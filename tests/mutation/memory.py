"""What earlier runs found: a mutant that was noticed is noticed again if nothing else changes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tests.mutation.mutants import PACKAGE, Mutant
from tests.mutation.scratch import Answer

__all__ = ["Memory"]


class Memory:
    """Mutants that were noticed, or do not compile, in a file that grows by a line for each.

    Args:
        path: of the file; it need not be there.
        names: of the cases there are. More of them make no mutant go unnoticed, so what is
            remembered of a case holds as long as the case is there and the package stays the same.
    """

    def __init__(self, path: Path, names: set[str]) -> None:
        self._path = path
        self._package = _digest_of_package()
        self._answers: dict[str, Answer] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                if row["case"] in names:
                    self._answers[row["mutant"]] = row

    def recall(self, mutant: Mutant) -> Answer | None:
        """The answer that noticed a mutant, with the name of its ``case``."""
        return self._answers.get(self._key(mutant))

    def keep(self, mutant: Mutant, case: str, answer: Answer) -> None:
        """Remember an answer."""
        row = {**answer, "mutant": self._key(mutant), "case": case}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(row)}\n")

    def _key(self, mutant: Mutant) -> str:
        parts = (self._package, mutant.file, mutant.text)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _digest_of_package() -> str:
    """Of all that decides what a case does but the lists of cases."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in (".py", ".cu", ".cuh", ".cpp", ".h") and "_cases" not in path.stem:
            digest.update(f"{path.relative_to(PACKAGE)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
