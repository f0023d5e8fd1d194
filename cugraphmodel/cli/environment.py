"""``cugraphmodel env``: everything that a bug report needs."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import cugraphmodel
from cugraphmodel import settings
from cugraphmodel.errors import CuGraphModelError
from cugraphmodel.executors import open_device

__all__ = ["execute"]

_PACKAGES = (
    "numpy",
    "onnx",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "nvidia-cuda-nvrtc-cu12",
    "nvidia-cuda-nvrtc",
    "ziglang",
    "onnxruntime",
    "onnxruntime-gpu",
    "torch",
)


def execute(options: argparse.Namespace) -> None:
    """Print the facts."""
    facts = collect()
    print(json.dumps(facts) if options.json else _text(facts))


def collect() -> dict[str, Any]:
    """The facts, ready for JSON. What is absent is None."""
    return {
        "cugraphmodel": cugraphmodel.__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "processor": _processor(),
        "processors_usable": len(os.sched_getaffinity(0)),
        "packages": {name: _version(name) for name in _PACKAGES},
        "compilers": {name: _compiler(name) for name in ("c++", "g++", "clang++")},
        "devices": {name: _told(partial(_describe, name)) for name in ("cpu", "cuda")},
        "cache_dir": _told(settings.cache_dir),
        "environment": {
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith("CUGRAPHMODEL_") or name in ("CUDA_VISIBLE_DEVICES", "CXX")
        },
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _compiler(name: str) -> str | None:
    path = shutil.which(name)
    if path is None:
        return None
    answer = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return (answer.stdout or answer.stderr).partition("\n")[0]


def _describe(device: str) -> str:
    return open_device(device).description


def _told(ask: Callable[[], object]) -> str:
    """The answer, or why there is none: a broken machine is what bug reports are about."""
    try:
        return str(ask())
    except CuGraphModelError as error:
        return f"error: {error}"


def _text(facts: dict[str, Any]) -> str:
    lines = []
    for name, value in facts.items():
        if isinstance(value, dict):
            lines.append(f"{name}:")
            lines += [f"  {key}: {'-' if entry is None else entry}" for key, entry in value.items()]
        else:
            lines.append(f"{name}: {value}")
    return "\n".join(lines)
