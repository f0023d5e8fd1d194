"""Contenders that take turns, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cugraphmodel.bench.lane import Lane, LaneError
from cugraphmodel.passes import Precision

__all__ = ["OURS", "Row", "facts_of", "peer_precision", "ratio_of", "take_turns"]

OURS = "cugraphmodel"


@dataclass
class Row:
    """One contender in one precision.

    Attributes:
        contender: what it is called.
        precision: how exact its products are.
        lane: the contender, None once it failed.
        run_us: microseconds of all its runs so far, from NumPy arrays to NumPy arrays.
        kernels_us: of the kernels of other runs.
        error: its distance from the right answer, None if unknown.
        problem: why it failed, None if it did not.
        facts: what else it told.
    """

    contender: str
    precision: Precision
    lane: Lane | None = None
    run_us: list[float] = field(default_factory=list)
    kernels_us: list[float] = field(default_factory=list)
    error: float | None = None
    problem: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def fail(self, error: LaneError) -> None:
        """Take it out of the race."""
        self.lane, self.problem = None, str(error)

    @property
    def median_us(self) -> float | None:
        """Median of its runs, None if it failed."""
        return None if self.problem or not self.run_us else float(np.median(self.run_us))


def take_turns(rows: Iterable[Row], seconds: float, num_rounds: int) -> None:
    """Let all contenders run in rounds, so that a slow moment of the machine meets each of them.

    Args:
        rows: the contenders; one that fails keeps what it failed of, and the others go on.
        seconds: that each of them runs altogether, not counting as long again for its kernels.
        num_rounds: into which that is divided.
    """
    rows = list(rows)
    for _ in range(num_rounds):
        for row in rows:
            if row.lane is None:
                continue
            try:
                burst = row.lane.burst(seconds / num_rounds)
            except LaneError as error:
                row.fail(error)
                continue
            row.run_us += burst.run_us
            row.kernels_us += burst.kernels_us


def peer_precision(precision: Precision) -> Precision:
    """What a peer does that is to be compared: of what is accurate to float32 it has one kind."""
    return "fp32" if precision == "ieee" else precision


def ratio_of(row: Row, rows: Sequence[Row]) -> float | None:
    """Our median over that of the fastest peer of the same precision; None for a peer."""
    wanted = peer_precision(row.precision)
    peers = [
        peer.median_us
        for peer in rows
        if peer.contender != OURS and peer.precision == wanted and peer.median_us is not None
    ]
    if row.contender != OURS or row.median_us is None or not peers:
        return None
    return row.median_us / min(peers)


def facts_of(row: Row, rows: Sequence[Row]) -> dict[str, Any]:
    """The row for JSON; what is not known is None."""
    known = row.problem is None
    return {
        "contender": row.contender,
        "precision": row.precision,
        "problem": row.problem,
        "num_runs": len(row.run_us),
        "run_us": _summary(row.run_us) if known else None,
        "kernels_us": _summary(row.kernels_us) if known else None,
        "error": row.error if row.error is None or math.isfinite(row.error) else str(row.error),
        "ratio": ratio_of(row, rows),
        "num_kernels": row.facts.get("num_kernels"),
        "device_bytes": row.facts.get("device_bytes"),
        "load_seconds": row.facts.get("load_seconds"),
        "prepare_seconds": row.facts.get("prepare_seconds"),
        "prepare_again_seconds": row.facts.get("prepare_again_seconds"),
        "kernels_compiled": row.facts.get("kernels_compiled"),
    }


def _summary(times_us: Sequence[float]) -> dict[str, float] | None:
    if not times_us:
        return None
    return {
        "p50": float(np.percentile(times_us, 50)),
        "p99": float(np.percentile(times_us, 99)),
        "min": min(times_us),
    }
