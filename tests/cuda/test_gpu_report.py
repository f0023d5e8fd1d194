"""The report of GPU runs says which sources changed since, and reads pytest's results right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from cugraphmodel import demo
from tests import gpu_machine, gpu_report, sanitize, sanitizer_tool
from tests.ops.test_cases import CASES

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


MEMCHECK = """========= COMPUTE-SANITIZER
12 cases, 0 failures
========= Invalid __global__ write of size 4 bytes
=========     at relu+0x1b0
=========     by thread (0,0,0) in block (2,0,0)
=========     Address 0x7f6a2d000400 is out of bounds
=========
========= ERROR SUMMARY: 1 error
"""
MANY = """========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
========= ERROR SUMMARY: 28 errors were not printed. Use --print-limit option to adjust the number
========= ERROR SUMMARY: 128 errors
"""
RACECHECK = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at softmax+0x2c0
=========     and Read access at softmax+0x340 [64 hazards]
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""
NO_ERROR = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
NO_RACE = """========= COMPUTE-SANITIZER
========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)
"""


@pytest.mark.parametrize(
    ("tool", "output", "found"),
    [
        ("memcheck", MEMCHECK, (1, 0)),
        ("memcheck", NO_ERROR, (0, 0)),
        ("synccheck", NO_ERROR, (0, 0)),
        ("initcheck", MANY, (128, 0)),
        ("memcheck", MEMCHECK + NO_ERROR + MANY, (129, 0)),
        ("racecheck", RACECHECK, (1, 1)),
        ("racecheck", NO_RACE, (0, 0)),
    ],
)
def test_the_summary_of_a_sanitizer_is_read(tool: str, output: str, found: tuple[int, int]) -> None:
    assert sanitizer_tool.read_summary(tool, output) == found


@pytest.mark.parametrize(("tool", "output"), [("memcheck", NO_RACE), ("racecheck", NO_ERROR)])
def test_no_summary_is_no_result(tool: str, output: str) -> None:
    with pytest.raises(ValueError, match=f"{tool} printed no summary"):
        sanitizer_tool.read_summary(tool, output)


FAKE = """#!{python}
import json, pathlib, sys
if "--version" in sys.argv:
    print("NVIDIA (R) Compute Sanitizer\\nVersion 2025.3.1.0 (build 1)")
    sys.exit()
pathlib.Path({seen!r}).write_text(json.dumps(sys.argv[1:]))
if {result!r}:
    pathlib.Path(sys.argv[sys.argv.index("--out") + 1]).write_text({result!r})
print({output!r})
"""


class Sanitizer:
    """An executable on ``PATH`` that prints what the real one printed once."""

    def __init__(self, folder: Path) -> None:
        self._seen = folder / "seen.json"
        self._path = folder / "compute-sanitizer"

    def prints(self, output: str, *failures: str, ends_early: bool = False) -> None:
        ran = {"cases": 7, "cases_left": 0, "models": ["mlp"], "failures": list(failures)}
        result = "" if ends_early else json.dumps(ran)
        text = FAKE.format(
            python=sys.executable, seen=str(self._seen), result=result, output=output
        )
        self._path.write_text(text, encoding="utf-8")
        self._path.chmod(0o700)

    def arguments(self) -> list[str]:
        arguments: list[str] = json.loads(self._seen.read_text(encoding="utf-8"))
        return arguments


@pytest.fixture
def sanitizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sanitizer:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(gpu_report, "REPORT", tmp_path / "report.json")
    monkeypatch.setattr(gpu_report, "require_gpu", lambda: None)
    monkeypatch.setattr(gpu_report, "compile_kernels", lambda: None)
    monkeypatch.setattr(gpu_machine, "cupy_package", lambda: "cupy-cuda12x")
    gpu_report.write_reports({"cupy-cuda12x": entry(gpu_report.source_hashes())})
    return Sanitizer(tmp_path)


COMMAND = ["--sanitize", "memcheck", "--commit", "abc", "--model", "mlp.onnx"]


def test_a_clean_run_of_a_sanitizer_is_recorded(
    sanitizer: Sanitizer, capsys: pytest.CaptureFixture[str]
) -> None:
    sanitizer.prints(NO_ERROR)
    assert gpu_report.main(COMMAND) == 0
    arguments = sanitizer.arguments()
    assert arguments[:2] == ["--tool", "memcheck"]
    assert arguments[-4:] == ["--seconds", "480", "--model", "mlp.onnx"]
    found = gpu_report.read_reports()["cupy-cuda12x"]["sanitizers"]["memcheck"]
    assert (found["errors"], found["warnings"], found["cases"]) == (0, 0, 7)
    assert found["tool_version"] == "2025.3.1.0"
    assert found["findings"] == []
    assert gpu_report.main(["--check"]) == 0
    line = "memcheck 2025.3.1.0, commit abc: 0 errors, 0 warnings, 0 wrong results in 7 operator"
    assert line in capsys.readouterr().out


@pytest.mark.parametrize(
    ("output", "failures", "findings"),
    [(MEMCHECK, (), 4), (NO_ERROR, ("Relu-basic-17: AssertionError: not equal",), 0)],
)
def test_what_a_sanitizer_found_is_a_failure(
    output: str, failures: tuple[str, ...], findings: int, sanitizer: Sanitizer
) -> None:
    sanitizer.prints(output, *failures)
    assert gpu_report.main(COMMAND) == 1
    found = gpu_report.read_reports()["cupy-cuda12x"]["sanitizers"]["memcheck"]
    assert found["failures"] == list(failures)
    assert len(found["findings"]) == findings
    assert gpu_report.main(["--check"]) == 1


def test_a_sanitizer_that_did_not_run_to_its_end_is_not_recorded(sanitizer: Sanitizer) -> None:
    for output, ends_early in ((NO_ERROR, True), ("Segmentation fault", False)):
        sanitizer.prints(output, ends_early=ends_early)
        with pytest.raises(SystemExit):
            gpu_report.main(COMMAND)
    gpu_report.write_reports({})
    with pytest.raises(SystemExit, match="do --run first"):
        gpu_report.main(COMMAND)


def test_sanitized_cases_launch_every_kernel_once() -> None:
    cases = [case for case in CASES if case.op_type in ("Relu", "Softmax")]
    chosen = list(sanitize.one_case_each(cases))
    assert 2 <= len(chosen) < len(cases)
    assert list(sanitize.one_case_each(chosen)) == chosen


def test_sanitized_cases_and_models_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [case for case in CASES if case.op_type == "Relu"][:2]
    model = str(Path(demo.__file__).parent / "digits.onnx")
    result = sanitize.run_all(cases, [model], "cpu", seconds=60)
    assert result == {"cases": 2, "cases_left": 0, "models": ["digits"], "failures": []}
    monkeypatch.setattr(
        sanitize, "run_case", lambda *_: np.testing.assert_array_equal([1.0], [2.0])
    )
    result = sanitize.run_all(cases, ["/no/such.onnx"], "cpu", seconds=60)
    assert [text.split(":")[0] for text in result["failures"]] == ["such", *map(str, cases)]
    assert sanitize.run_all(cases, [], "cpu", seconds=-1)["cases_left"] == 2
