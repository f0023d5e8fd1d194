"""A contender in a process of its own: what it gives, and what it does not break."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cugraphmodel.bench.lane import LaneError, ProcessLane
from cugraphmodel.bench.task import Maker, Task
from tests.bench import contenders

X = np.arange(6, dtype=np.float32).reshape(2, 3)
TASK = Task("model.onnx", "cpu", {"x": X}, precision="tf32")


@pytest.fixture
def lane_of() -> Callable[..., ProcessLane]:
    return lambda maker, seconds=60.0: ProcessLane(maker, TASK, seconds)


def test_it_runs_and_tells(lane_of: Callable[..., ProcessLane]) -> None:
    lane = lane_of(contenders.Negative)
    try:
        assert lane.facts == {"num_kernels": 3}
        np.testing.assert_array_equal(lane.outputs()[0], -X)
        burst = lane.burst(0.01)
    finally:
        lane.close()
    assert min(burst.run_us) > 0
    assert set(burst.kernels_us) == {500.0}
    assert not lane._process.is_alive()
    with pytest.raises(LaneError, match="gone"):
        lane.outputs()


def test_what_it_prints_stays_out_of_our_output(
    lane_of: Callable[..., ProcessLane], capfd: pytest.CaptureFixture[str]
) -> None:
    lane = lane_of(contenders.Printing)
    lane.outputs()
    lane.close()
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == "as a runtime does\nor its library\n"


@pytest.mark.parametrize(
    ("maker", "seconds", "problem"),
    [
        (contenders.Refusing, 60.0, "^ValueError: no tf32 here$"),
        (contenders.Sleeping, 0.5, "no answer in 0.5 s"),
    ],
)
def test_one_that_does_not_get_ready(
    lane_of: Callable[..., ProcessLane], maker: Maker, seconds: float, problem: str
) -> None:
    with pytest.raises(LaneError, match=problem):
        lane_of(maker, seconds)


@pytest.mark.parametrize(
    ("maker", "problem"),
    [
        (contenders.Breaking, "^RuntimeError: out of luck$"),
        (contenders.Dying, "ended with exit code 7"),
    ],
)
def test_one_that_breaks_while_it_runs(
    lane_of: Callable[..., ProcessLane], maker: Maker, problem: str
) -> None:
    lane = lane_of(maker)
    with pytest.raises(LaneError, match=problem):
        lane.burst(10.0)
    assert not lane._process.is_alive()
    lane.close()
