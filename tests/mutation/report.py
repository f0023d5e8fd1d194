"""``tests/mutation.md``: what became of the mutants."""

from __future__ import annotations

import datetime
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tests.mutation.known import Known
from tests.mutation.trials import MAX_CASES, Result

__all__ = ["FILE", "counts", "report_text", "share"]

FILE = Path(__file__).parents[1] / "mutation.md"
ROOT = FILE.parents[1]

HEAD = """\
# Mutation of the kernels

Written by `python -m tests.mutation --write` on {date} at commit {commit}{scope}.
Each mutant is a kernel file with one small fault. It is tried on up to {max_cases} operator cases
that run its line, each as CI runs it: first in the check mode, then plain, forwards and in reverse;
a file that has tests of its own is then tried on these.

**{killed} of {relevant} mutants that could be noticed were noticed: {share}.** By the check mode
{check}, by a wrong value {value}, by other bits in another order of the threads or another replay
{order}, by another error {error}, by a crash {crash}, because they never ended {hang}, by tests
of a file {test}. Not counted: {stillborn} do not compile, {equivalent} compute the same.
"""

COLUMNS = ("check", "value", "order", "error", "crash", "hang", "test")


def counts(results: Iterable[Result]) -> Counter[str]:
    """How many results of each kind; of all together ``"killed"`` and ``"relevant"``."""
    number: Counter[str] = Counter()
    for result in results:
        if result.is_equivalent:
            kind = "equivalent"
        elif result.is_killed:
            kind = result.by
        else:
            kind = "stillborn" if result.by == "compiler" else "survived"
        number[kind] += 1
        number["mutants"] += 1
        number["killed"] += result.is_killed
    number["relevant"] = number["killed"] + number["survived"]
    return number


def share(number: Counter[str]) -> str:
    """The share of killed mutants among those that could be noticed."""
    if number["relevant"] == 0:
        return "-"
    return f"{100 * number['killed'] / number['relevant']:.1f} %"


def report_text(results: Sequence[Result], scope: str, unused: Sequence[str]) -> str:
    """Markdown.

    Args:
        results: of all mutants that were tried.
        scope: which these are, for the head.
        unused: kernel files that no operator uses.
    """
    number = counts(results)
    head = HEAD.format(
        date=datetime.datetime.now(datetime.UTC).date(),
        commit=_commit(),
        scope=scope,
        max_cases=MAX_CASES,
        share=share(number),
        **{name: number[name] for name in (*COLUMNS, "killed", "relevant")},
        stillborn=number["stillborn"],
        equivalent=number["equivalent"],
    )
    if unused:
        head += f"\nNot tried, for no case uses them: {', '.join(unused)}.\n"
    sections = [
        head,
        _table("By source", "source", results, lambda one: one.mutant.file),
        _table("By kind of fault", "fault", results, lambda one: one.mutant.family),
        _survivors([one for one in results if one.by == "nobody" and not one.is_equivalent]),
        _equivalents(results),
    ]
    return "\n".join(sections)


def _commit() -> str:
    command = ("git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12")
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _table(
    title: str, column: str, results: Sequence[Result], group: Callable[[Result], str]
) -> str:
    lines = [
        f"## {title}",
        "",
        f"| {column} | mutants | stillborn | equivalent | {' | '.join(COLUMNS)} | survived "
        "| killed of all that count |",
        f"|---|{'--:|' * (len(COLUMNS) + 5)}",
    ]
    for name in sorted({group(result) for result in results}):
        number = counts(result for result in results if group(result) == name)
        cells = ("mutants", "stillborn", "equivalent", *COLUMNS, "survived")
        shown = " | ".join(str(number[cell]) for cell in cells)
        lines.append(f"| {name} | {shown} | {share(number)} |")
    return "\n".join(lines) + "\n"


def _survivors(results: Sequence[Result]) -> str:
    lines = ["## Survivors", ""]
    for result in results:
        why = result.known.reason if result.known else "**not explained**"
        lines.append(f"- {_shown(result)}, tried on {result.num_cases}: {why}")
    return "\n".join([*lines, "" if results else "None.\n"])


def _equivalents(results: Sequence[Result]) -> str:
    same = sum(result.by == "same code" for result in results)
    by_reason: dict[Known, list[Result]] = {}
    for result in results:
        if result.by == "nobody" and result.is_equivalent and result.known is not None:
            by_reason.setdefault(result.known, []).append(result)
    lines = [
        "## Equivalent mutants",
        "",
        f"The compiler makes the same machine code of {same}, for every case tried. Of the others:",
        "",
    ]
    for known, found in by_reason.items():
        lines.append(f"- {known.reason}")
        lines += [f"  - {_shown(result)}" for result in found]
    return "\n".join(lines) + "\n"


def _shown(result: Result) -> str:
    mutant = result.mutant
    return f"{mutant.file}:{mutant.line} `{mutant.change}` in `{mutant.code}`"
