"""Small model files, and the command as a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnx.parser
import pytest

from cugraphmodel.cli import main


@dataclass(frozen=True)
class Answer:
    """What a command left behind."""

    code: int
    out: str
    err: str


Command = Callable[..., Answer]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs ``cugraphmodel ARGUMENTS`` in this process."""

    def run(*arguments: object) -> Answer:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run


@pytest.fixture
def write_model(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a graph in ONNX text form to a file."""

    def write(text: str) -> Path:
        model = onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["": 17, "com.example": 1]> {text}'
        )
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    return write


@pytest.fixture
def weighted_sum(write_model: Callable[[str], Path]) -> Path:
    """``total = left + 2 * right`` over float[batch, 3]."""
    return write_model(
        """
        weighted (float[batch, 3] left, float[batch, 3] right) => (float[batch, 3] total)
        <float two = {2}>
        {
            doubled = Mul(right, two)
            total = Add(left, doubled)
        }
        """
    )
