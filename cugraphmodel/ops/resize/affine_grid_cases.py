"""Cases of AffineGrid."""

from __future__ import annotations

import functools

import numpy as np

from cugraphmodel.ops.case import Array, OpCase

__all__ = ["CASES"]


def _coordinates(size: int, align_corners: bool) -> Array:
    if align_corners:
        return np.linspace(-1, 1, size) if size > 1 else np.zeros(1)
    return (2 * np.arange(size) + 1) / size - 1


def _expected(align_corners: bool, theta: Array, size: Array) -> list[Array]:
    axes = [_coordinates(int(extent), align_corners) for extent in size[2:]]
    mesh = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(size[2:])], axis=-1)
    return [np.einsum("nij,...j->n...i", theta.astype(np.float64), mesh)]


def _case(name: str, *size: int, align: int = 0, dtype: str = "float32") -> OpCase:
    rank = len(size) - 2
    theta = OpCase.random(len(name), size[0], rank, rank + 1, dtype=dtype)
    return OpCase(
        name, "AffineGrid", [theta, np.array(size)], {"align_corners": align}, 20,
        expected=functools.partial(_expected, bool(align)),
    )  # fmt: skip


CASES = [
    _case("images", 2, 3, 5, 6),
    _case("images_aligned", 2, 3, 5, 6, align=1),
    _case("volumes", 1, 1, 3, 4, 5),
    _case("volumes_aligned", 2, 1, 3, 4, 5, align=1),
    _case("one_row_aligned", 1, 1, 1, 7, align=1),
    _case("float16", 1, 2, 9, 33, dtype="float16"),
    _case("float64", 2, 1, 4, 4, dtype="float64"),
]
