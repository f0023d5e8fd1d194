"""The table of what every kernel takes on every architecture: ``resources.json``.

``python -m tests.kernels.gate`` brings it up to date: it compiles what is new or changed, for all
architectures, and writes ``resources.json`` and its summary ``resources.md``. It needs no GPU.
``--all`` compiles everything anew.

A row stays valid as long as the digest of its source stays the same, and NVRTC's version.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from typing import Any

from tests.kernels.digests import digest, forget_files
from tests.kernels.resources import Compiled, Instance, Job, Usage, compile_job

__all__ = ["ARCHITECTURES", "Table", "compile_all", "nvrtc_version", "read_table"]

ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
COMMAND = "python -m tests.kernels.gate"
NUM_SHOWN = 6
TABLE = Path(__file__).parent / "resources.json"
SUMMARY = TABLE.with_suffix(".md")

Rows = dict[Instance, dict[str, Compiled]]
"""Instance -> architecture -> what it takes."""


@dataclass
class Table:
    """The table as it is in the repository.

    Attributes:
        nvrtc: version of the compiler that gave the numbers.
        digests: source -> its digest then.
        rows: the numbers.
    """

    nvrtc: str
    digests: dict[str, str] = field(default_factory=dict)
    rows: Rows = field(default_factory=dict)

    def is_current(self, instance: Instance) -> bool:
        """Whether the row for an instance is there, and of today's source."""
        return instance in self.rows and self.digests[instance.source] == digest(instance.source)


def nvrtc_version() -> str:
    """Of the library that CuPy finds, e.g. ``"12.9"``."""
    from cupy.cuda import nvrtc

    return ".".join(map(str, nvrtc.getVersion()))


def worker_pool() -> ProcessPoolExecutor:
    """Processes that compile: NVRTC holds a lock of its own against threads."""
    return ProcessPoolExecutor(
        len(os.sched_getaffinity(0)), mp_context=multiprocessing.get_context("spawn")
    )


def compile_all(
    pool: ProcessPoolExecutor, jobs: Sequence[Job]
) -> Iterator[tuple[Job, Compiled | str]]:
    """Each job with what came of it; a text is the compiler's complaint."""
    return zip(jobs, pool.map(compile_job, jobs, chunksize=4), strict=True)


def read_table() -> Table:
    """The committed table."""
    data = json.loads(TABLE.read_text(encoding="utf-8"))
    table = Table(data["nvrtc"])
    for source, entry in data["sources"].items():
        table.digests[source] = entry["digest"]
        for row in entry["instances"]:
            names = row.get("macros", entry["macros"])
            instance = Instance(source, tuple(zip(names, row["values"], strict=True)))
            table.rows[instance] = {
                architecture: _compiled(row, position)
                for position, architecture in enumerate(data["architectures"])
            }
    return table


def _compiled(row: Mapping[str, Any], position: int) -> Compiled:
    kernels = {name: Usage(*numbers[position]) for name, numbers in row["kernels"].items()}
    return Compiled(row["cubin_bytes"][position], kernels)


def table_text(table: Table) -> str:
    """JSON with a line for every instance, so that a change shows as the lines that it changed."""
    head = {
        "nvrtc": table.nvrtc,
        "architectures": ARCHITECTURES,
        "kernel_fields": [part.name for part in fields(Usage)],
    }
    sources = []
    for source, instances in sorted(_by_source(table.rows).items()):
        names = [name for name, _ in min(instances).macros]
        rows = ",\n".join(json.dumps(_row(i, table.rows[i], names)) for i in sorted(instances))
        sources.append(
            f'{json.dumps(source)}: {{"digest": "{table.digests[source]}", '
            f'"macros": {json.dumps(names)}, "instances": [\n{rows}]}}'
        )
    body = ",\n".join(sources)
    return f'{json.dumps(head)[:-1]}, "sources": {{\n{body}}}}}\n'


