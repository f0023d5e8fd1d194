"""Exit codes, messages, and what the command leaves unimported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from cugraphmodel import __version__
from cugraphmodel.cli import inspection
from tests.cli.conftest import Command


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(option: str) -> None:
    script = (
        "import sys\n"
        "from cugraphmodel.cli import main\n"
        "try:\n"
        f"    main([{option!r}])\n"
        "except SystemExit as end:\n"
        "    heavy = {'numpy', 'onnx', 'cupy', 'tqdm', 'ctypes'} & set(sys.modules)\n"
        "    raise SystemExit(end.code or sorted(heavy) or 0)\n"
    )
    answer = python("-c", script)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout


def test_version(command: Command) -> None:
    answer = command("--version")
    assert (answer.code, answer.out) == (0, f"cugraphmodel {__version__}\n")


def test_module_runs_as_the_command() -> None:
    answer = python("-m", "cugraphmodel", "--version")
    assert (answer.returncode, answer.stdout) == (0, f"cugraphmodel {__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "COMMAND"),
        (["fly"], "'fly'"),
        (["run"], "model"),
        (["run", "m.onnx", "--batch", "many"], "'many' is not a whole number"),
        (["run", "m.onnx", "--batch", "-1"], "--batch"),
        (["run", "m.onnx", "--random", "-1"], "--random"),
        (["run", "m.onnx", "--dim", "seq"], "'seq' is not NAME=SIZE"),
        (["run", "m.onnx", "--dim", "=3"], "'=3' is not NAME=SIZE"),
        (["run", "m.onnx", "--shape", "x"], "'x' is not INPUT=SIZE,SIZE,..."),
        (["run", "m.onnx", "--shape", "x=1,b"], "'b' is not a whole number"),
        (["inspect", "m.onnx", "--colour"], "--colour"),
        (["bench", "m.onnx", "--seconds", "0"], "'0' is not a number above 0"),
        (["bench", "m.onnx", "--seconds", "nan"], "'nan' is not a number above 0"),
        (["bench", "m.onnx", "--rounds", "0"], "0 is too few"),
        (["profile", "m.onnx", "--bandwidth", "fast"], "'fast' is not a number above 0"),
        (["profile", "m.onnx", "--sort", "name"], "'name'"),
    ],
)
def test_wrong_usage_exits_with_2(command: Command, arguments: list[str], complaint: str) -> None:
    answer = command(*arguments)
    assert answer.code == 2
    assert complaint in answer.err
    assert answer.out == ""


@pytest.mark.parametrize("name", ["run", "inspect", "bench", "profile"])
def test_missing_model_is_one_line(command: Command, tmp_path: Path, name: str) -> None:
    path = tmp_path / "absent.onnx"
    answer = command(name, path, *(["--device", "cpu"] if name != "inspect" else []))
    assert answer.code == 1
    assert answer.err.startswith("cugraphmodel: error: ")
    assert str(path) in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""


def test_file_that_is_no_model(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "noise.onnx"
    path.write_bytes(b"\xff" * 100)
    answer = command("inspect", path)
    assert answer.code == 1
    assert "noise.onnx" in answer.err
    assert "Traceback" not in answer.err


def test_unknown_device(command: Command, weighted_sum: Path) -> None:
    answer = command("run", weighted_sum, "--random", 0, "--device", "tpu")
    assert answer.code == 1
    assert answer.err.startswith("cugraphmodel: error: device='tpu'")


def test_interrupt_exits_with_130(
    command: Command, weighted_sum: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(inspection, "execute", interrupt)
    answer = command("inspect", weighted_sum)
    assert (answer.code, answer.out, answer.err) == (130, "", "")


def test_reader_that_leaves_early_is_no_error(weighted_sum: Path) -> None:
    """As in ``cugraphmodel inspect model.onnx | head -0``."""
    process = subprocess.Popen(
        [sys.executable, "-m", "cugraphmodel", "inspect", str(weighted_sum)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("arguments", [["run", "--random", "0", "--device", "cpu"], ["inspect"]])
def test_names_from_a_file_cannot_move_the_cursor(
    arguments: list[str], weighted_sum: Path, tmp_path: Path
) -> None:
    model = onnx.load(weighted_sum)
    model.graph.input[0].name = model.graph.node[1].input[0] = "\x1b[31m\r\n\u00e9"
    path = tmp_path / "strange.onnx"
    onnx.save(model, path)
    answer = subprocess.run(
        [sys.executable, "-m", "cugraphmodel", *arguments, str(path)],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert rb"\x1b[31m\r\n\xe9" in answer.stdout


def test_a_closed_stdout_is_an_error(weighted_sum: Path) -> None:
    answer = subprocess.run(
        ["/bin/sh", "-c", f'"{sys.executable}" -m cugraphmodel inspect "$0" >&-', weighted_sum],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (answer.returncode, answer.stderr) == (1, "cugraphmodel: error: stdout is closed\n")
