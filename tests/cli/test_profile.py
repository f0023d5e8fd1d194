"""``cugraphmodel profile``: a row for each kernel."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cugraphmodel import demo
from tests.cli.conftest import Command

DIGITS = Path(demo.__file__).parent / "digits.onnx"


def test_demo_model(command: Command, device: str, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    answer = command(
        "profile", DIGITS, "--batch", 2, "--device", device, "--repeats", 2, "--json", path,
        "--commit", "abc", "--sort", "time", "--bandwidth", 1, "--tflops", 2,
    )  # fmt: skip
    assert (answer.code, answer.err) == (0, "")
    facts = json.loads(path.read_text())
    assert (facts["schema"], facts["commit"], facts["repeats"]) == (1, "abc", 2)
    assert facts["device"].startswith(device)
    assert sum(len(node["kernels"]) for node in facts["nodes"]) == facts["num_kernels"]
    [conv] = [node for node in facts["nodes"] if node["name"] == "conv2_node"]
    assert conv["flops"] == 2 * 2 * 32 * 64 * 16 * 9
    assert conv["floor_us"] == pytest.approx(conv["flops"] / 2e12 * 1e6)
    assert conv["share_of_floor"] == pytest.approx(conv["floor_us"] / conv["us"])
    assert facts["us"] == pytest.approx(sum(node["us"] for node in facts["nodes"]))
    assert facts["run_us"] > 0
    lines = answer.out.splitlines()
    slowest = max(facts["nodes"], key=lambda node: node["us"])
    assert lines[2].startswith(f"{slowest['index']} {slowest['name']} ")
    assert f"{facts['num_kernels']} kernels" in answer.out
    assert "of floor" in lines[1]


def test_no_floor_on_a_device_that_nobody_knows(command: Command) -> None:
    answer = command("profile", DIGITS, "--device", "cpu", "--repeats", 1)
    assert (answer.code, answer.err) == (0, "")
    assert "of floor" not in answer.out
    assert "no floor: this device's rates are not known" in answer.out


def test_json_alone(command: Command, weighted_sum: Path) -> None:
    answer = command("profile", weighted_sum, "--batch", 5, "--device", "cpu", "--json")
    assert (answer.code, answer.err) == (0, "")
    facts = json.loads(answer.out)
    assert facts["floor_us"] is None
    assert [node["op_type"] for node in facts["nodes"]] == ["FusedElementwise"]
    assert [node["num_bytes"] for node in facts["nodes"]] == [4 * 46]


def test_inputs_from_an_archive(command: Command, weighted_sum: Path, tmp_path: Path) -> None:
    path = tmp_path / "inputs.npz"
    np.savez(path, right=np.ones((4, 3), np.float32), left=np.ones((4, 3), np.float32))
    answer = command("profile", weighted_sum, "--input", path, "--device", "cpu", "--json")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out)["nodes"][0]["num_bytes"] == 4 * (3 * 12 + 1)
    np.savez(path, right=np.ones((4, 3), np.float32), total=np.ones((4, 3), np.float32))
    answer = command("profile", weighted_sum, "--input", path, "--device", "cpu")
    assert (answer.code, "the model's inputs are ['left', 'right']" in answer.err) == (1, True)
    path.write_bytes(b"PK")
    answer = command("profile", weighted_sum, "--input", path, "--device", "cpu")
    assert (answer.code, "is not an archive as numpy.savez writes it" in answer.err) == (1, True)
    path.unlink()
    answer = command("profile", weighted_sum, "--input", path, "--device", "cpu")
    assert (answer.code, "No such file or directory" in answer.err) == (1, True)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--precision", "fp8"], "precision='fp8' is not 'fp32', 'ieee', 'tf32', 'fp16' or 'bf16'"),
        (["--tflops", "9"], "pass --bandwidth as well"),
        (["--input", "{folder}/absent.npy"], "No such file or directory"),
        (["--json", "{folder}/absent/x.json"], "absent/x.json"),
    ],
)
def test_mistakes_are_one_line(
    command: Command, weighted_sum: Path, tmp_path: Path, options: list[str], complaint: str
) -> None:
    filled = [option.format(folder=tmp_path) for option in options]
    answer = command("profile", weighted_sum, "--device", "cpu", *filled)
    assert answer.code == 1
    assert answer.err.startswith("cugraphmodel: error: ")
    assert complaint in answer.err
    assert answer.err.count("\n") == 1


def test_bounded_outputs(command: Command, write_model: Callable[[str], Path]) -> None:
    path = write_model("g (float[2, 3] x) => (int64[n, m] at) { at = NonZero(x) }")
    answer = command("profile", path, "--device", "cpu", "--bounded-outputs", "--json")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out)["nodes"][0]["op_type"] == "BoundedNonZero"
