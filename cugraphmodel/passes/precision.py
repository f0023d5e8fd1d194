"""How precise the products of a captured graph are, and which arithmetic gives that on a device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from cugraphmodel.errors import ArgumentError
from cugraphmodel.ops.matmul.tensor_core import Arithmetic

__all__ = ["Precision", "arithmetics_of"]

Precision = Literal["fp32", "ieee", "tf32"]

TENSOR_CORES_SINCE = (8, 0)
"""Compute capability of the first GPUs that have the instructions of ``tensor_core.cuh``."""

MEASURED: Mapping[tuple[int, int], Mapping[str, Arithmetic]] = {}
"""Compute capability -> dtype -> the arithmetic that is as exact as fused multiply-adds there and
was faster. Where nothing was measured, products are fused multiply-adds."""


def arithmetics_of(
    precision: Precision, compute_capability: tuple[int, int] | None
) -> Mapping[str, Arithmetic]:
    """Name of a dtype -> how tensor cores multiply it; a dtype left out has fused multiply-adds.

    Args:
        precision: the mode asked for at capture. ``"tf32"`` rounds float32 operands of products to
            10 bits of fraction on every device alike.
        compute_capability: of the GPU; None for the CPU.

    Raises:
        ArgumentError: no such mode, or one that the device has no tensor cores for.
    """
    if precision not in get_args(Precision):
        *names, last = map(repr, get_args(Precision))
        raise ArgumentError(f"precision={precision!r} is not {', '.join(names)} or {last}.")
    found = dict(MEASURED.get(compute_capability, {})) if compute_capability else {}
    if precision == "ieee":
        found.pop("float32", None)
    if precision == "tf32":
        if compute_capability is not None and compute_capability < TENSOR_CORES_SINCE:
            raise ArgumentError(
                "precision='tf32' needs a GPU of compute capability 8.0 or newer; this one has "
                f"{compute_capability[0]}.{compute_capability[1]}. Use 'fp32'."
            )
        found["float32"] = "tf32"
    return found
