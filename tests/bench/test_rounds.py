"""Who runs when, and what is made of the times."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from cugraphmodel.bench.lane import NUM_WARM_UP, Burst, Here, LaneError
from cugraphmodel.bench.rounds import Row, facts_of, ratio_of, take_turns
from cugraphmodel.bench.task import Array
from tests.bench.contenders import FakeClock, Ticking


class Failing:
    """A lane whose second burst fails."""

    facts: Mapping[str, Any] = {}
    num_bursts = 0

    def burst(self, _seconds: float) -> Burst:
        self.num_bursts += 1
        if self.num_bursts == 2:
            raise LaneError("the GPU fell off the bus")
        return Burst((1.0,), (0.5,))

    def outputs(self) -> list[Array]:
        return []

    def close(self) -> None:
        pass


def test_contenders_take_turns_in_rounds() -> None:
    clock, order = FakeClock(), []
    rows = [
        Row(name, "fp32", Here(Ticking(clock, us, lambda name=name: order.append(name)), clock))  # type: ignore[misc]
        for name, us in (("a", 100.0), ("b", 250.0), ("c", 1000.0))
    ]
    take_turns(rows, seconds=3e-3, num_rounds=3)
    blocks = [(name, len(list(group))) for name, group in itertools.groupby(order)]
    # A millisecond of each in each round, after the runs that warm up.
    expected = [("a", 10 + NUM_WARM_UP), ("b", 4 + NUM_WARM_UP), ("c", 1 + NUM_WARM_UP)]
    assert blocks == expected * 3
    assert [row.run_us for row in rows] == [[100.0] * 30, [250.0] * 12, [1000.0] * 3]
    assert clock.now_ns == 3 * (12 * 100 + 6 * 250 + 3 * 1000) * 1000


def test_one_that_fails_stops_and_the_others_go_on() -> None:
    clock = FakeClock()
    failing = Failing()
    rows = [
        Row("bad", "fp32", failing),
        Row("good", "fp32", Here(Ticking(clock, 100.0, lambda: None), clock)),
    ]
    take_turns(rows, seconds=5e-4, num_rounds=5)
    assert (failing.num_bursts, len(rows[1].run_us)) == (2, 5)
    bad, good = (facts_of(row, rows) for row in rows)
    assert bad["problem"] == "the GPU fell off the bus"
    assert bad["run_us"] is bad["kernels_us"] is bad["ratio"] is None
    assert good["problem"] is None
    assert good["run_us"] == {"p50": 100.0, "p99": 100.0, "min": 100.0}


def test_times_are_summed_up() -> None:
    times = np.random.default_rng(0).permutation(np.arange(1.0, 102.0)).tolist()
    row = Row("cugraphmodel", "fp32", run_us=times, kernels_us=[3.0, 1.0, 2.0], error=float("nan"))
    facts = facts_of(row, [row])
    assert facts["run_us"] == {"p50": 51.0, "p99": 100.0, "min": 1.0}
    assert facts["kernels_us"] == {"p50": 2.0, "p99": pytest.approx(2.98), "min": 1.0}
    assert (facts["error"], facts["ratio"]) == ("nan", None)


def test_ratio_is_to_the_fastest_peer_of_the_same_precision() -> None:
    def row(contender: str, precision: str, us: float, problem: str | None = None) -> Row:
        return Row(contender, precision, run_us=[us] * 3, problem=problem)  # type: ignore[arg-type]

    rows = [
        row("cugraphmodel", "fp32", 30.0),
        row("cugraphmodel", "ieee", 45.0),
        row("cugraphmodel", "tf32", 20.0),
        row("onnxruntime", "fp32", 90.0),
        row("torch", "fp32", 60.0),
        row("torch", "tf32", 40.0),
        row("torch-graph", "fp32", 1.0, "failed after all"),
    ]
    assert [ratio_of(each, rows) for each in rows] == [0.5, 0.75, 0.5, None, None, None, None]
    assert ratio_of(rows[2], rows[:5]) is None
