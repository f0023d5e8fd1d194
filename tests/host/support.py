"""Compiling small kernels for the tests of the host executor."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.executors.host.module import HostKernel, HostModule
from cugraphmodel.kernels.source import Source

Array = npt.NDArray[Any]

ORDERS = [("forward", 0), ("reverse", 0), ("random", 1), ("random", 20)]


@functools.cache
def kernel(text: str, entry: str = "test", macros: tuple[tuple[str, str], ...] = ()) -> HostKernel:
    """An entry point of a source that is given as text."""
    module = HostModule(Source("test.cu", f'#include "device.cuh"\n{text}'), macros)
    return module.get_function(entry)


def random(seed: int, *shape: int) -> Array:
    """Normal float32 data."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)
