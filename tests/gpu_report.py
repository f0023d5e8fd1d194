"""Evidence that today's kernels ran on a GPU: ``tests/gpu_report.json``.

``python tests/gpu_report.py --run --commit SHA`` runs the whole suite with GPU tests required,
measures latencies, and writes what it saw together with a hash of every source that decides what
runs on the GPU. ``--check`` says which of those sources have changed since, and exits with 1 if
any has; it also lists wrappers whose GPU side no run has compared with the CPU's. Runs with
different CuPy packages (CUDA 12, CUDA 13) stand side by side in the file.

``--sanitize TOOL --commit SHA`` runs kernels and models under one tool of compute-sanitizer and
adds what it found to the entry of the installed CuPy package.

Needs no installation of the package and no network. What stands after ``--`` goes to pytest.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "tests" / "gpu_report.json"
NUM_SLOWEST = 10
TWO_CUPYS = "ignore::UserWarning:cupy._environment"
"""CuPy warns where packages for both CUDA releases are installed; a path chooses between them."""
SOURCES = (
    "**/*.cu",
    "**/*.cuh",
    "**/*.h",
    "**/*.cpp",
    "executors/**/*.py",
    "kernels/**/*.py",
    "ops/**/*.py",
    "passes/**/*.py",
    "arena.py",
    "plan.py",
)

SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")

Report = dict[str, Any]


def source_hashes(root: Path = ROOT) -> dict[str, str]:
    """Path -> sha256 of every source that decides what runs on a GPU. Test cases do not."""
    package = root / "cugraphmodel"
    found = {path for pattern in SOURCES for path in package.glob(pattern)}
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(found)
        if path.name != "case.py" and not path.name.endswith("_cases.py")
    }


def changed_sources(entry: Report, now: dict[str, str]) -> list[str]:
    """One line for each source that differs from what an entry of the report saw."""
    then: dict[str, str] = entry["sources"]
    lines = [f"changed  {path}" for path in then if path in now and now[path] != then[path]]
    lines += [f"removed  {path}" for path in then if path not in now]
    lines += [f"new      {path}" for path in now if path not in then]
    return sorted(lines)


def sources_digest(sources: Mapping[str, str]) -> str:
    """One hash of all sources, as :func:`source_hashes` gives them."""
    return hashlib.sha256(json.dumps(sources, sort_keys=True).encode()).hexdigest()[:16]


def check(reports: dict[str, Report], now: dict[str, str]) -> int:
    """Print the state of every entry; 0 if at least one is there and all are up to date."""
    stale = not reports
    if stale:
        print(f"{REPORT.name}: no run on a GPU is recorded.")
    for package, entry in reports.items():
        lines = changed_sources(entry, now)
        tests = entry["tests"]
        print(
            f"{package}: {entry['date']}, commit {entry['commit']}, {entry['machine']['gpu']}: "
            f"{tests['passed']} passed, {tests['failed']} failed, {tests['skipped']} skipped"
        )
        print("\n".join(f"  {line}" for line in lines) or "  all sources are as they were run")
        stale = stale or bool(lines) or tests["failed"] > 0
        for tool, run in entry.get("sanitizers", {}).items():
            same = run["sources_digest"] == sources_digest(now)
            print(f"  {sanitizer_line(tool, run)}{'' if same else ', of other sources'}")
            stale = stale or not is_clean(run)
    return int(stale)


def sanitizer_line(tool: str, run: Report) -> str:
    """What a tool of compute-sanitizer found, in one line."""
    models = ", ".join(run["models"]) or "no models"
    left = f" ({run['cases_left']} left out for lack of time)" if run["cases_left"] else ""
    return (
        f"{tool} {run['tool_version']}, commit {run['commit']}: {run['errors']} errors, "
        f"{run['warnings']} warnings, {len(run['failures'])} wrong results in {run['cases']} "
        f"operator cases{left} and {models}, {run['seconds']} s"
    )


def is_clean(run: Report) -> bool:
    """Whether a tool ran to its end and found nothing."""
    return run["errors"] == 0 and not run["failures"]


def run_suite(extra: Sequence[str]) -> tuple[Report, list[str]]:
    """Run pytest with GPU tests required.

    Returns:
        Counts, failures and the slowest tests; names of the twins that were confirmed.
    """
    with tempfile.TemporaryDirectory() as folder:
        xml, twins_file = Path(folder) / "results.xml", Path(folder) / "twins.json"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={xml}"]
        command += [f"--twins-file={twins_file}"]
        command += ["-W", TWO_CUPYS, *extra]
        environment = {**os.environ, "CUGRAPHMODEL_REQUIRE_GPU": "1"}
        code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        if not xml.is_file():
            sys.exit(f"pytest ended with {code} and left no results.")
        suite = ElementTree.parse(xml).getroot()  # noqa: S314  pytest wrote it just now
        twins = json.loads(twins_file.read_text(encoding="utf-8"))
    tests = {"pytest_arguments": list(extra), "exit_code": code, **summarise(suite)}
    return tests, twins


def summarise(suite: ElementTree.Element) -> Report:
    """Counts and times from pytest's JUnit file."""
    outcomes: dict[str, list[str]] = {"failed": [], "skipped": [], "passed": []}
    seconds: dict[str, float] = {}
    for case in suite.iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        seconds[name] = seconds.get(name, 0.0) + float(case.get("time", "0"))
        failed = case.find("failure") is not None or case.find("error") is not None
        skipped = case.find("skipped") is not None
        outcomes["failed" if failed else "skipped" if skipped else "passed"].append(name)
    slowest = sorted(seconds, key=lambda name: -seconds[name])[:NUM_SLOWEST]
    return {
        **{outcome: len(names) for outcome, names in outcomes.items()},
        "failures": outcomes["failed"],
        "skips": outcomes["skipped"],
        "seconds": round(sum(seconds.values()), 1),
        "slowest_seconds": {name: round(seconds[name], 2) for name in slowest},
    }


