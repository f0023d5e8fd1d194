"""Evidence that today's kernels ran on a GPU: ``tests/gpu_report.json``.

``python tests/gpu_report.py --run --commit SHA`` runs the whole suite with GPU tests required,
measures latencies, and writes what it saw together with a hash of every source that decides what
runs on the GPU. ``--check`` says which of those sources have changed since, and exits with 1 if
any has. Runs with different CuPy packages (CUDA 12, CUDA 13) stand side by side in the file.

Needs no installation of the package and no network. What stands after ``--`` goes to pytest.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import hashlib
import importlib.metadata
import json
import multiprocessing
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "tests" / "gpu_report.json"
NUM_SLOWEST = 10
MAX_REPEATS, MAX_SECONDS = 2000, 3.0
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
    return int(stale)


def run_suite(extra: Sequence[str]) -> Report:
    """Run pytest with GPU tests required; counts, failures and the slowest tests."""
    with tempfile.TemporaryDirectory() as folder:
        xml = Path(folder) / "results.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={xml}"]
        command += ["-W", TWO_CUPYS, *extra]
        environment = {**os.environ, "CUGRAPHMODEL_REQUIRE_GPU": "1"}
        code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        if not xml.is_file():
            sys.exit(f"pytest ended with {code} and left no results.")
        suite = ElementTree.parse(xml).getroot()  # noqa: S314  pytest wrote it just now
    return {"pytest_arguments": list(extra), "exit_code": code, **summarise(suite)}


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


def median_us(work: Callable[[], object]) -> float:
    """Median wall-clock microseconds of a call, over many."""
    for _ in range(5):
        work()
    times: list[float] = []
    end = time.perf_counter() + MAX_SECONDS
    while len(times) < MAX_REPEATS and time.perf_counter() < end:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return round(statistics.median(times) * 1e6, 1)


def latency(model: Any, batch_size: int | None) -> Report:
    """Microseconds of one model: captured, in place, kernels alone, and eager."""
    import numpy as np

    rng = np.random.default_rng(0)
    with model.capture_graph(batch_size) as graph:
        inputs = [
            rng.standard_normal(shape).astype(dtype)
            for shape, dtype in zip(graph.input_shapes, graph.input_dtypes, strict=True)
        ]
        graph.run(inputs)
        found = {
            "kernels": graph.num_kernels,
            "run_us": median_us(lambda: graph.run(inputs)),
            "run_inplace_us": median_us(graph.run_inplace),
            "gpu_us": round(
                statistics.median(graph.run_timed_inplace() for _ in range(200)) * 1e3, 1
            ),
        }
    found["eager_us"] = median_us(lambda: model.forward(inputs))
    found["eager_over_run"] = round(found["eager_us"] / found["run_us"], 2)
    return found


def latencies(model_files: Sequence[str]) -> dict[str, Report]:
    """The table: a small MLP, then the files asked for."""
    import cugraphmodel
    from tests.api.builders import build, normal

    mlp = build(
        "(float[N,784] x) => (float[N,10] y)",
        "a = Gemm(x, w1, b1) b = Relu(a) c = Gemm(b, w2, b2) d = Relu(c) y = Gemm(d, w3, b3)",
        w1=normal(1, 784, 512),
        b1=normal(2, 512),
        w2=normal(3, 512, 512),
        b2=normal(4, 512),
        w3=normal(5, 512, 10),
        b3=normal(6, 10),
    )
    model = cugraphmodel.load(mlp, device="cuda")
    table = {f"mlp 784-512-512-10, batch {n}": latency(model, n) for n in (1, 64)}
    for file in model_files:
        table[Path(file).stem] = latency(cugraphmodel.load(file, device="cuda"), None)
    return table


def machine() -> Report:
    """GPU, driver, and the versions of everything between it and Python."""
    import cupy

    from cugraphmodel.executors import open_device

    smi = shutil.which("nvidia-smi")
    query = ["--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"]
    driver = "unknown"
    if smi is not None:
        done = subprocess.run([smi, *query], capture_output=True, text=True, check=False)
        driver = done.stdout.strip() or driver
    return {
        "gpu": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "driver": driver,
        "device": open_device("cuda").description,
        "python": platform.python_version(),
        "packages": {
            name: importlib.metadata.version(name) for name in ("numpy", "onnx", "pytest")
        },
    }


def cupy_package() -> str:
    """Name of the installed package that the imported CuPy belongs to."""
    import cupy

    home = Path(cupy.__file__).resolve()
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"] or ""
        place = Path(str(distribution.locate_file("cupy/__init__.py")))
        if name.startswith("cupy") and place.resolve() == home:
            return name
    return "cupy"


def run(commit: str, model_files: Sequence[str], extra: Sequence[str]) -> int:
    """Run everything and put the entry of this CuPy package into the report."""
    from cugraphmodel.executors.cuda import cuda_available

    if not cuda_available():
        sys.exit("There is no GPU here: nothing to report.")
    sources = source_hashes()
    compile_kernels()
    tests = run_suite(extra)
    entry = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit,
        "machine": machine(),
        "tests": tests,
        "latency": latencies(model_files),
        "sources": sources,
    }
    reports = {**read_reports(), cupy_package(): entry}
    REPORT.write_text(json.dumps(reports, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(json.dumps(entry["latency"], indent=1))
    return int(tests["exit_code"] != 0)


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
    parser.add_argument("--commit", help="commit of the tree that is run, for --run")
    parser.add_argument(
        "--model", action="append", default=[], help="ONNX file to time as well; may be repeated"
    )
    parser.add_argument("pytest", nargs="*", help="after --: arguments for pytest")
    options = parser.parse_args(arguments)
    if options.check:
        return check(read_reports(), source_hashes())
    if not options.commit:
        parser.error("--run needs --commit")
    return run(options.commit, options.model, options.pytest)


if __name__ == "__main__":
    # The folder of this script would otherwise hide the package "tests".
    sys.path[0] = str(ROOT)
    sys.exit(main())
