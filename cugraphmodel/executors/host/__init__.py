"""The CPU device: the same kernels, compiled by a C++ compiler.

``cuda_host.h`` is the CUDA language for that compiler, ``runtime.cpp`` runs blocks of threads with
CUDA's barriers, warp operations and shared memory. In the check mode ``checker.cpp`` looks up every
access of a kernel.
"""

from __future__ import annotations

from cugraphmodel.executors.host.device import HostDevice, HostExecutable

__all__ = ["HostDevice", "HostExecutable"]
