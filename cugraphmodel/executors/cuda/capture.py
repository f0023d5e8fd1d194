"""Recording work into a CUDA graph, so that nothing else can get into it or break it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["capture"]

_capturing = threading.Lock()
"""One capture at a time, since switching the garbage collector off concerns the whole process."""


def capture(stream: Any, issue: Callable[[], None]) -> Any:
    """Record what ``issue`` puts on a stream, and instantiate it.

    The mode is thread-local: an allocation by another thread, which would break a capture in
    CUDA's global mode, does no harm. The garbage collector is off meanwhile, because a collection
    in this thread could free CUDA memory of someone else, which a capture forbids.

    Args:
        stream: CuPy stream, not the default one.
        issue: puts copies and launches on the stream and neither allocates nor waits.

    Returns:
        The ``cupy.cuda.Graph``. It keeps nothing alive that it points to.

    Raises:
        RuntimeError: CuPy's error of the call that failed. The stream is usable again.
    """
    from cupy.cuda import runtime

    with _capturing:
        collecting = gc.isenabled()
        gc.disable()
        try:
            stream.begin_capture(mode=runtime.streamCaptureModeThreadLocal)
            try:
                issue()
            except BaseException:
                with suppress(RuntimeError):  # that of issue() is the one to report
                    stream.end_capture()
                raise
            return stream.end_capture()
        finally:
            if collecting:
                gc.enable()
