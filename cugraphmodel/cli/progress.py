"""A progress bar on stderr while kernels compile, if somebody is looking."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from cugraphmodel.executors.base import Progress

__all__ = ["progress_bar"]


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A callback that draws the bar, or None where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from tqdm import tqdm

    with tqdm(leave=False, file=sys.stderr) as bar:

        def show(what: str, done: int, total: int) -> None:
            bar.set_description(what, refresh=False)
            bar.total = total
            bar.n = done
            bar.refresh()

        yield show
