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


_LARGE_ANGLES = "CUDA's own reduction of large angles works on an array of digits."
_ONE_PTXAS = "So few registers are used that this is one ptxas's choice and no want of space."
_BLOCK = "64 registers are all that a thread has in blocks of 1024."
_TILE = (
    "255 registers do not hold a thread's tile and what it has fetched of the next one. What that "
    "costs has not been measured."
)


def _trigonometric(name: str) -> Allowance:
    macros = (("EXPRESSION", f"cg_{name}(x0)"),)
    return Allowance("ops/elementwise/elementwise.cu", "elementwise", _LARGE_ANGLES, 40, 0, macros)


def _tile(source: str, kernel: str, spill_bytes: int, local_bytes: int, **macros: str) -> Allowance:
    return Allowance(source, kernel, _TILE, local_bytes, spill_bytes, tuple(macros.items()))


ALLOWANCES: tuple[Allowance, ...] = (
    _tile("ops/conv/conv.cu", "conv", 632, 280, TILE_ROWS="64", VECTOR="1"),
    _tile(
        "ops/matmul/gemm.cu", "gemm", 1124, 424, TILE_ROWS="64", VECTOR_LEFT="1", VECTOR_RIGHT="4"
    ),
    _tile(
        "ops/matmul/gemm.cu", "gemm", 708, 320, TILE_ROWS="64", VECTOR_LEFT="4", VECTOR_RIGHT="1"
    ),
    _tile("ops/matmul/gemm.cu", "gemm", 72, 40, TILE_ROWS="32", SCALAR="double"),
    _tile("ops/matmul/gemm.cu", "gemm", 552, 280, TILE_ROWS="16", SCALAR="double"),
    _tile("ops/matmul/gemm.cu", "gemm", 480, 240, TILE_ROWS="16", SCALAR="unsigned long long"),
    _tile("ops/matmul/gemm.cu", "gemm", 96, 48, TILE_ROWS="16"),
    _tile("ops/conv/mma_conv.cu", "mma_conv", 8, 8, TILE_ROWS="128", SCALAR="float"),
    _tile("ops/matmul/quantized_gemm.cu", "quantized_gemm", 64, 24, TILE_ROWS="16"),
    Allowance("ops/matmul/quantized_gemv.cu", "quantized_gemv_column", _BLOCK, 24, spill_bytes=80),
    _trigonometric("sin"),
    _trigonometric("cos"),
    _trigonometric("tan"),
    Allowance("ops/matmul/gemv.cu", "gemv_column", _ONE_PTXAS, 8, spill_bytes=8),
    Allowance(
        "ops/conv/channels_last_direct.cu",
        "channels_last_direct",
        _ONE_PTXAS,
        8,
        spill_bytes=8,
        macros=(("SCALAR", "double"),),
    ),
    Allowance("ops/conv/col2im.cu", "col2im", _ONE_PTXAS, 16, spill_bytes=32),
    Allowance("ops/linalg/einsum_warp.cu", "contract_by_warp", _ONE_PTXAS, 8, spill_bytes=16),
    Allowance("ops/sampling/roi.cu", "roi_align", _ONE_PTXAS, 40, spill_bytes=140),
    Allowance("ops/select/unique.cu", "rank_firsts", _ONE_PTXAS, 8, spill_bytes=16),
    Allowance("ops/ml/tfidf.cu", "count_grams", _ONE_PTXAS, 16, spill_bytes=48),
    Allowance("ops/movement/cumulative.cu", "cumulative", _ONE_PTXAS, 48, spill_bytes=140),
    Allowance("ops/sampling/deform_conv.cu", "deform_columns", _ONE_PTXAS, 8, spill_bytes=20),
    Allowance("ops/sampling/grid_sample.cu", "grid_sample", _ONE_PTXAS, 8, spill_bytes=8),
    Allowance("ops/signal/dft_stage.cu", "dft_stage", _ONE_PTXAS, 16, spill_bytes=28),
    Allowance("ops/resize/resize.cu", "resize_axis", _ONE_PTXAS, 8, spill_bytes=64),
)


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
