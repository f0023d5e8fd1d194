"""The right answer: believed or not, kept or computed anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cugraphmodel.bench import answers
from cugraphmodel.bench.answers import kept_answer, right_answer
from cugraphmodel.bench.task import Task
from cugraphmodel.errors import ArgumentError
from tests.api.builders import affine, affine_steps, build, normal
from tests.bench import contenders

X = normal(3, 2, 4)


@pytest.fixture
def task(tmp_path: Path) -> Task:
    path = tmp_path / "model.onnx"
    path.write_bytes(affine().SerializeToString())
    return Task(str(path), "cpu", {"x": X})


def test_the_first_that_can_is_taken(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    makers = {"absent": contenders.Refusing, "wrong": contenders.Negative, **answers.REFERENCES}
    monkeypatch.setattr(answers, "REFERENCES", makers)
    said: list[str] = []
    answer = right_answer(task, said.append)
    assert answer.by == "onnx.reference"
    assert answer.outputs is not None
    np.testing.assert_allclose(answer.outputs[0], affine_steps(X)[2], rtol=1e-14, atol=1e-15)
    assert answer.problems["absent"] == "ValueError: no fp32 here"
    assert answer.problems["wrong"] == "its outputs do not fit: an output has shape (2, 3), " + (
        "expected (2, 4)"
    )
    assert len(said) == 3


def test_a_far_answer_is_not_believed(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "identity.onnx"
    model = build("(float[N,4] x) => (float[N,4] y)", "y = Identity(x)")
    path.write_bytes(model.SerializeToString())
    monkeypatch.setattr(answers, "REFERENCES", {"negative": contenders.Negative})
    answer = right_answer(replace(task, model=str(path)), lambda _: None)
    assert (answer.outputs, answer.by, answer.seconds) == (None, None, None)
    assert answer.problems == {"negative": "is 2.0e+00 from ONNX Runtime on the CPU"}


def test_an_answer_is_kept_for_its_question(task: Task, tmp_path: Path) -> None:
    path = tmp_path / "answer"
    said: list[str] = []
    first = kept_answer(path, task, said.append)
    again = kept_answer(path, task, said.append)
    assert len(said) == 1
    assert (again.by, again.seconds) == (first.by, first.seconds) != (None, None)
    assert first.outputs is not None
    assert again.outputs is not None
    np.testing.assert_array_equal(again.outputs[0], first.outputs[0])
    other = kept_answer(path, replace(task, inputs={"x": X + 1}), said.append)
    assert len(said) == 2
    assert other.outputs is not None
    assert np.abs(other.outputs[0] - first.outputs[0]).max() > 0.1
    Path(task.model).write_bytes(Path(task.model).read_bytes() + b"\x12\x00")
    kept_answer(path, task, said.append)
    assert len(said) == 3


def test_a_file_that_keeps_something_else_is_left_alone(task: Task, tmp_path: Path) -> None:
    path = tmp_path / "answer.npz"
    np.savez(path, x=X)
    for content in (path.read_bytes(), b"text", b""):
        path.write_bytes(content)
        with pytest.raises(ArgumentError, match=r"answer\.npz' is there, but keeps no answer"):
            kept_answer(path, task, lambda _: None)
        assert path.read_bytes() == content
