"""Trying mutants on cases until one notices."""

from __future__ import annotations

import hashlib
import itertools
import queue
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.mutation.known import KNOWN, Known
from tests.mutation.mutants import Mutant
from tests.mutation.scratch import Answer, Case, Scratch, Worker

__all__ = ["MAX_CASES", "Result", "Selection", "draw", "run_all"]

MAX_CASES = 60
"""Cases that a mutant is tried on before it counts as a survivor."""
MAX_CASES_OF_KNOWN = 8
NUM_FIRST = 8
"""Cases chosen for speed, and for what they noticed before; the rest are drawn."""


@dataclass(frozen=True)
class Result:
    """What became of a mutant.

    Attributes:
        mutant: the mutant.
        by: who noticed, as in ``worker.attempt``; ``"same code"`` if the compiler made the same
            machine code of it.
        case: the last case it was tried on.
        num_cases: how many it was tried on.
        answer: that case's answer.
        known: what is known of the mutant, if anything.
    """

    mutant: Mutant
    by: str
    case: str
    num_cases: int
    answer: Answer
    known: Known | None

    @property
    def is_killed(self) -> bool:
        """Whether the suite noticed it."""
        return self.by not in ("compiler", "nobody", "same code")

    @property
    def is_equivalent(self) -> bool:
        """Whether there is nothing to notice."""
        known = self.known is not None and self.known.is_equivalent
        return self.by == "same code" or (self.by == "nobody" and known)


def draw(seed: int, *parts: object) -> bytes:
    """As good as chance, and the same for the same seed and parts."""
    return hashlib.sha256(repr((seed, *parts)).encode()).digest()


@dataclass
class Selection:
    """Which cases to try a mutant on, best first.

    Attributes:
        cases: all cases.
        kills: file -> case -> mutants it noticed so far.
    """

    cases: Sequence[Case]
    kills: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def for_mutant(self, mutant: Mutant, limit: int) -> list[Case]:
        """Cases that run the mutant's line, then those that come near it."""
        near = defaultdict[int, list[Case]](list)
        for case in self.cases:
            before = [line for line in case.lines.get(mutant.file, ()) if line <= mutant.line]
            if mutant.file in case.lines:
                near[mutant.line - max(before, default=-(10**6))].append(case)
        ordered = [self._ordered(mutant, cases) for _, cases in sorted(near.items())]
        return list(itertools.chain.from_iterable(ordered))[:limit]

    def _ordered(self, mutant: Mutant, cases: Iterable[Case]) -> list[Case]:
        kills = self.kills[mutant.file]
        ordered = sorted(cases, key=lambda case: (-kills[case.name], case.seconds, case.name))
        rest = sorted(ordered[NUM_FIRST:], key=lambda case: draw(0, mutant.key, case.name))
        return ordered[:NUM_FIRST] + rest


def tried(mutant: Mutant, worker: Worker, selection: Selection) -> Result:
    """Try a mutant on case after case until one notices it."""
    known = next((one for one in KNOWN if one.matches(mutant)), None)
    limit = MAX_CASES_OF_KNOWN if known else MAX_CASES
    cases = selection.for_mutant(mutant, limit)
    if not cases:
        return Result(mutant, "nobody", "", 0, {"by": "nobody"}, known)
    answers = worker.attempts(mutant.file, mutant.text, cases[:NUM_FIRST])
    if answers[-1]["by"] == "nobody":
        if worker.has_same_code(mutant, cases[:MAX_CASES]):
            return Result(mutant, "same code", "", len(cases), answers[-1], known)
        if len(cases) > NUM_FIRST:
            answers += worker.attempts(mutant.file, mutant.text, cases[NUM_FIRST:])
    by, case = answers[-1]["by"], cases[len(answers) - 1]
    if by not in ("nobody", "compiler"):
        selection.kills[mutant.file][case.name] += 1
    return Result(mutant, by, case.name, len(answers), answers[-1], known)


def run_all(
    mutants: Sequence[Mutant],
    scratches: Sequence[Scratch],
    selection: Selection,
    report: Callable[[int, Result], None],
) -> list[Result]:
    """Every mutant's result, in order; one worker a scratch copy."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(mutants)):
        waiting.put(number)
    results: dict[int, Result] = {}
    lock = threading.Lock()

    def work(scratch: Scratch) -> None:
        with Worker(scratch) as worker:
            while True:
                try:
                    number = waiting.get_nowait()
                except queue.Empty:
                    return
                result = tried(mutants[number], worker, selection)
                with lock:
                    results[number] = result
                    report(len(results), result)

    with ThreadPoolExecutor(len(scratches)) as pool:
        for done in [pool.submit(work, scratch) for scratch in scratches]:
            done.result()
    return [results[number] for number in range(len(mutants))]
