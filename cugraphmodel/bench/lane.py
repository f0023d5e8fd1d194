"""Where a contender runs: in this process, or in one of its own that may hang or crash."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol

from cugraphmodel.bench.task import Array, Contender, Maker, Task
from cugraphmodel.errors import CuGraphModelError

__all__ = ["Burst", "Here", "Lane", "LaneError", "ProcessLane"]

NUM_WARM_UP = 2
MAX_RUNS = 5000
MAX_KERNEL_RUNS = 50
PREPARE_SECONDS = 900.0
STOP_SECONDS = 10.0

Clock = Callable[[], int]


class LaneError(CuGraphModelError, RuntimeError):
    """A contender failed; the text is its own."""


@dataclass(frozen=True)
class Burst:
    """Runs of one contender, one right after the other.

    Attributes:
        run_us: microseconds of each run as the caller sees it.
        kernels_us: of the kernels of other runs, empty if the contender cannot tell.
    """

    run_us: tuple[float, ...]
    kernels_us: tuple[float, ...]


class Lane(Protocol):
    """A contender that is ready, wherever it is."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Those of the contender."""
        ...

    def burst(self, seconds: float) -> Burst:
        """Run for so long, at least once, and as long again at most to time the kernels.

        Raises:
            LaneError: the contender failed.
        """
        ...

    def outputs(self) -> list[Array]:
        """What one run gives. Raises as :meth:`burst`."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


class Here:
    """A contender in this process."""

    def __init__(self, contender: Contender, clock_ns: Clock = time.perf_counter_ns) -> None:
        self._contender = contender
        self._clock_ns = clock_ns
        self.facts = contender.facts

    def burst(self, seconds: float) -> Burst:
        """See :class:`Lane`."""
        for _ in range(NUM_WARM_UP):
            self._contender.run()
        run_us = self._repeat(seconds, MAX_RUNS, self._timed_run)
        if self._contender.kernels_ms() is None:
            return Burst(run_us, ())
        return Burst(run_us, self._repeat(seconds, MAX_KERNEL_RUNS, self._kernels_us))

    def _repeat(
        self, seconds: float, limit: int, measure: Callable[[], float]
    ) -> tuple[float, ...]:
        end = self._clock_ns() + int(seconds * 1e9)
        found = [measure()]
        while self._clock_ns() < end and len(found) < limit:
            found.append(measure())
        return tuple(found)

    def _timed_run(self) -> float:
        start = self._clock_ns()
        self._contender.run()
        return (self._clock_ns() - start) / 1e3

    def _kernels_us(self) -> float:
        elapsed_ms = self._contender.kernels_ms()
        assert elapsed_ms is not None  # it told once
        return elapsed_ms * 1e3

    def outputs(self) -> list[Array]:
        """See :class:`Lane`."""
        return self._contender.run()

    def close(self) -> None:
        """Nothing that would not go with it."""


class ProcessLane:
    """A contender in a process of its own, so that what it breaks is its own.

    A fault on a GPU, say, makes the GPU unusable for the whole process that caused it.

    Args:
        maker: gets the model ready over there.
        task: what to get ready.
        prepare_seconds: after so long it has failed.

    Raises:
        LaneError: it failed, crashed or took too long.
    """

    def __init__(self, maker: Maker, task: Task, prepare_seconds: float = PREPARE_SECONDS) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, maker, task))
        self._process.start()
        theirs.close()
        self.facts: Mapping[str, Any] = self._answer(prepare_seconds)

    def burst(self, seconds: float) -> Burst:
        """See :class:`Lane`."""
        burst: Burst = self._ask("burst", seconds, limit_seconds=10 * seconds + PREPARE_SECONDS)
        return burst

    def outputs(self, limit_seconds: float = PREPARE_SECONDS) -> list[Array]:
        """See :class:`Lane`."""
        arrays: list[Array] = self._ask("outputs", limit_seconds=limit_seconds)
        return arrays

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.join(STOP_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _ask(self, method: str, *arguments: Any, limit_seconds: float) -> Any:
        try:
            self._connection.send((method, arguments))
        except OSError as error:
            raise LaneError("its process is gone") from error
        return self._answer(limit_seconds)

    def _answer(self, limit_seconds: float) -> Any:
        try:
            if self._connection.poll(limit_seconds):
                fine, answer = self._connection.recv()
            else:
                fine, answer = False, f"gave no answer in {limit_seconds:g} s"
        except (EOFError, OSError) as error:
            self._process.join(STOP_SECONDS)
            code = self._process.exitcode
            self._stop()
            raise LaneError(f"its process ended with exit code {code}") from error
        except BaseException:
            self._stop()
            raise
        if not fine:
            self._stop()
            raise LaneError(answer)
        return answer

    def _stop(self) -> None:
        self._process.kill()
        self.close()


def _serve(connection: Connection, maker: Maker, task: Task) -> None:
    """In the other process: answer until the other side hangs up."""
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever it prints is no result of ours
    try:
        lane = Here(maker(task))
        connection.send((True, dict(lane.facts)))
        while True:
            method, arguments = connection.recv()
            connection.send((True, getattr(lane, method)(*arguments)))
    except (EOFError, KeyboardInterrupt):
        return
    except Exception as error:
        connection.send((False, _one_line(error)))


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:1000]
