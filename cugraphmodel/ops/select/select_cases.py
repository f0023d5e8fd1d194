"""Cases of the operators whose output has as many elements as the data decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES", "chosen_boxes", "nonzero_coordinates", "unique_slices"]

Array = npt.NDArray[Any]


def _padded(array: Array, axis: int, size: int, fill: int) -> Array:
    missing = [(0, 0)] * array.ndim
    missing[axis] = (0, size - array.shape[axis])
    return np.pad(array, missing, constant_values=fill)


def nonzero_coordinates(x: Array) -> list[Array]:
    found = np.array(np.nonzero(x)) if x.ndim else np.zeros((0, int(x != 0)), np.int64)
    return [_padded(found, 1, x.size, -1), np.array(np.count_nonzero(x))]


def _compress(axis: int | None) -> Callable[[Array, Array], Sequence[Array]]:
    def expected(data: Array, condition: Array) -> list[Array]:
        found = np.compress(condition, data, axis)
        padded = _padded(found, 0 if axis is None else axis, condition.size, 0)
        return [padded, np.array(condition.sum())]

    return expected


def unique_slices(axis: int | None, is_sorted: bool) -> Callable[[Array], Sequence[Array]]:
    def expected(x: Array) -> list[Array]:
        y, places, inverse, counts = np.unique(
            x, return_index=True, return_inverse=True, return_counts=True, axis=axis
        )
        along = 0 if axis is None else axis
        if not is_sorted:
            order = np.argsort(places)
            y, places, counts = y.take(order, along), places[order], counts[order]
            inverse = np.argsort(order)[inverse]
        size = x.size if axis is None else x.shape[axis]
        return [
            _padded(y, along, size, 0),
            _padded(places, 0, size, -1),
            inverse.ravel(),
            _padded(counts, 0, size, 0),
            np.array(len(places)),
        ]

    return expected


def chosen_boxes(
    boxes: Array,
    scores: Array,
    most: Array | None = None,
    overlap: Array | None = None,
    least: Array | None = None,
    *,
    centres: bool = False,
) -> list[Array]:
    corners = boxes.astype(np.float64)
    if centres:
        middle, half = corners[..., :2], corners[..., 2:] / 2
        corners = np.concatenate([middle - half, middle + half], -1)
    low = np.minimum(corners[..., :2], corners[..., 2:])
    high = np.maximum(corners[..., :2], corners[..., 2:])
    rows: list[tuple[int, int, int]] = []
    limit = 0 if most is None else min(int(most.item()), boxes.shape[1])
    threshold = 0.0 if overlap is None else float(overlap.item())
    lowest = -np.inf if least is None else float(least.item())
    for n, c in np.ndindex(*scores.shape[:2]):
        chosen: list[int] = []
        for box in np.argsort(-scores[n, c], kind="stable"):
            if len(chosen) == limit or scores[n, c, box] <= lowest:
                break
            if not any(_share(low[n], high[n], box, other) > threshold for other in chosen):
                chosen.append(int(box))
        rows += [(n, c, box) for box in chosen]
    whole = np.array(rows, np.int64).reshape(-1, 3)
    return [_padded(whole, 0, scores.shape[0] * scores.shape[1] * limit, -1), np.array(len(rows))]


def _share(low: Array, high: Array, a: int, b: int) -> float:
    sides = np.minimum(high[a], high[b]) - np.maximum(low[a], low[b])
    if (sides <= 0).any():
        return 0.0
    shared = float(sides.prod())
    return shared / float((high[a] - low[a]).prod() + (high[b] - low[b]).prod() - shared)


def _case(
    op_type: str,
    name: str,
    inputs: Sequence[Array | None],
    expected: Callable[..., Sequence[Array]],
    **attributes: Any,
) -> OpCase:
    return OpCase(
        name,
        f"Bounded{op_type}",
        inputs,
        attributes,
        13,
        num_outputs=5 if op_type == "Unique" else 2,
        expected=expected,
        domain="cugraphmodel",
    )


def _sparse(seed: int, *shape: int, dtype: str = "float32") -> Array:
    return np.round(OpCase.random(seed, *shape)).astype(dtype)


_SPECIAL = np.array([[0.0, -0.0, np.nan], [np.inf, 1e-45, 0.0]], np.float32)
_FEW = np.array([2, 1, 1, 3, 4, 3], np.int64)
_ROWS = np.array([[1, 0, 0], [2, 3, 4], [1, 0, 0], [1, 0, -1]], np.float32)
_BOXES = np.random.default_rng(3).uniform(0, 3, (2, 40, 4)).astype(np.float32)
_SCORES = np.round(OpCase.random(4, 2, 3, 40), 1)
_MOST = np.array([10], np.int64)


def _number(value: float) -> Array:
    return np.array([value], np.float32)


CASES = [
    _case("NonZero", "image", [_sparse(1, 3, 4, 5)], nonzero_coordinates),
    _case("NonZero", "several_chunks", [_sparse(2, 66_001, dtype="int8")], nonzero_coordinates),
    _case("NonZero", "special_values", [_SPECIAL], nonzero_coordinates),
    _case("NonZero", "scalar", [np.array(3.0, np.float32)], nonzero_coordinates),
    _case("NonZero", "empty", [np.zeros((2, 0), np.float32)], nonzero_coordinates),
    _case("NonZero", "bool", [OpCase.random(3, 700, dtype="bool")], nonzero_coordinates),
    _case("NonZero", "float16", [_sparse(4, 40, dtype="float16")], nonzero_coordinates),
    _case(
        "Compress",
        "rows",
        [OpCase.random(5, 6, 5), OpCase.random(6, 6, dtype="bool")],
        _compress(0),
        axis=0,
    ),
    _case(
        "Compress",
        "fewer_decisions",
        [OpCase.random(7, 2, 9, 3, dtype="int16"), OpCase.random(8, 7, dtype="bool")],
        _compress(1),
        axis=-2,
    ),
    _case(
        "Compress",
        "elements",
        [OpCase.random(9, 20, 20, dtype="float64"), OpCase.random(10, 400, dtype="bool")],
        _compress(None),
    ),
    _case("NonMaxSuppression", "defaults", [_BOXES, _SCORES], chosen_boxes),
    _case(
        "NonMaxSuppression",
        "thresholds",
        [_BOXES, _SCORES, _MOST, _number(0.3), _number(0.2)],
        chosen_boxes,
    ),
    _case(
        "NonMaxSuppression",
        "centres",
        [_BOXES, _SCORES, np.array(100), _number(0.5)],
        lambda *inputs: chosen_boxes(*inputs, centres=True),
        center_point_box=1,
    ),
    _case("NonMaxSuppression", "scores_alone", [_BOXES, _SCORES, _MOST], chosen_boxes),
    _case("Unique", "sorted", [_FEW], unique_slices(None, True)),
    _case("Unique", "in_order", [_FEW], unique_slices(None, False), sorted=0),
    _case("Unique", "rows", [_ROWS], unique_slices(0, True), axis=0),
    _case("Unique", "columns_in_order", [_ROWS], unique_slices(1, False), axis=-1, sorted=0),
    _case("Unique", "middle", [_sparse(11, 2, 9, 2)], unique_slices(1, True), axis=1),
    _case("Unique", "float16", [_sparse(12, 300, dtype="float16")], unique_slices(None, True)),
    _case("Unique", "bool", [OpCase.random(13, 5, 3, dtype="bool")], unique_slices(None, True)),
]
