"""``cugraphmodel demo``: right answers, as counted by ONNX Runtime."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from cugraphmodel import demo
from tests.cli.conftest import Command

FOLDER = Path(demo.__file__).parent


@pytest.fixture(scope="module")
def num_right() -> int:
    with np.load(FOLDER / "digits.npz") as data:
        images, labels = data["images"], data["labels"]
    session = onnxruntime.InferenceSession(FOLDER / "digits.onnx")
    [probabilities] = session.run(None, {"image": images[:, None].astype(np.float32)})
    return int((np.asarray(probabilities).argmax(axis=1) == labels).sum())


def test_model_is_good(num_right: int) -> None:
    assert num_right >= 0.97 * 360


@pytest.mark.parametrize("batch_size", [1, 64, 500], ids=["one", "uneven", "more_than_all"])
def test_classifies_as_onnx_runtime_does(
    command: Command, device: str, num_right: int, batch_size: int
) -> None:
    answer = command("demo", "--device", device, "--batch", batch_size, "--json")
    assert (answer.code, answer.err) == (0, "")
    facts = json.loads(answer.out)
    assert (facts["num_images"], facts["num_right"]) == (360, num_right)
    assert facts["device"].startswith(device)
    assert facts["launch_ms_p99"] >= facts["launch_ms_p50"] > 0
    assert min(facts[f"{kind}_bytes"] for kind in ("weight", "arena", "staging")) > 0


def test_text_shows_digits_and_figures(command: Command, num_right: int) -> None:
    answer = command("demo", "--device", "cpu")
    assert (answer.code, answer.err) == (0, "")
    assert "@@" in answer.out
    assert f"{num_right} of 360" in answer.out
    for word in ("device", "kernels", "weights", "arena", "staging", "launch", "accuracy"):
        assert word in answer.out


def test_wrong_batch_is_one_line(command: Command) -> None:
    answer = command("demo", "--device", "cpu", "--batch", 0)
    assert answer.code == 1
    assert answer.err.startswith("cugraphmodel: error: batch_size is 0")
