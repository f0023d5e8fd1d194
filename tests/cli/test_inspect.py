"""``cugraphmodel inspect``: the file, its plan, or why there is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cugraphmodel import executors
from tests.cli.conftest import Command


@pytest.fixture(autouse=True)
def no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test here also shows that no device is opened."""
    monkeypatch.setattr(executors, "_open_cached", lambda name: pytest.fail(f"opened {name}"))


def test_lists_nodes_with_indices_shapes_and_memory(command: Command, weighted_sum: Path) -> None:
    answer = command("inspect", weighted_sum, "--batch", 7)
    assert (answer.code, answer.err) == (0, "")
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    assert "input left: float32[batch, 3]" in lines
    assert "0 doubled = Mul(right, two) -> doubled: float32[7,3]" in lines
    assert "1 total = Add(left, doubled) -> total: float32[7,3]" in lines
    assert any(line.startswith("plan ") and "arena" in line for line in lines)


def test_plan_lists_every_launch(command: Command, weighted_sum: Path) -> None:
    brief = command("inspect", weighted_sum).out
    whole = command("inspect", weighted_sum, "--plan").out
    assert whole.startswith(brief.rstrip("\n"))
    assert "grid=" in whole.removeprefix(brief)


def test_json(command: Command, weighted_sum: Path) -> None:
    facts = json.loads(command("inspect", weighted_sum, "--json", "--plan", "--batch", 2).out)
    assert facts["problem"] is None
    assert facts["inputs"][0] == {"name": "left", "dtype": "float32", "shape": ["batch", 3]}
    assert facts["parameter_bytes"] == 4
    assert [node["op_type"] for node in facts["nodes"]] == ["Mul", "Add"]
    assert facts["nodes"][1]["outputs"][0]["shape"] == [2, 3]
    assert len(facts["plan"]["kernels"]) == facts["plan"]["num_kernels"] > 0
    assert facts["plan"]["staging_bytes"] >= 3 * 24


def test_open_dimensions_still_show_the_file(
    command: Command, write_model: Callable[[str], Path]
) -> None:
    path = write_model("g (float[batch, seq] x) => (float[batch, seq] y) { y = Neg(x) }")
    answer = command("inspect", path)
    assert answer.code == 1
    assert "y = Neg(x)" in answer.out
    assert "'seq'" in answer.err
    assert "--dim NAME=SIZE" in answer.err


def test_unsupported_nodes_are_all_listed(
    command: Command, write_model: Callable[[str], Path]
) -> None:
    path = write_model(
        """
        g (float[4] x, float[4] y) => (float[4] a, float[4] b)
        { a = com.example.First(x) b = com.example.Second(y) }
        """
    )
    answer = command("inspect", path, "--json")
    assert answer.code == 1
    problem = json.loads(answer.out)["problem"]
    assert "First" in problem
    assert "Second" in problem
    assert "First" in answer.err
