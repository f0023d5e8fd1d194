"""One GPU as a device of this library."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from cugraphmodel.errors import DeviceUnavailableError
from cugraphmodel.executors.base import Progress, WeightStore
from cugraphmodel.executors.cuda.ahead import compile_ahead
from cugraphmodel.executors.cuda.compiler import load_kernels, modules_of
from cugraphmodel.executors.cuda.driver import probe
from cugraphmodel.executors.cuda.executable import CudaExecutable
from cugraphmodel.executors.cuda.staging import COPY_KERNEL
from cugraphmodel.executors.cuda.weights import CudaWeightStore
from cugraphmodel.ir import Parameters
from cugraphmodel.ops.launch import Launch
from cugraphmodel.plan import Plan

__all__ = ["CudaDevice", "open_device"]


class CudaDevice:
    """One GPU. Made by :func:`open_device`.

    Attributes:
        ordinal: index among the GPUs this process may use.
        name: ``"cuda:<ordinal>"``.
        description: GPU, driver, CUDA runtime, NVRTC and CuPy, for people.
        compute_capability: e.g. ``(9, 0)``.
        architecture: what kernels are compiled for, e.g. ``"sm_90"``.
    """

    def __init__(self, ordinal: int) -> None:
        import cupy
        from cupy.cuda import nvrtc, runtime

        properties = runtime.getDeviceProperties(ordinal)
        capability = 10 * properties["major"] + properties["minor"]
        nvrtc_version = ".".join(map(str, nvrtc.getVersion()))
        if capability not in nvrtc.getSupportedArchs():
            raise RuntimeError(f"NVRTC {nvrtc_version} does not compile for sm_{capability}")
        self.ordinal = ordinal
        self.name = f"cuda:{ordinal}"
        self.compute_capability: tuple[int, int] | None = (
            properties["major"],
            properties["minor"],
        )
        self.architecture = f"sm_{capability}"
        self.description = (
            f"{properties['name'].decode()} ({self.architecture}), "
            f"driver for CUDA {_version(runtime.driverGetVersion())}, "
            f"CUDA runtime {_version(runtime.runtimeGetVersion())}, "
            f"NVRTC {nvrtc_version}, CuPy {cupy.__version__}"
        )
        self._runtime: Any = runtime
        self._pid = os.getpid()

    def __repr__(self) -> str:
        return f"<{self.name}: {self.description}>"

    @property
    def usable(self) -> bool:
        """False in a process forked from the one that opened the device."""
        return os.getpid() == self._pid

    def enter(self) -> int:
        """Make this the calling thread's current device.

        Returns:
            Ordinal of the device that was current, for :meth:`leave`.

        Raises:
            DeviceUnavailableError: this process was forked from the one that opened the device.
        """
        if os.getpid() != self._pid:
            raise _forked(self.name)
        previous: int = self._runtime.getDevice()
        if previous != self.ordinal:
            self._runtime.setDevice(self.ordinal)
        return previous

    def leave(self, previous: int) -> None:
        """Make the device that was current before :meth:`enter` current again."""
        if previous != self.ordinal:
            self._runtime.setDevice(previous)

    @contextmanager
    def current(self) -> Iterator[None]:
        """This device is the calling thread's current one inside the block."""
        previous = self.enter()
        try:
            yield
        finally:
            self.leave(previous)

    def compile(self, launches: Sequence[Launch], progress: Progress | None = None) -> None:
        """See :meth:`cugraphmodel.executors.base.Device.compile`."""
        compile_ahead(list(modules_of(launches)), self.architecture, progress)

    def weight_store(self) -> CudaWeightStore:
        """A new, empty store."""
        return CudaWeightStore(self)

    def prepare(
        self,
        plan: Plan,
        store: WeightStore,
        params: Parameters,
        *,
        capture: bool,
        progress: Progress | None = None,
    ) -> CudaExecutable:
        """Compile, allocate, upload missing weights, warm up and (if asked) capture.

        Raises:
            KernelCompileError, DeviceMemoryError, CaptureError: see the classes; all memory
                taken is given back.
            DeviceUnavailableError: this process was forked after the device was opened.
            TypeError: the store belongs to another device.
        """
        if not isinstance(store, CudaWeightStore) or store.device is not self:
            raise TypeError(f"{store!r} was not made by {self.name}.weight_store().")
        with self.current():
            launches = [COPY_KERNEL, *(step.launch for step in plan.steps)]
            compile_ahead(list(modules_of(launches)), self.architecture, progress)
            kernels = load_kernels(launches, self.architecture, progress)
            return CudaExecutable(self, plan, store, params, kernels, capture=capture)


def open_device(ordinal: int = 0) -> CudaDevice:
    """The GPU with this index among those that the process may use.

    Raises:
        DeviceUnavailableError: no driver, no such GPU, CuPy missing or broken, or a process that
            was forked after its parent used CUDA.
    """
    asked = f"device='cuda:{ordinal}' was asked for"
    driver = probe()
    if driver.problem:
        raise DeviceUnavailableError(
            f"{asked}, but {driver.problem}. Mend that, or pass device='cpu'."
        )
    if not 0 <= ordinal < driver.num_devices:
        raise DeviceUnavailableError(
            f"{asked}, but this process sees {driver.num_devices} GPU(s), counted from 0."
        )
    if driver.process_id != os.getpid():
        raise _forked(f"cuda:{ordinal}")
    try:
        return CudaDevice(ordinal)
    except Exception as error:
        extra = "cuda13" if driver.cuda_version >= (13, 0) else "cuda12"
        raise DeviceUnavailableError(
            f"{asked}, but CuPy cannot use it ({type(error).__name__}: {error}). The driver "
            f"supports CUDA {'.'.join(map(str, driver.cuda_version))}: "
            f"run pip install '.[{extra}]' in a clone of cugraphmodel, with no other CuPy package "
            "installed."
        ) from error


def _forked(name: str) -> DeviceUnavailableError:
    return DeviceUnavailableError(
        f"{name} was used before this process was forked, and CUDA does not survive a fork. "
        "Start workers with multiprocessing's 'spawn' or 'forkserver' method, and load the "
        "model inside the worker."
    )


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
