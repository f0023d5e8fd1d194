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
from tests.mutation.memory import Memory
from tests.mutation.mutants import Mutant
from tests.mutation.scratch import Answer, Case, Scratch, Worker

__all__ = ["MAX_CASES", "Result", "Selection", "draw", "run_all"]

MAX_CASES = 32
"""Cases that a mutant is tried on before it counts as a survivor."""
MAX_CASES_OF_KNOWN = 8
MAX_DETOUR = 2
"""Lines that a case may stop farther above a mutant than the nearest case does."""
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
        """Cases that run the mutant's line, or come nearest to it; then those not known to."""
        near = defaultdict[int, list[Case]](list)
        unknown = []
        for case in self.cases:
            if mutant.file not in case.files:
                continue
            if case.run is None:
                unknown.append(case)
            else:
                lines = case.run.lines.get(mutant.file, ())
                last = max((line for line in lines if line <= mutant.line), default=0)
                near[mutant.line - last].append(case)
        groups = [near[distance] for distance in sorted(near) if distance <= min(near) + MAX_DETOUR]
        ordered = [self._ordered(mutant, cases) for cases in (*groups, unknown)]
        return list(itertools.chain.from_iterable(ordered))[:limit]

    def _ordered(self, mutant: Mutant, cases: Iterable[Case]) -> list[Case]:
        kills = self.kills[mutant.file]
        ordered = sorted(cases, key=lambda case: (-kills[case.name], case.seconds, case.name))
        rest = sorted(ordered[NUM_FIRST:], key=lambda case: draw(0, mutant.key, case.name))
        return ordered[:NUM_FIRST] + rest


def remembered(mutant: Mutant, memory: Memory) -> Result | None:
    """What an earlier run found of a mutant."""
    answer = memory.recall(mutant)
    if answer is None:
        return None
    return Result(mutant, answer["by"], answer["case"], 1, answer, _known(mutant))


def _known(mutant: Mutant) -> Known | None:
    return next((one for one in KNOWN if one.matches(mutant)), None)


def tried(mutant: Mutant, worker: Worker, selection: Selection) -> Result:
    """Try a mutant on case after case until one notices it."""
    known = _known(mutant)
    limit = MAX_CASES_OF_KNOWN if known else MAX_CASES
    cases = selection.for_mutant(mutant, limit)
    if not cases:
        return Result(mutant, "nobody", "", 0, {"by": "nobody"}, known)
    first, rest = cases[:NUM_FIRST], cases[NUM_FIRST:]
    answers = worker.attempts(mutant.file, mutant.text, first)
    if answers[-1]["by"] == "nobody":
        if worker.has_same_code(mutant, first) and worker.has_same_code(mutant, rest):
            return Result(mutant, "same code", "", len(cases), answers[-1], known)
        if rest:
            answers += worker.attempts(mutant.file, mutant.text, rest)
    by, case = answers[-1]["by"], cases[len(answers) - 1]
    if by not in ("nobody", "compiler"):
        selection.kills[mutant.file][case.name] += 1
    return Result(mutant, by, case.name, len(answers), answers[-1], known)


def run_all(
    mutants: Sequence[Mutant],
    scratches: Sequence[Scratch],
    selection: Selection,
    memory: Memory,
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
                mutant = mutants[number]
                earlier = remembered(mutant, memory)
                result = earlier or tried(mutant, worker, selection)
                with lock:
                    results[number] = result
                    if earlier is None and result.by not in ("nobody", "same code"):
                        memory.keep(mutant, result.case, result.answer)
                    report(len(results), result)

    with ThreadPoolExecutor(len(scratches)) as pool:
        for done in [pool.submit(work, scratch) for scratch in scratches]:
            done.result()
    return [results[number] for number in range(len(mutants))]
