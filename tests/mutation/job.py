"""The mutation job: ``python -m tests.mutation``.

Breaks the kernels in a scratch copy, one fault at a time, and counts which faults the operator
cases notice. Needs g++ or clang++ and no GPU.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cugraphmodel.kernels.source import DEVICE_HEADER, load_source
from cugraphmodel.plan import build_plan
from tests.mutation.known import KNOWN
from tests.mutation.memory import Memory
from tests.mutation.mutants import Mutant, all_mutants
from tests.mutation.report import FILE as REPORT
from tests.mutation.report import counts, report_text, share
from tests.mutation.sample import FILE as SAMPLE
from tests.mutation.sample import sample_text
from tests.mutation.scratch import Case, Instance, Scratch
from tests.mutation.trials import OTHER_TESTS, Result, Selection, draw, run_all
from tests.ops import harness
from tests.ops.test_cases import CASES

__all__ = ["main"]

MIN_SHARE = 0.95


@functools.cache
def instances_of_cases() -> dict[str, list[Instance]]:
    """Case -> what its launches are compiled from."""
    return {
        str(case): [
            (step.launch.source, step.launch.macros)
            for step in build_plan(harness.graph_of(case)).steps
        ]
        for case in CASES
    }


@functools.cache
def files_of(source: str) -> frozenset[str]:
    """A kernel source and what it includes."""
    lines = load_source(source).text.splitlines()
    names = {line.split('"')[1] for line in lines if line.startswith("#line ")}
    return frozenset({*names, f"kernels/{DEVICE_HEADER}"})


def files_in_use() -> set[str]:
    """Kernel files that some case is compiled from."""
    instances = itertools.chain.from_iterable(instances_of_cases().values())
    return set().union(*(files_of(source) for source in {source for source, _ in instances}))


def cases_using(files: Set[str], scratches: Sequence[Scratch], memory: Memory) -> list[Case]:
    """The cases that are compiled from one of the files, with the lines that they run.

    The scratch copies share the work.
    """
    used = {
        name: instances
        for name, instances in instances_of_cases().items()
        if any(files_of(source) & files for source, _ in instances)
    }
    new = [name for name in used if name not in memory.runs]
    parts = [new[part :: len(scratches)] for part in range(len(scratches))]
    with ThreadPoolExecutor(len(scratches)) as pool:
        for found in pool.map(lambda scratch, part: scratch.runs(part), scratches, parts):
            memory.keep_runs(found)
    cases = []
    for name, instances in used.items():
        files = frozenset().union(*(files_of(source) for source, _ in instances))
        cases.append(Case(name, frozenset(instances), files, memory.runs.get(name)))
    return cases


def sampled(mutants: Sequence[Mutant], count: int | None, seed: int) -> list[Mutant]:
    """At most ``count`` mutants of each file, drawn by the seed; None: all."""
    if count is None:
        return list(mutants)
    by_file: defaultdict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        by_file[mutant.file].append(mutant)
    return [
        mutant
        for found in by_file.values()
        for mutant in sorted(found, key=lambda one: draw(seed, one.key))[:count]
    ]


def problems_of(results: Sequence[Result], *, complete: bool) -> list[str]:
    """What makes the job fail."""
    found = []
    for result in results:
        if result.known is not None and result.is_killed:
            found.append(f"noticed, but known.py says that it is not: {result.mutant}")
        if result.by == "nobody" and result.known is None:
            found.append(f"survived: {result.mutant}")
    if complete:
        used = {result.known for result in results}
        found += [f"known.py has an entry that fits nothing: {k}" for k in KNOWN if k not in used]
    number = counts(results)
    if number["killed"] < MIN_SHARE * number["relevant"]:
        found.append(f"{share(number)} is less than {MIN_SHARE:.0%}")
    return found


def main() -> int:
    """Run the job. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--source", default="*", metavar="GLOB", help="e.g. 'ops/pool/*'")
    parser.add_argument("--sample", type=int, metavar="N", help="at most N mutants of each file")
    parser.add_argument("--seed", type=int, default=0, help="draws the sample (0)")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time (1)")
    parser.add_argument(
        "--work", type=Path, metavar="FOLDER", help="keep there what the next run can use"
    )
    parser.add_argument(
        "--write", action="store_true", help=f"write {REPORT.name} and CI's {SAMPLE.name}"
    )
    options = parser.parse_args()
    if options.write and options.source != "*":
        parser.error("--write is for all sources")
    mutants = sampled(all_mutants(options.source), options.sample, options.seed)
    tested = files_in_use() | OTHER_TESTS.keys()
    unused = sorted({mutant.file for mutant in mutants} - tested)
    mutants = [mutant for mutant in mutants if mutant.file not in unused]
    with tempfile.TemporaryDirectory(prefix="mutation-") as temporary:
        work = options.work or Path(temporary)
        scratches = [Scratch(work / str(number)) for number in range(options.jobs)]
        memory = Memory(work)
        cases = cases_using({mutant.file for mutant in mutants}, scratches, memory)
        results = run_all(mutants, scratches, Selection(cases), memory, _told(len(mutants)))
    problems = problems_of(results, complete=options.source == "*" and options.sample is None)
    number = counts(results)
    print(
        f"{number['killed']} of {number['relevant']} noticed, {share(number)}", *problems, sep="\n"
    )
    if options.write:
        drawn = f", of {options.sample} mutants a file (seed {options.seed})"
        scope = "" if options.sample is None else drawn
        REPORT.write_text(report_text(results, scope, unused), encoding="utf-8")
        SAMPLE.write_text(sample_text(results, cases), encoding="utf-8")
    return 1 if problems else 0


def _told(total: int) -> Callable[[int, Result], None]:
    def tell(done: int, result: Result) -> None:
        place = result.answer.get("at") or ""
        line = f"{done}/{total} {result.mutant}: {result.by} {place} {result.case}"
        print(f"{line} ({result.num_cases})", file=sys.stderr, flush=True)

    return tell
