"""Memory of the CPU device: aligned blocks, what is free, constants shared by graphs."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.arena import ALIGNMENT, align
from cugraphmodel.errors import DeviceMemoryError, ParameterError
from cugraphmodel.forks import renew_lock_in_child
from cugraphmodel.ir import Constant, Parameters

__all__ = ["HostWeightStore", "Resident", "allocate", "available_bytes", "view"]

Array = npt.NDArray[Any]


def allocate(num_bytes: int) -> Array:
    """Bytes aligned like those of ``cudaMalloc``. Memory that is never written takes no room.

    Raises:
        DeviceMemoryError: the system refuses them, because of a limit of this process, say.
    """
    try:
        raw = np.empty(num_bytes + ALIGNMENT, np.uint8)
    except MemoryError as error:
        have = available_bytes()
        raise DeviceMemoryError(
            f"The system refuses {num_bytes / 2**20:,.0f} MiB of memory ({have / 2**20:,.0f} MiB "
            "are free). Is there a limit on this process (ulimit -v)?",
            need_bytes=num_bytes,
            have_bytes=have,
        ) from error
    return raw[-raw.ctypes.data % ALIGNMENT :][:num_bytes]


def view(memory: Array, offset: int, dtype: np.dtype, shape: tuple[int, ...]) -> Array:
    """A tensor that lies in ``memory`` (uint8) from byte ``offset`` on."""
    return np.ndarray(shape, dtype, memory, offset)


def available_bytes() -> int:
    """Memory this process may still take: what the system and the control group have left."""
    free = _fields("/proc/meminfo")["MemAvailable:"] * 1024
    group = Path("/sys/fs/cgroup")
    try:
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        used -= _fields(str(group / "memory.stat"))["inactive_file"]  # cached files make room
    except (OSError, ValueError):  # no control group, or "max": no limit
        return free
    return min(free, max(limit - used, 0))


def _fields(path: str) -> dict[str, int]:
    """Name and number at the start of each line of a file of the kernel."""
    lines = (line.split() for line in Path(path).read_text().splitlines())
    return {words[0]: int(words[1]) for words in lines}


class Resident:
    """A constant in the device's memory."""

    def __init__(self, constant: Constant, params: Parameters) -> None:
        self.constant = constant
        self.memory = allocate(constant.type.num_bytes)
        self.write(constant.compute(params))

    def write(self, array: Array) -> None:
        """Overwrite it in place.

        Raises:
            ParameterError: dtype or size differ from what was planned.
        """
        expected = self.constant.type
        if array.dtype != expected.dtype or array.size != expected.size:
            raise ParameterError(
                f"Constant {self.constant.key!r} is {expected}, but what replaces it is "
                f"{array.dtype.name}{list(array.shape)}."
            )
        view(self.memory, 0, array.dtype, array.shape)[...] = array


class HostWeightStore:
    """The constants of one model; see :class:`cugraphmodel.executors.base.WeightStore`."""

    def __init__(self) -> None:
        self._residents: weakref.WeakValueDictionary[str, Resident] = weakref.WeakValueDictionary()
        self._lock = threading.RLock()
        renew_lock_in_child(self)

    def acquire(self, constants: Iterable[Constant], params: Parameters) -> dict[str, Resident]:
        """Constants by key, made now where they are not there yet. They live while held."""
        held: dict[str, Resident] = {}
        with self._lock:
            for constant in constants:
                resident = self._residents.get(constant.key)
                if resident is None:
                    resident = Resident(constant, params)
                    self._residents[constant.key] = resident
                held[constant.key] = resident
        return held

    def missing_bytes(self, constants: Iterable[Constant]) -> int:
        """Bytes that :meth:`acquire` would allocate."""
        unique = {constant.key: constant for constant in constants}
        return sum(
            align(constant.type.num_bytes)
            for key, constant in unique.items()
            if key not in self._residents
        )

    def update(self, constants: Mapping[str, Array]) -> None:
        """Overwrite constants in place; keys that no graph uses are left out."""
        with self._lock:
            for key, array in constants.items():
                resident = self._residents.get(key)
                if resident is not None:
                    resident.write(array)

    @property
    def num_bytes(self) -> int:
        """Bytes held now."""
        return sum(align(entry.constant.type.num_bytes) for entry in list(self._residents.values()))
