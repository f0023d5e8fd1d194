"""``cugraphmodel bench``: this library beside others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import cugraphmodel
from cugraphmodel import demo
from cugraphmodel.bench import answers
from cugraphmodel.cli import bench
from cugraphmodel.executors import open_device
from tests.bench import contenders
from tests.cli.conftest import Command

DIGITS = Path(demo.__file__).parent / "digits.onnx"
BRIEF = ("--seconds", "0.05", "--rounds", "2")
CONV = """
    g (float[batch, 3, 8, 8] x) => (float[batch, 4, 6, 6] y)
    <float[4, 3, 3, 3] w = {VALUES}>
    { c = Conv(x, w) y = Relu(c) }
"""


@pytest.fixture
def conv(write_model: Callable[[str], Path]) -> Path:
    values = ", ".join(f"{value:.3f}" for value in np.random.default_rng(0).standard_normal(108))
    return write_model(CONV.replace("VALUES", values))


@pytest.fixture
def negative(write_model: Callable[[str], Path]) -> Path:
    return write_model("g (float[batch, 3] x) => (float[batch, 3] y) { y = Neg(x) }")


def rows_of(facts: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["contender"], row["precision"]): row for row in facts["rows"]}


def test_demo_model(command: Command, device: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    answer = command(
        "bench", DIGITS, "--batch", 64, "--device", device, *BRIEF, "--json", path,
        "--commit", "abc", "--random", 3, "--peers", "onnxruntime" if device == "cpu" else "",
    )  # fmt: skip
    assert answer.code == 0
    facts = json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(name))
    assert set(facts) == {
        "schema", "model", "commit", "device", "device_description", "seed", "seconds", "rounds",
        "inputs", "reference", "rows", "clocks", "environment",
    }  # fmt: skip
    assert (facts["schema"], facts["commit"], facts["seed"], facts["rounds"]) == (1, "abc", 3, 2)
    assert facts["inputs"] == [{"name": "image", "dtype": "float32", "shape": [64, 1, 8, 8]}]
    assert facts["reference"]["by"] == "onnx.reference"
    assert facts["reference"]["problems"] == {}
    ours = rows_of(facts)["cugraphmodel", "fp32"]
    assert set(ours) == {
        "contender", "precision", "problem", "num_runs", "run_us", "kernels_us", "error", "ratio",
        "num_kernels", "device_bytes", "load_seconds", "prepare_seconds", "prepare_again_seconds",
        "kernels_compiled",
    }  # fmt: skip
    assert ours["problem"] is None
    assert 0 < ours["run_us"]["min"] <= ours["run_us"]["p50"] <= ours["run_us"]["p99"]
    assert ours["num_runs"] >= 2
    assert 0 < ours["kernels_us"]["min"] < ours["run_us"]["p99"]
    rounded = rows_of(facts)["cugraphmodel", "tf32"]
    assert 0 < ours["error"] < 1e-6 < 1e-5 < rounded["error"] < 1e-3
    with cugraphmodel.load(DIGITS, device=device).capture_graph(64) as graph:
        assert ours["num_kernels"] == graph.num_kernels
        memory = graph.memory
        assert ours["device_bytes"] == memory["weight_bytes"] + memory["arena_bytes"]
    assert ours["prepare_seconds"] > 0
    assert ours["prepare_again_seconds"] > 0
    assert ours["kernels_compiled"] >= 0
    assert facts["environment"]["packages"]["numpy"] == np.__version__
    for row in facts["rows"]:
        assert answer.out.count(row["contender"]) >= 1
    assert open_device(device).description in answer.out


def test_ratio_and_errors_are_right(command: Command, conv: Path) -> None:
    answer = command(
        "bench", conv, "--batch", 2, "--device", "cpu", *BRIEF, "--json", "--precision", "fp32"
    )
    assert answer.code == 0
    rows = rows_of(json.loads(answer.out))
    assert list(rows) == [("cugraphmodel", "fp32"), ("onnxruntime", "fp32")]
    ours, peer = rows.values()
    assert ours["ratio"] == pytest.approx(ours["run_us"]["p50"] / peer["run_us"]["p50"])
    assert peer["ratio"] is peer["kernels_us"] is None
    x = np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype(np.float32)
    got = onnxruntime.InferenceSession(str(conv)).run(None, {"x": x})[0]
    right = convolved(conv, x)
    expected = np.linalg.norm(got - right) / np.linalg.norm(right)
    assert peer["error"] == pytest.approx(expected, rel=1e-6)
    assert 0 < ours["error"] < 3e-7


def convolved(path: Path, x: np.ndarray) -> np.ndarray:
    """What the convolution gives, in float64."""
    weights = cugraphmodel.load(path, device="cpu")._parameters["w"].astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), (2, 3))
    right: np.ndarray = np.maximum(np.einsum("nchwij,mcij->nmhw", windows, weights), 0)
    return right


def test_a_peer_that_fails_is_a_row(
    command: Command, negative: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    makers = {
        "refusing": contenders.Refusing,
        "dying": contenders.Dying,
        "misshapen": contenders.Misshapen,
        "breaking": contenders.Breaking,
    }
    monkeypatch.setattr(bench, "ON_CPU", makers)
    arguments = ("--device", "cpu", "--peers", ",".join(makers), "--precision", "fp32")
    answer = command("bench", negative, *arguments, *BRIEF, "--json")
    assert answer.code == 0
    rows = rows_of(json.loads(answer.out))
    problems = {name: row["problem"] for (name, _), row in rows.items()}
    assert problems == {
        "cugraphmodel": None,
        "refusing": "ValueError: no fp32 here",
        "dying": "its process ended with exit code 7",
        "misshapen": "its outputs do not fit: an output has shape (2, 3), expected (1, 3)",
        "breaking": "RuntimeError: out of luck",
    }
    ours = rows["cugraphmodel", "fp32"]
    assert (ours["ratio"], ours["error"]) == (None, 0)
    brief = ("--device", "cpu", "--peers", "refusing", "--precision", "fp32", "--no-error")
    text = command("bench", negative, *brief, *BRIEF).out
    assert "refusing fp32 failed: ValueError: no fp32 here" in text
    assert "in float64" not in text


def test_pytorch_needs_its_package_and_a_program(command: Command, weighted_sum: Path) -> None:
    options = ("--device", "cpu", "--peers", "torch", *BRIEF, "--no-error", "--precision", "fp32")
    answer = command("bench", weighted_sum, *options)
    assert answer.code == 1
    assert "those of PyTorch need --torch FILE.pt2" in answer.err
    answer = command("bench", weighted_sum, *options, "--torch", "absent.pt2", "--json")
    assert answer.code == 0
    problem = rows_of(json.loads(answer.out))["torch", "fp32"]["problem"]
    assert "torch" in problem
    assert "Error: " in problem


def test_a_right_answer_that_is_not_believed(
    command: Command, weighted_sum: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "REFERENCES", {"broken": contenders.Refusing, "odd": Odd})
    options = ("--device", "cpu", "--peers", "", "--precision", "fp32", *BRIEF)
    answer = command("bench", weighted_sum, *options, "--json")
    assert answer.code == 0
    facts = json.loads(answer.out)
    assert facts["reference"]["by"] is None
    assert facts["reference"]["problems"]["broken"] == "ValueError: no fp32 here"
    assert "from ONNX Runtime on the CPU" in facts["reference"]["problems"]["odd"]
    assert {row["error"] for row in facts["rows"]} == {None}


class Odd(contenders.Negative):
    """Gives something that is no weighted sum."""

    def run(self) -> list[np.ndarray]:
        return super().run()[:1]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--precision", "fp8"], "precision='fp8'"),
        (["--peers", "onnxrun"], "['onnxrun'] is none of ['onnxruntime'] here"),
        (["--input", "middle=x.npy"], "no input is named 'middle'"),
        (["--dim", "time=3"], "'time'"),
    ],
)
def test_mistakes_are_one_line(
    command: Command, weighted_sum: Path, options: list[str], complaint: str
) -> None:
    answer = command("bench", weighted_sum, "--device", "cpu", *BRIEF, *options)
    assert answer.code == 1
    assert answer.err.startswith("cugraphmodel: error: ")
    assert complaint in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""
