"""The machine that ``tests/gpu_report.py`` runs on."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

__all__ = ["cupy_package", "machine"]


def machine() -> dict[str, Any]:
    """GPU, driver, and the versions of everything between it and Python."""
    import cupy

    from cugraphmodel.executors import open_device

    smi = shutil.which("nvidia-smi")
    query = ["--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"]
    driver = "unknown"
    if smi is not None:
        done = subprocess.run([smi, *query], capture_output=True, text=True, check=False)
        driver = done.stdout.strip() or driver
    return {
        "gpu": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "driver": driver,
        "device": open_device("cuda").description,
        "python": platform.python_version(),
        "packages": {
            name: importlib.metadata.version(name) for name in ("numpy", "onnx", "pytest")
        },
    }


def cupy_package() -> str:
    """Name of the installed package that the imported CuPy belongs to."""
    import cupy

    home = Path(cupy.__file__).resolve()
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"] or ""
        place = Path(str(distribution.locate_file("cupy/__init__.py")))
        if name.startswith("cupy") and place.resolve() == home:
            return name
    return "cupy"
