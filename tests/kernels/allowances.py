"""Kernels that may use local memory, and why. All others keep everything in registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.kernels.resources import Compiled, Instance

__all__ = ["ALLOWANCES", "Allowance", "allowance_for", "excess"]


@dataclass(frozen=True)
class Allowance:
    """How much local memory a kernel may use.

    Attributes:
        source, kernel: which.
        reason: why that is right, or what it would cost to do without.
        spill_bytes, local_bytes: per thread, as in ``Usage``.
        macros: macros that the instance must have; others do not matter.
    """

    source: str
    kernel: str
    reason: str
    local_bytes: int
    spill_bytes: int = 0
    macros: tuple[tuple[str, str], ...] = ()


ALLOWANCES: tuple[Allowance, ...] = ()


def allowance_for(instance: Instance, kernel: str) -> Allowance | None:
    """The first one in the list that fits."""
    for allowance in ALLOWANCES:
        names = (allowance.source, allowance.kernel)
        if names == (instance.source, kernel) and set(allowance.macros) <= set(instance.macros):
            return allowance
    return None


def excess(instance: Instance, architecture: str, compiled: Compiled) -> Iterator[str]:
    """A sentence for every kernel that uses more local memory than it may."""
    for kernel, usage in compiled.kernels.items():
        allowance = allowance_for(instance, kernel)
        spill_bytes = allowance.spill_bytes if allowance else 0
        local_bytes = allowance.local_bytes if allowance else 0
        if usage.spill_bytes > spill_bytes or usage.local_bytes > local_bytes:
            yield (
                f"{kernel} of {instance} for {architecture} spills {usage.spill_bytes} bytes and "
                f"has {usage.local_bytes} bytes of local memory; allowed are {spill_bytes} and "
                f"{local_bytes}. Mend the kernel, or list it in tests/kernels/allowances.py with "
                "a reason."
            )
