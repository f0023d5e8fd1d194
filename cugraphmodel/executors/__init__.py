"""Devices: the GPU through CuPy, the CPU through the host executor. One import a process."""

from __future__ import annotations

import logging
import re
import sys
import threading

from cugraphmodel.errors import ArgumentError, DeviceUnavailableError
from cugraphmodel.executors.base import Device
from cugraphmodel.forks import renew_lock_in_child

__all__ = ["open_device"]

_log = logging.getLogger(__name__)
_devices: dict[str, Device] = {}
_lock = threading.RLock()
renew_lock_in_child(sys.modules[__name__])


def open_device(name: str | None) -> Device:
    """The device of that name, opened once a process.

    Args:
        name: ``"cpu"``, ``"cpu:check"`` (its check mode, for faults in kernels), ``"cuda"`` (the
            first GPU), ``"cuda:1"``; None takes the first GPU if there is one, else the CPU, and
            says which through ``logging``.

    Raises:
        ArgumentError: the name is none of these.
        DeviceUnavailableError: it is not there or cannot be used.
    """
    if name is None:
        return _default_device()
    match = re.fullmatch(r"cpu(?::check)?|cuda(?::(\d+))?", name) if isinstance(name, str) else None
    if match is None:
        raise ArgumentError(f"device={name!r} is none of 'cpu', 'cpu:check', 'cuda', 'cuda:N'.")
    return _open_cached(name if name.startswith("cpu") else f"cuda:{int(match[1] or 0)}")


def _default_device() -> Device:
    from cugraphmodel.executors.cuda import cuda_available

    known = set(_devices)
    chosen = "cpu"
    if cuda_available():
        try:
            device = _open_cached("cuda:0")
            chosen = device.name
        except DeviceUnavailableError as error:
            _log.warning("There is a GPU, but it cannot be used: %s Using the CPU.", error)
    device = _open_cached(chosen)
    if chosen not in known:
        _log.info("Using device %s: %s", device.name, device.description)
    return device


def _open_cached(name: str) -> Device:
    with _lock:
        device = _devices.get(name)
        if device is None:
            device = _devices[name] = _open(name)
        return device


def _open(name: str) -> Device:
    if name.startswith("cpu"):
        from cugraphmodel.executors.host import HostDevice

        return HostDevice(checked=name == "cpu:check")
    from cugraphmodel.executors import cuda

    return cuda.open_device(int(name.removeprefix("cuda:")))