def _row(
    instance: Instance, compiled: Mapping[str, Compiled], names: Sequence[str]
) -> dict[str, Any]:
    """An instance; with the names of its macros, if they are others than those of its source."""
    each = [compiled[architecture] for architecture in ARCHITECTURES]
    own = [name for name, _ in instance.macros]
    return {
        **({} if own == names else {"macros": own}),
        "values": [value for _, value in instance.macros],
        "cubin_bytes": [one.cubin_bytes for one in each],
        "kernels": {name: [astuple(one.kernels[name]) for one in each] for name in each[0].kernels},
    }


def summary_text(table: Table) -> str:
    """Markdown: a line for every kernel, ranges over its instances and all architectures."""
    lines = [
        "# What the kernels take",
        "",
        f"Written by `{COMMAND}` with NVRTC {table.nvrtc} for {', '.join(ARCHITECTURES)}.",
        "Smallest to largest over all instances and architectures. Registers, spills and local",
        "memory are per thread, shared memory (static) per block; a cubin holds all kernels of its",
        "source. Spills: bytes stored and loaded because registers ran out. Local memory: these,",
        "and arrays indexed at run time. Every instance by itself: `resources.json`.",
        "",
        "| source | kernel | instances | registers | spills | local | shared | cubin KiB |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for source, instances in sorted(_by_source(table.rows).items()):
        compiled = [one for instance in instances for one in table.rows[instance].values()]
        kibibytes = _range(round(one.cubin_bytes / 1024) for one in compiled)
        for name in sorted({name for one in compiled for name in one.kernels}):
            usages = [one.kernels[name] for one in compiled if name in one.kernels]
            numbers = [
                _range(usage.registers for usage in usages),
                _range(usage.spill_bytes for usage in usages),
                _range(usage.local_bytes for usage in usages),
                _range(usage.shared_bytes for usage in usages),
            ]
            cells = [source, name, str(len(instances)), *numbers, kibibytes]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _range(numbers: Iterable[int]) -> str:
    found = sorted(set(numbers))
    return str(found[0]) if len(found) == 1 else f"{found[0]}-{found[-1]}"


def _by_source(instances: Iterable[Instance]) -> dict[str, list[Instance]]:
    found: dict[str, list[Instance]] = {}
    for instance in instances:
        found.setdefault(instance.source, []).append(instance)
    return found


def updated(wanted: Iterable[Instance], old: Table) -> tuple[Table, list[str]]:
    """A table of exactly ``wanted``, and the compiler's complaints. Valid rows are kept."""
    wanted = sorted(wanted)
    table = Table(nvrtc_version(), {one.source: digest(one.source) for one in wanted})
    keep = old.nvrtc == table.nvrtc
    table.rows = {one: old.rows[one] for one in wanted if keep and old.is_current(one)}
    missing = [one for one in wanted if one not in table.rows]
    problems = []
    with worker_pool() as pool:
        jobs = [(one, architecture) for one in missing for architecture in ARCHITECTURES]
        for done, ((one, architecture), result) in enumerate(compile_all(pool, jobs)):
            if done % 100 == 0:
                print(f"{done} of {len(jobs)} compiled", file=sys.stderr)
            if isinstance(result, str):
                problems.append(result)
            else:
                table.rows.setdefault(one, {})[architecture] = result
    forget_files()
    changed = [source for source, before in table.digests.items() if digest(source) != before]
    problems += [f"{source} changed while it was compiled; run again" for source in changed]
    return table, problems


def main() -> int:
    """Update the table. Returns the exit status."""
    from tests.kernels.instances import common_uses, model_uses
    from tests.models.references import CASES as MODELS

    parser = argparse.ArgumentParser(description="Bring the table of kernel resources up to date.")
    parser.add_argument("--all", action="store_true", help="compile what did not change as well")
    options = parser.parse_args()
    uses = common_uses().union(*map(model_uses, MODELS))
    old = Table("") if options.all or not TABLE.exists() else read_table()
    table, problems = updated({use.instance for use in uses}, old)
    if problems:
        shown = "\n".join(problems[:NUM_SHOWN])
        print(f"{shown}\n{len(problems)} problems. Nothing was written.", file=sys.stderr)
        return 1
    TABLE.write_text(table_text(table), encoding="utf-8")
    SUMMARY.write_text(summary_text(table), encoding="utf-8")
    print(f"{len(table.rows)} instances for {len(ARCHITECTURES)} architectures in {TABLE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
