"""``cugraphmodel check``: nothing to find in our kernels, and what a fault looks like."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cugraphmodel.cli import check
from cugraphmodel.plan import Plan, build_plan
from tests.cli.conftest import Command


def faulty(*args: Any, **kwargs: Any) -> Plan:
    """The plan, in which each kernel that is told a number of elements is told too many."""
    plan = build_plan(*args, **kwargs)
    steps = []
    for step in plan.steps:
        longer = tuple(
            type(argument)(argument * 1000) if isinstance(argument, np.integer) else argument
            for argument in step.launch.args
        )
        steps.append(
            dataclasses.replace(step, launch=dataclasses.replace(step.launch, args=longer))
        )
    return dataclasses.replace(plan, steps=tuple(steps))


def test_nothing_is_found(command: Command, weighted_sum: Path) -> None:
    answer = command("check", weighted_sum, "--batch", 7)
    assert (answer.code, answer.err) == (0, "")
    num_kernels, rest = answer.out.split(" ", 1)
    assert rest == "kernels, 0 findings\n"
    facts = json.loads(command("check", weighted_sum, "--json").out)
    assert facts == {
        "model": str(weighted_sum),
        "num_kernels": int(num_kernels),
        "findings": [],
    }


def test_a_fault_is_printed_and_fails(
    command: Command, weighted_sum: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "build_plan", faulty)
    answer = command("check", weighted_sum)
    assert answer.code == 1
    assert "memcheck: block (0,0,0) thread (" in answer.out
    assert ".cu:" in answer.out
    assert "have a fault" in answer.err
    answer = command("check", weighted_sum, "--json")
    assert answer.code == 1
    first = json.loads(answer.out)["findings"][0]
    assert first["kind"] == "memcheck"
    assert first["file"].startswith("ops/")
    assert first["line"] > 0
    assert first["message"].startswith("node ")
