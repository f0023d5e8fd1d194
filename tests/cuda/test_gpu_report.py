"""The report of GPU runs says which sources changed since, and reads pytest's results right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests import gpu_report

RESULTS = """<testsuites><testsuite>
<testcase classname="tests.a" name="one" time="1.5"/>
<testcase classname="tests.a" name="two" time="0.25"><failure message="no"/></testcase>
<testcase classname="tests.b" name="three" time="3"><skipped message="slow"/></testcase>
<testcase classname="tests.b" name="four" time="0"><error message="setup"/></testcase>
</testsuite></testsuites>"""


def entry(sources: dict[str, str], failed: int = 0) -> gpu_report.Report:
    return {
        "date": "2026-01-01",
        "commit": "abc",
        "machine": {"gpu": "a GPU"},
        "tests": {"passed": 7, "failed": failed, "skipped": 0},
        "sources": sources,
    }


def test_every_kernel_is_among_the_sources() -> None:
    hashes = gpu_report.source_hashes()
    package = gpu_report.ROOT / "cugraphmodel"
    kernels = {
        str(path.relative_to(gpu_report.ROOT))
        for pattern in ("*.cu", "*.cuh", "*.cpp", "*.h")
        for path in package.rglob(pattern)
    }
    assert kernels
    assert kernels <= set(hashes)
    assert "cugraphmodel/executors/cuda/work.py" in hashes
    assert not [path for path in hashes if "case" in Path(path).name]


def test_a_changed_source_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "cugraphmodel" / "ops" / "relu"
    folder.mkdir(parents=True)
    for name in ("relu.cu", "relu.py", "relu_cases.py", "gone.cu"):
        (folder / name).write_text(name, encoding="utf-8")
    then = gpu_report.source_hashes(tmp_path)
    (folder / "relu.cu").write_text("other", encoding="utf-8")
    (folder / "relu_cases.py").write_text("other", encoding="utf-8")
    (folder / "gone.cu").unlink()
    (folder / "fresh.cuh").write_text("fresh", encoding="utf-8")
    assert gpu_report.changed_sources(entry(then), gpu_report.source_hashes(tmp_path)) == [
        "changed  cugraphmodel/ops/relu/relu.cu",
        "new      cugraphmodel/ops/relu/fresh.cuh",
        "removed  cugraphmodel/ops/relu/gone.cu",
    ]


def test_check_wants_a_run_without_failures_on_these_sources(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sources = {"a.cu": "1"}
    assert gpu_report.check({"cupy-cuda12x": entry(sources)}, sources) == 0
    assert "7 passed, 0 failed" in capsys.readouterr().out
    assert gpu_report.check({}, sources) == 1
    assert gpu_report.check({"cupy-cuda12x": entry(sources, failed=1)}, sources) == 1
    both = {"cupy-cuda12x": entry(sources), "cupy-cuda13x": entry({"a.cu": "0"})}
    assert gpu_report.check(both, sources) == 1
    assert "changed  a.cu" in capsys.readouterr().out


def test_results_are_counted_and_the_slowest_named() -> None:
    found = gpu_report.summarise(ElementTree.fromstring(RESULTS))  # noqa: S314  see above
    assert (found["passed"], found["failed"], found["skipped"]) == (1, 2, 1)
    assert found["failures"] == ["tests.a::two", "tests.b::four"]
    assert found["skips"] == ["tests.b::three"]
    assert next(iter(found["slowest_seconds"].items())) == ("tests.b::three", 3.0)


def test_the_command_works_from_the_tree() -> None:
    script = gpu_report.ROOT / "tests" / "gpu_report.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    assert ("no run on a GPU" in done.stdout) == (not gpu_report.REPORT.is_file())
