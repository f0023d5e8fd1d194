"""Trying mutants on cases until one notices."""

from __future__ import annotations

import functools
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
from tests.mutation.scratch import Answer, Case, Instance, Scratch, Worker

__all__ = ["MAX_CASES", "OTHER_TESTS", "Result", "Selection", "draw", "run_all"]

MAX_CASES = 100
"""Cases that a mutant is tried on before it counts as a survivor."""
MAX_CASES_OF_KNOWN = 3
MAX_DETOUR = 8
"""Lines that a case may be farther from a mutant than the nearest case is."""
LINES_BELOW = 2
"""Lines below a mutant that count as near."""
FAR = 10**6
MAX_WITNESSES = 60
"""Cases whose machine code is looked at before a mutant counts as equivalent by that."""
NUM_FIRST = 4
"""Cases chosen for speed, and for what they noticed before."""


OTHER_TESTS = {
    "kernels/async_copy.cuh": ("tests/kernels/test_async_copy.py",),
    "kernels/device.cuh": ("tests/kernels/test_casts.py", "tests/host/test_device_header.py"),
    "kernels/lanes.cuh": ("tests/kernels/test_twins.py", "-k", "lanes"),
    "kernels/narrow.cuh": ("tests/kernels/test_casts.py",),
    "kernels/tensor_core.cuh": ("tests/kernels/test_tensor_core.py",),
    "ops/movement/gather.cu": ("tests/ops/test_movement.py", "-k", "index"),
    "ops/movement/index.cuh": ("tests/ops/test_movement.py", "-k", "index"),
    "ops/movement/reverse_sequence.cu": ("tests/ops/test_movement.py", "-k", "length"),
    "ops/movement/scatter.cu": ("tests/ops/test_movement.py", "-k", "index"),
    "ops/movement/tensor_scatter.cu": ("tests/ops/test_bad_indices.py",),
    "ops/pool/max_unpool.cu": ("tests/ops/test_bad_indices.py",),
    "ops/sampling/roi.cu": ("tests/ops/test_bad_indices.py",),
    "ops/recurrent/cell.cuh": ("tests/ops/test_recurrent.py", "-k", "length"),
}
"""Tests of files that have some of their own, for what no operator case notices."""


@dataclass(frozen=True)
class Result:
    """What became of a mutant.

    Attributes:
        mutant: the mutant.
        by: who noticed, as in ``worker.attempt``; ``"test"`` for one of ``OTHER_TESTS``; ``"same
            code"`` if the compiler made the same machine code of it.
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
        """Cases that run the mutant's line, or come nearest to it."""
        near = defaultdict[int, list[Case]](list)
        for case in self.cases:
            if mutant.file in case.files:
                ran = case.run.lines.get(mutant.file, ()) if case.run else ()
                distances = (_distance(mutant.line, line) for line in ran)
                near[min(distances, default=FAR)].append(case)
        groups = [near[distance] for distance in sorted(near) if distance <= min(near) + MAX_DETOUR]
        ordered = [self._ordered(mutant, cases) for cases in groups]
        return list(itertools.chain.from_iterable(ordered))[:limit]

    def witnesses(self, mutant: Mutant) -> list[Case] | None:
        """Cases that have all code that a mutant may be in; None if these are too many."""
        cases: dict[Instance, Case] = {}
        for case in self.cases:
            if mutant.file in case.files:
                cases |= dict.fromkeys(case.instances, case)
        witnesses = {case.name: case for case in cases.values()}
        return list(witnesses.values()) if len(witnesses) <= MAX_WITNESSES else None

    def _ordered(self, mutant: Mutant, cases: Iterable[Case]) -> list[Case]:
        """Some that are fast or noticed much, then in turn the rarest and one as if drawn."""
        kills = self.kills[mutant.file]
        ordered = sorted(cases, key=lambda case: (-kills[case.name], case.seconds, case.name))
        first, rest = ordered[:NUM_FIRST], ordered[NUM_FIRST:]
        rarest = sorted(rest, key=lambda case: (-self._rarity(mutant.file, case), case.name))
        drawn = sorted(rest, key=lambda case: draw(0, mutant.key, case.name))
        in_turn = itertools.chain.from_iterable(zip(rarest, drawn, strict=True))
        return [*first, *{case.name: case for case in in_turn}.values()]

    def _rarity(self, file: str, case: Case) -> float:
        """More for a case that runs lines of a file that few others run."""
        lines = case.run.lines.get(file, ()) if case.run else ()
        return sum(1 / self._num_cases[file][line] for line in lines)

    @functools.cached_property
    def _num_cases(self) -> dict[str, Counter[int]]:
        """File -> line -> cases that run it."""
        numbers: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for case in self.cases:
            for file, lines in (case.run.lines if case.run else {}).items():
                numbers[file].update(lines)
        return numbers


def _distance(line: int, ran: int) -> int:
    """How far a line may be from one that is known to have run.

    That one begins a block, or is what the compiler put at the beginning of it.
    """
    if ran <= line:
        return line - ran
    return ran - line if ran <= line + LINES_BELOW else FAR


def remembered(mutant: Mutant, memory: Memory, selection: Selection) -> Result | None:
    """What an earlier run found of a mutant."""
    answer = memory.recall(mutant, {case.name for case in selection.cases})
    if answer is None:
        return None
    return Result(mutant, answer["by"], answer["case"], 1, answer, _known(mutant))


def _known(mutant: Mutant) -> Known | None:
    return next((one for one in KNOWN if one.matches(mutant)), None)


def tried(mutant: Mutant, worker: Worker, selection: Selection) -> Result:
    """Try a mutant on case after case until one notices it, then on tests that its file has."""
    known = _known(mutant)
    cases = selection.for_mutant(mutant, MAX_CASES_OF_KNOWN if known else MAX_CASES)
    by, answers = _tried_on_cases(mutant, worker, cases, selection)
    case = cases[len(answers) - 1].name if answers else ""
    if by not in ("nobody", "compiler", "same code"):
        selection.kills[mutant.file][case] += 1
    tests = OTHER_TESTS.get(mutant.file, ())
    if by == "nobody" and tests:
        answers.append(worker.tests(mutant, tests))
        by = answers[-1]["by"]
    return Result(mutant, by, case, len(answers), answers[-1] if answers else {}, known)


def _tried_on_cases(
    mutant: Mutant, worker: Worker, cases: Sequence[Case], selection: Selection
) -> tuple[str, list[Answer]]:
    """Who noticed, and the answers up to that one."""
    first, rest = cases[:NUM_FIRST], cases[NUM_FIRST:]
    if not first:
        return "nobody", []
    answers = worker.attempts(mutant.file, mutant.text, first)
    if answers[-1]["by"] == "nobody":
        witnesses = selection.witnesses(mutant)
        if witnesses and all(worker.has_same_code(mutant, some) for some in (first, witnesses)):
            return "same code", answers
        if rest:
            answers += worker.attempts(mutant.file, mutant.text, rest)
    return answers[-1]["by"], answers


def run_all(
    mutants: Sequence[Mutant],
    scratches: Sequence[Scratch],
    selection: Selection,
    memory: Memory,
    report: Callable[[int, Result], None],
) -> list[Result]:
    """Every mutant's result, in order; one worker a scratch copy.

    They are tried in an order as good as drawn, so that a part of the job says something of all.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in sorted(range(len(mutants)), key=lambda number: draw(0, mutants[number].key)):
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
                earlier = remembered(mutant, memory, selection)
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
