"""The few driver calls that CuPy does not offer, through ctypes on libcuda."""

from __future__ import annotations

import ctypes
import functools
import os
from dataclasses import dataclass

__all__ = ["Driver", "cuda_available", "probe", "record_event_in_capture"]

LIBRARY = "libcuda.so.1"
NO_DEVICE = 100
"""``CUDA_ERROR_NO_DEVICE`` of ``CUresult``, CUDA driver API."""
EVENT_RECORD_EXTERNAL = 1
"""``CU_EVENT_RECORD_EXTERNAL`` of ``CUevent_record_flags``, CUDA driver API."""


@dataclass(frozen=True)
class Driver:
    """What the NVIDIA driver says about this process.

    Attributes:
        num_devices: GPUs this process may use (``CUDA_VISIBLE_DEVICES`` counts).
        cuda_version: newest CUDA release the driver supports, (0, 0) without a driver.
        problem: why there are no devices; empty if there are some.
        process_id: the process that asked. One forked from it later cannot use the driver.
    """

    num_devices: int
    cuda_version: tuple[int, int]
    problem: str
    process_id: int


@functools.cache
def probe() -> Driver:
    """Ask the driver, once a process: its answer never changes.

    This starts the driver, which does not survive a fork: a process forked afterwards gets the
    cached answer, and learns from its ``process_id`` that it cannot use the GPU.
    """
    version, problem, count = (0, 0), "", ctypes.c_int(0)
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return Driver(0, version, "no NVIDIA driver was found", os.getpid())
    if library.cuDriverGetVersion(ctypes.byref(count)) == 0:
        version = (count.value // 1000, count.value % 1000 // 10)
    count.value = 0
    status = library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count))
    if status not in (0, NO_DEVICE):
        problem = f"the NVIDIA driver does not start (CUDA error {status})"
    elif count.value == 0:
        problem = "the NVIDIA driver shows this process no GPU"
    return Driver(count.value, version, problem, os.getpid())


def cuda_available() -> bool:
    """Whether the driver shows a GPU. Cheap: does not import CuPy and makes no CUDA context."""
    return probe().num_devices > 0


def record_event_in_capture(event: int, stream: int) -> None:
    """Make recording an event a node of the graph that ``stream`` is capturing.

    An ordinary record during capture only marks a dependency and leaves no time behind; see
    ``cudaEventRecordExternal`` in the CUDA runtime API, "Event Management".

    Args:
        event: handle of an event made with timing enabled.
        stream: handle of the capturing stream.

    Raises:
        RuntimeError: the driver refused.
    """
    record = ctypes.CDLL(LIBRARY).cuEventRecordWithFlags
    status = record(
        ctypes.c_void_p(event), ctypes.c_void_p(stream), ctypes.c_uint(EVENT_RECORD_EXTERNAL)
    )
    if status != 0:
        raise RuntimeError(f"cuEventRecordWithFlags failed with CUDA error {status}.")
