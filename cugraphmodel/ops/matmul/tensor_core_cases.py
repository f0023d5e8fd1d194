"""Cases of matrix products on tensor cores: FusedMatMul and FusedGemm with an arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

Array = npt.NDArray[Any]
__all__ = ["CASES", "as_multiplied"]

DTYPES = {"tf32x3": "float32", "tf32": "float32", "f16": "float16", "bf16": "bfloat16"}


def as_multiplied(array: Array, arithmetic: str) -> Array:
    """An operand as the arithmetic sees it, in float64."""
    if arithmetic != "tf32":
        return array.astype(np.float64)
    bits = array.view(np.uint32)
    finite = np.isfinite(array)
    rounded = np.where(finite, (bits + 0x1000) & 0xFFFFE000, bits).astype(np.uint32)
    return rounded.view(np.float32).astype(np.float64)


def _product(
    attributes: dict[str, Any], activation: Callable[[Array], Array]
) -> Callable[..., Sequence[Array]]:
    def expected(left: Array, right: Array, *bias: Array) -> Sequence[Array]:
        arithmetic = attributes["arithmetic"]
        a, b = as_multiplied(left, arithmetic), as_multiplied(right, arithmetic)
        y = attributes.get("alpha", 1.0) * (a @ np.swapaxes(b, -1, -2))
        if bias:
            y = y + attributes.get("beta", 1.0) * bias[0].astype(np.float64)
        return [activation(y)]

    return expected


def _case(
    name: str,
    arithmetic: str,
    left: Sequence[int] | Array,
    right: Sequence[int] | Array,
    bias: tuple[int, ...] | None = None,
    op_type: str = "FusedMatMul",
    activation: str = "cg_act_none",
    **attributes: Any,
) -> OpCase:
    """A case whose right operand is [columns, depth]; shapes stand for random arrays."""
    dtype = DTYPES[arithmetic]
    inputs = [
        given if isinstance(given, np.ndarray) else OpCase.random(seed, *given, dtype=dtype)
        for seed, given in enumerate((left, right))
    ]
    if bias is not None:
        inputs.append(OpCase.random(5, *bias, dtype=dtype))
    apply = np.tanh if activation == "cg_act_tanh" else np.asarray
    attributes |= {"arithmetic": arithmetic, "transB": 1, "activation": activation}
    return OpCase(
        f"{arithmetic}_{name}",
        op_type,
        inputs,
        attributes,
        opset=1,
        domain="cugraphmodel",
        expected=_product(attributes, apply),
    )


def _with(array: Array, **values: float) -> Array:
    """A copy with some elements replaced: ``r2c5=inf`` is row 2, column 5."""
    changed = array.copy()
    for place, value in values.items():
        row, column = place[1:].split("c")
        changed[int(row), int(column)] = value
    return changed


_LEFT, _RIGHT = OpCase.random(1, 20, 40), OpCase.random(2, 33, 40)
_MIXED = (_LEFT * np.logspace(-30, 30, 20)[:, None]).astype(np.float32)

PRODUCTS = [
    _case(name, arithmetic, left, right, bias)
    for arithmetic in DTYPES
    for name, left, right, bias in (
        ("small_tiles", (37, 72), (41, 72), (41,)),
        ("exact_tiles", (64, 64), (32, 64), None),
        ("sixteen_rows", (9, 40), (70, 40), (70,)),
        ("large_tiles", (650, 24), (720, 24), (720,)),
        ("slices", (33, 520), (40, 520), (40,)),
        ("slices_of_sixteen_rows", (16, 1032), (24, 1032), (24,)),
        ("batch", (3, 20, 24), (3, 9, 24), None),
        ("one_chunk", (6, 8), (8, 8), None),
    )
]

EPILOGUES = [
    _case("tanh", "tf32x3", _LEFT / 10, (33, 40), (33,), activation="cg_act_tanh"),
    _case("column_bias", "tf32x3", (20, 40), (33, 40), (20, 1), "FusedGemm", alpha=0.5, beta=2.0),
    _case("full_bias_of_slices", "tf32x3", (20, 600), (33, 600), (20, 33), "FusedGemm", beta=-1.5),
    _case("right_batch", "tf32x3", (20, 24), (2, 3, 9, 24)),
    _case("broadcast_batches", "f16", (2, 1, 20, 24), (1, 3, 9, 24)),
]

SPECIAL = [
    _case("infinities", "tf32x3", _with(_LEFT, r2c5=np.inf, r7c0=-np.inf), _RIGHT),
    _case("infinity_times_zero", "tf32x3", _with(_LEFT, r2c5=np.inf), _with(_RIGHT, r3c5=0)),
    _case("nan", "tf32x3", _LEFT, _with(_RIGHT, r32c39=np.nan)),
    _case("overflow", "tf32x3", _with(_LEFT, r0c0=3e38), _with(_RIGHT, r1c0=1e3)),
    _case("largest_float", "tf32x3", _with(_LEFT * 0, r4c4=3.4028235e38), _RIGHT * 0 + 1),
    _case("subnormal_operands", "tf32x3", _LEFT * np.float32(1e-40), _RIGHT * np.float32(1e6)),
    _case("subnormal_weights", "tf32x3", _LEFT * np.float32(1e6), _RIGHT * np.float32(1e-41)),
    _case("tiny_sums", "tf32x3", _LEFT * np.float32(1e-20), _RIGHT * np.float32(1e-17)),
    _case("huge", "tf32x3", _LEFT * np.float32(1e30), _RIGHT * np.float32(1e6)),
    _case("mixed_scales", "tf32x3", _MIXED, _RIGHT),
    _case("zeros", "tf32x3", _LEFT * 0, _RIGHT),
    _case(
        "infinity_over_slices", "tf32x3", _with(OpCase.random(1, 20, 520), r3c500=np.inf), (9, 520)
    ),
    _case("infinity", "tf32", _with(_LEFT, r2c5=np.inf), _RIGHT),
    _case(
        "infinity", "f16", _with(OpCase.random(1, 20, 40, dtype="float16"), r2c5=np.inf), (9, 40)
    ),
]
CASES = [*PRODUCTS, *EPILOGUES, *SPECIAL]
