"""The mutants that CI tries: a few of each family, each with the case that noticed it.

``sample.json`` is drawn by the mutation job from what was noticed. A mutant of it whose line has
changed since is left out until the job is run again.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutation.mutants import Mutant, all_mutants
from tests.mutation.scratch import Case
from tests.mutation.trials import Result, draw

__all__ = ["FILE", "Sampled", "chosen", "read_sample", "sample_text"]

FILE = Path(__file__).parent / "sample.json"
NUM_PER_FAMILY = 3
MAX_SECONDS = 0.05
"""Of a replay in the check mode, for a case to be in the sample."""


@dataclass(frozen=True)
class Sampled:
    """A mutant with the case that notices it, and how: see ``worker.attempt``."""

    mutant: Mutant
    case: Case
    by: str


def chosen(results: Iterable[Result], cases: Sequence[Case]) -> list[Result]:
    """A few killed mutants of each family, as good as drawn by chance; of many files."""
    fast = {case.name for case in cases if case.run and case.run.seconds < MAX_SECONDS}
    by_family: defaultdict[str, list[Result]] = defaultdict(list)
    for result in results:
        has_place = result.by != "check" or result.answer["at"]
        by_case = result.is_killed and result.by not in ("hang", "test")
        if by_case and result.case in fast and has_place:
            by_family[result.mutant.family].append(result)
    taken: list[Result] = []
    used: Counter[str] = Counter()
    for _, found in sorted(by_family.items()):
        for _ in range(min(NUM_PER_FAMILY, len(found))):
            found.sort(key=lambda one: (used[one.mutant.file], draw(1, one.mutant.key)))
            taken.append(found.pop(0))
            used[taken[-1].mutant.file] += 1
    return sorted(taken, key=lambda one: (one.mutant.file, one.mutant.line, one.mutant.change))


def sample_text(results: Iterable[Result], cases: Sequence[Case]) -> str:
    """The sample as JSON, a line for each mutant."""
    rows = [
        json.dumps(
            {
                "file": result.mutant.file,
                "code": result.mutant.code,
                "change": result.mutant.change,
                "ordinal": result.mutant.ordinal,
                "case": result.case,
                "by": result.by,
            }
        )
        for result in chosen(results, cases)
    ]
    return "[\n" + ",\n".join(rows) + "\n]\n"


def read_sample() -> list[Sampled]:
    """Those mutants of the sample that today's kernels still have."""
    rows: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    mutants = {mutant.key: mutant for mutant in all_mutants()}
    found = []
    for row in rows:
        mutant = mutants.get((row["file"], row["code"], row["change"], row["ordinal"]))
        if mutant is not None:
            found.append(Sampled(mutant, Case(row["case"]), row["by"]))
    return found