def compile_kernels() -> None:
    """Fill the kernel cache with all processors, so that the tests find most kernels there."""
    from cugraphmodel.executors import open_device
    from tests.kernels.instances import common_uses

    device: Any = open_device("cuda")
    compile_one = functools.partial(_compile, device.architecture)
    instances = sorted({use.instance for use in common_uses()})
    # NVRTC compiles one kernel at a time per process; a forked one could not use the driver.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(compile_one, instances, chunksize=8))


def _compile(architecture: str, instance: Any) -> None:
    from cugraphmodel.executors.cuda.compiler import cubin_file

    cubin_file(instance.source, instance.macros, architecture)


def run(commit: str, model_files: Sequence[str], extra: Sequence[str]) -> int:
    """Run everything and put the entry of this CuPy package into the report."""
    from tests.gpu_latency import latencies
    from tests.gpu_machine import cupy_package, machine
    from tests.kernels.twins import find_twins

    require_gpu()
    sources, twins = source_hashes(), find_twins(ROOT)
    compile_kernels()
    tests, confirmed = run_suite(extra)
    reports, package = read_reports(), cupy_package()
    entry = {
        "date": today(),
        "commit": commit,
        "machine": machine(),
        "tests": tests,
        "latency": latencies(model_files),
        "sources": sources,
        "twins": {name: twins[name].digest for name in confirmed if name in twins},
        "sanitizers": reports.get(package, {}).get("sanitizers", {}),
    }
    write_reports({**reports, package: entry})
    print(json.dumps(entry["latency"], indent=1))
    return int(tests["exit_code"] != 0)


def sanitize(tool: str, commit: str, model_files: Sequence[str], seconds: int) -> int:
    """Run one tool of compute-sanitizer and add it to the entry of this CuPy package."""
    from tests.gpu_machine import cupy_package
    from tests.sanitizer_tool import run_tool

    reports, package = read_reports(), cupy_package()
    if package not in reports:
        sys.exit(f"{REPORT.name} has no entry for {package} to add to: do --run first.")
    require_gpu()
    digest = sources_digest(source_hashes())
    compile_kernels()
    found = run_tool(tool, ["--seconds", str(seconds), *model_arguments(model_files)])
    found |= {"date": today(), "commit": commit, "sources_digest": digest}
    reports[package].setdefault("sanitizers", {})[tool] = found
    write_reports(reports)
    print(sanitizer_line(tool, found))
    return int(not is_clean(found))


def model_arguments(model_files: Sequence[str]) -> list[str]:
    """The files as options of ``tests/sanitize.py``."""
    return [part for file in model_files for part in ("--model", file)]


def require_gpu() -> None:
    """Leave with a message where there is no GPU."""
    from cugraphmodel.executors.cuda import cuda_available

    if not cuda_available():
        sys.exit("There is no GPU here: nothing to report.")


def today() -> str:
    """Date in UTC, as in ISO 8601."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def write_reports(reports: dict[str, Report]) -> None:
    """Write the whole file."""
    REPORT.write_text(json.dumps(reports, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def read_reports() -> dict[str, Report]:
    """The file's entries by CuPy package; empty without a file."""
    if not REPORT.is_file():
        return {}
    reports: dict[str, Report] = json.loads(REPORT.read_text(encoding="utf-8"))
    return reports


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; see the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--run", action="store_true", help="run on this machine's GPU and write")
    action.add_argument("--check", action="store_true", help="list sources changed since")
    action.add_argument(
        "--sanitize", choices=SANITIZERS, help="run this tool of compute-sanitizer and write"
    )
    parser.add_argument("--commit", help="commit of the tree that is run, for all but --check")
    parser.add_argument(
        "--model", action="append", default=[], help="ONNX file to run as well; may be repeated"
    )
    parser.add_argument(
        "--seconds", type=int, default=480, help="start no operator case later, for --sanitize"
    )
    parser.add_argument("pytest", nargs="*", help="after --: arguments for pytest")
    options = parser.parse_args(arguments)
    if options.check:
        from tests.kernels.twins import find_twins, unconfirmed

        stale = check(read_reports(), source_hashes())
        print("\n".join(unconfirmed(find_twins(ROOT), read_reports())))  # for information
        return stale
    if not options.commit:
        parser.error("--run and --sanitize need --commit")
    if options.sanitize:
        return sanitize(options.sanitize, options.commit, options.model, options.seconds)
    return run(options.commit, options.model, options.pytest)


if __name__ == "__main__":
    # The folder of this script would otherwise hide the package "tests".
    sys.path[0] = str(ROOT)
    sys.exit(main())
