"""Contenders that do what a test needs. They live here so that another process finds them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cugraphmodel.bench.task import Array, Task


class Negative:
    """Gives ``-x`` for each input, and tells of three kernels."""

    facts: Mapping[str, Any] = {"num_kernels": 3}

    def __init__(self, task: Task) -> None:
        self._inputs = list(task.inputs.values())

    def run(self) -> list[Array]:
        return [-x for x in self._inputs]

    def kernels_ms(self) -> float | None:
        return 0.5


class Printing(Negative):
    """Talks."""

    def run(self) -> list[Array]:
        print("as a runtime does", flush=True)
        os.write(1, b"or its library\n")
        return super().run()


class Refusing(Negative):
    """Cannot be made."""

    def __init__(self, task: Task) -> None:
        raise ValueError(f"no\n{task.precision} here")


class Breaking(Negative):
    """Raises in its fourth run."""

    num_runs = 0

    def run(self) -> list[Array]:
        self.num_runs += 1
        if self.num_runs == 4:
            raise RuntimeError("out of luck")
        return super().run()


class Dying(Negative):
    """Ends its process when it is run."""

    def run(self) -> list[Array]:
        os._exit(7)


class Sleeping(Negative):
    """Never gets ready."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        time.sleep(60)


class Misshapen(Negative):
    """Gives outputs of another shape."""

    def run(self) -> list[Array]:
        return [np.concatenate([x, x]) for x in self._inputs]


class FakeClock:
    """Time that passes only when something says so."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


class Ticking:
    """Takes so many microseconds of a fake clock, and calls back at each run."""

    facts: Mapping[str, Any] = {}

    def __init__(self, clock: FakeClock, run_us: float, ran: Callable[[], None]) -> None:
        self._clock, self._run_us, self._ran = clock, run_us, ran

    def run(self) -> list[Array]:
        self._clock.now_ns += int(self._run_us * 1e3)
        self._ran()
        return []

    def kernels_ms(self) -> None:
        return None
