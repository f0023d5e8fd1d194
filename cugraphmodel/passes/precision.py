"""How precise a captured graph computes, and which arithmetic gives that on a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from cugraphmodel.dtypes import BFLOAT16
from cugraphmodel.errors import ArgumentError
from cugraphmodel.ops.matmul.tensor_core import Arithmetic

__all__ = ["Numerics", "Precision", "numerics_of"]

Precision = Literal["fp32", "ieee", "tf32", "fp16", "bf16"]

STORAGE = {"fp16": np.dtype(np.float16), "bf16": BFLOAT16}
"""Modes that keep float32 values in another type between nodes."""

TENSOR_CORES_SINCE = (8, 0)
"""Compute capability of the first GPUs that have the instructions of ``tensor_core.cuh``."""

MEASURED: Mapping[tuple[int, int], Mapping[str, Arithmetic]] = {}
"""Compute capability -> dtype -> the arithmetic that is as exact as fused multiply-adds there and
was faster. Where nothing was measured, products are fused multiply-adds."""


@dataclass(frozen=True)
class Numerics:
    """What a precision means on a device.

    Attributes:
        storage: what float32 values are kept in between nodes; None for themselves.
        arithmetics: name of a dtype -> how tensor cores multiply it; a dtype left out has fused
            multiply-adds.
    """

    storage: np.dtype | None = None
    arithmetics: Mapping[str, Arithmetic] = field(default_factory=dict)


def numerics_of(precision: Precision, compute_capability: tuple[int, int] | None) -> Numerics:
    """What a precision means on a device.

    Args:
        precision: the mode asked for at capture. ``"tf32"`` rounds float32 operands of products to
            10 bits of fraction, and ``"fp16"`` and ``"bf16"`` keep values in those types, on every
            device alike.
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
    return Numerics(STORAGE.get(precision), found)
