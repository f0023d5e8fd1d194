"""Opening a GPU: every way in which it is not there says what to do."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from typing import Any

import pytest

from cugraphmodel.errors import DeviceUnavailableError
from cugraphmodel.executors.cuda import cuda_available, device, driver, open_device
from cugraphmodel.executors.cuda.driver import Driver
from tests.cuda.stand_in import CudaError, StandIn


def with_driver(monkeypatch: pytest.MonkeyPatch, found: Driver) -> None:
    monkeypatch.setattr(device, "probe", lambda: found)
    monkeypatch.setattr(driver, "probe", lambda: found)


class Library:
    """A libcuda that answers as told."""

    def __init__(self, version: int, init: int, count: int) -> None:
        self._version, self._init, self._count = version, init, count

    def cuDriverGetVersion(self, number: Any) -> int:  # noqa: N802  the driver's name
        number._obj.value = self._version
        return 0

    def cuInit(self, flags: int) -> int:  # noqa: N802
        assert flags == 0
        return self._init

    def cuDeviceGetCount(self, number: Any) -> int:  # noqa: N802
        number._obj.value = self._count
        return 0


@pytest.mark.parametrize(
    ("library", "num_devices", "problem"),
    [
        (Library(12080, 0, 2), 2, ""),
        (Library(13000, 0, 0), 0, "shows this process no GPU"),
        (Library(12040, 100, 5), 0, "shows this process no GPU"),
        (Library(12040, 803, 5), 0, "does not start (CUDA error 803)"),
    ],
)
def test_what_the_driver_says(
    library: Library, num_devices: int, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: library)
    found = driver.probe.__wrapped__()
    assert (found.num_devices, found.process_id) == (num_devices, os.getpid())
    assert problem in found.problem
    assert bool(problem) == bool(found.problem)
    assert found.cuda_version == (library._version // 1000, library._version % 1000 // 10)


def test_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with_driver(monkeypatch, driver.probe.__wrapped__())
    assert not cuda_available()
    with pytest.raises(DeviceUnavailableError) as raised:
        open_device(1)
    assert str(raised.value) == (
        "device='cuda:1' was asked for, but no NVIDIA driver was found. Mend that, or pass "
        "device='cpu'."
    )


@pytest.mark.parametrize("ordinal", [2, -1])
def test_no_such_gpu(ordinal: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, Driver(2, (12, 8), "", os.getpid()))
    with pytest.raises(DeviceUnavailableError, match="sees 2 GPU"):
        open_device(ordinal)


@pytest.mark.parametrize(
    ("version", "extra"), [((12, 4), "cuda12"), ((12, 9), "cuda12"), ((13, 0), "cuda13")]
)
def test_cupy_missing_names_the_extra_that_fits_the_driver(
    version: tuple[int, int], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_driver(monkeypatch, Driver(1, version, "", os.getpid()))
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DeviceUnavailableError, match=rf"pip install '.\[{extra}\]'") as raised:
        open_device()
    assert isinstance(raised.value.__cause__, ImportError)


def test_cupy_that_does_not_fit_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = StandIn()
    gpu.install(monkeypatch)
    with_driver(monkeypatch, Driver(1, (12, 4), "", os.getpid()))

    def fail(_ordinal: int) -> None:
        raise CudaError("getDeviceProperties", 35)

    monkeypatch.setattr(sys.modules["cupy.cuda.runtime"], "getDeviceProperties", fail)
    with pytest.raises(DeviceUnavailableError, match=r"status 35.*CUDA 12\.4.*\[cuda12\]"):
        open_device()


def test_a_device_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    StandIn().install(monkeypatch)
    with_driver(monkeypatch, Driver(2, (12, 8), "", os.getpid()))
    found = open_device(1)
    assert (found.name, found.architecture) == ("cuda:1", "sm_90")
    assert found.description == (
        "Stand-in (sm_90), driver for CUDA 12.8, CUDA runtime 12.9, NVRTC 12.9, CuPy 0"
    )


def test_a_driver_started_before_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, Driver(1, (12, 8), "", os.getpid() + 1))
    with pytest.raises(DeviceUnavailableError, match="spawn"):
        open_device()


def test_asking_whether_there_is_a_gpu_imports_no_cupy() -> None:
    body = (
        "import sys; from cugraphmodel.executors.cuda import cuda_available; cuda_available(); "
        "sys.exit('cupy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", body], check=True)
