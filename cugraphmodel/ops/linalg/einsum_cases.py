"""Cases of Einsum."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import kind_of
from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _case(
    name: str,
    equation: str,
    *shapes: tuple[int, ...],
    dtype: str = "float32",
    same: str | None = None,
) -> OpCase:
    """``same``: an equation that means the same, for NumPy."""

    def expected(*inputs: Array) -> list[Array]:
        """Integers wrap, also when the sum is cut to their type at the end."""
        is_float = kind_of(inputs[0].dtype) == "f"
        wide = [array.astype(np.float64 if is_float else np.int64) for array in inputs]
        return [np.einsum(same or equation, *wide).astype(np.float64 if is_float else dtype)]

    inputs = [OpCase.random(seed, *shape, dtype=dtype) for seed, shape in enumerate(shapes)]
    return OpCase(name, "Einsum", inputs, {"equation": equation}, expected=expected)


CASES = [
    _case("transposed", "ij->ji", (3, 5)),
    _case("implicit_transposed", "ba", (3, 5)),
    _case("diagonal", "...ii->...i", (2, 4, 4)),
    _case("trace", "ii", (5, 5)),
    _case("sum_of_rows", "ij -> i", (3, 40)),
    _case("sum_of_diagonals", "iij->j", (4, 4, 3)),
    _case("sum_and_transposed", "ijk->ki", (3, 5, 4)),
    _case("all", "...->", (3, 5, 4), same="ijk->"),
    _case("scalar", "->", ()),
    _case("implicit", "ij,jk", (3, 4), (4, 5)),
    _case("scalars", ",ij->ji", (), (3, 4)),
    _case("outer", "i,j->ij", (300,), (4,)),
    _case("elementwise", "ij,ji->ij", (3, 4), (4, 3)),
    _case("dot", "i,i->", (500,), (500,)),
    _case("long_dot", "ij,ji->", (130, 130), (130, 130)),
    _case("few_long_sums", "bij,bij->b", (2, 128, 129), (2, 128, 129), dtype="float16"),
    _case("bilinear", "bn,anm,bm->ba", (2, 5), (4, 5, 3), (2, 3)),
    _case("chain_of_four", "ij,jk,kl,lm->im", (2, 9), (9, 3), (3, 8), (8, 4)),
    _case("sums_of_one_operand", "ij,kl->k", (3, 4), (5, 6)),
    _case("diagonal_of_two", "iij,ij->i", (4, 4, 3), (4, 3)),
    _case("ellipses", "...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    _case("ellipsis_last", "i...,j...->ij...", (3, 2, 2), (4, 2, 2)),
    _case("ellipsis_summed", "i...,i...->i", (3, 4, 2), (3, 4, 2), same="ijk,ijk->i"),
    _case("broadcast", "ij,ij->ij", (1, 4), (3, 4)),
    _case("upper_case", "aB,Bc", (3, 4), (4, 2)),
    _case("heads", "bqhd,bkhd->bhqk", (2, 20, 4, 36), (2, 24, 4, 36)),
    _case("heads_back", "bhqk,bkhd->bqhd", (2, 4, 20, 40), (2, 40, 4, 24)),
    _case("matrices", "ij,jk->ik", (65, 66), (66, 67)),
    _case("transposed_matrices", "ji,kj->ki", (66, 65), (68, 66)),
    _case("two_depths", "ijk,klj->il", (60, 8, 9), (9, 64, 8)),
    _case("mixed_widths", "ij,jk,kl->il", (40, 64), (64, 80), (80, 72), dtype="float16"),
    _case("no_summands", "ij,jk->ik", (3, 0), (0, 2)),
    _case("empty", "ij,jk->ik", (0, 3), (3, 2)),
    *(
        _case(dtype, "bij,bjk->bik", (2, 3, 70), (2, 70, 4), dtype=dtype)
        for dtype in ("float64", "float16", "bfloat16", "int8", "uint16", "int32", "uint64")
    ),
    _case("int32_matrices", "ij,jk->ik", (65, 66), (66, 67), dtype="int32"),
]
