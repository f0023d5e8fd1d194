"""What a graph adds to the scores of an attention, and which rows it leaves without an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.arguments import ints_of
from cugraphmodel.passes.attention_pattern import Probabilities, Scores, Search

__all__ = ["Bias", "Mask", "mask_of"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Bias:
    """What is added to the scores.

    Attributes:
        name: of the value.
        shape: of the scores where that is done.
        causal_offset: if all that it says is that a query sees the keys up to its own number plus
            this; else None.
    """

    name: str
    shape: tuple[int, ...]
    causal_offset: int | None


@dataclass(frozen=True)
class Mask:
    """All that is added to the scores, and ``empty`` of ``FusedAttention``."""

    biases: tuple[Bias, ...]
    empty: Literal["nan", "closed", "any"]


def mask_of(search: Search, scores: Scores, after: Probabilities) -> Mask | None:
    """None if rows are replaced by 0 that others than those closed by a bias are among."""
    empty: Literal["nan", "closed", "any"] = "any" if after.nan_to_zero else "nan"
    if after.zero_where and not search.is_known_as(after.zero_where, 0):
        if len(scores.biases) != 1 or not _closes(search, scores.biases[0][0], after.zero_where):
            return None
        empty = "closed"
    biases = []
    for name, shape in scores.biases:
        known = search.known(name)
        if known is None:
            biases.append(Bias(name, shape, None))
        elif known.any():
            biases.append(Bias(name, shape, _causal_offset(known)))
    return Mask(tuple(biases), empty)


def _closes(search: Search, bias: str, condition: str) -> bool:
    """Whether a condition holds for the rows of a bias that are -Inf."""
    zero_where, known = search.known(condition), search.known(bias)
    if zero_where is None:
        return _says_closed(search, condition, bias)
    if known is None:
        return False
    first, second = np.broadcast_arrays(zero_where, (known == -np.inf).all(-1, keepdims=True))
    return np.array_equal(first, second)


def _says_closed(search: Search, condition: str, bias: str) -> bool:
    """Whether a condition is ``ReduceMax(bias, -1) == -Inf``."""
    equal = search.views.producer(condition)
    if equal is None or (equal.domain, equal.op_type) != ("", "Equal"):
        return False
    highest = search.views.producer(equal.inputs[0])
    if highest is None or (highest.domain, highest.op_type) != ("", "ReduceMax"):
        return False
    axes = ints_of(highest, "axes", 1)
    rank = len(search.graph.values[highest.inputs[0]].shape)
    along_keys = axes is not None and [axis % rank for axis in axes] == [rank - 1]
    keeps = bool(highest.attributes.get("keepdims", 1))
    is_infinite = search.is_known_as(equal.inputs[1], -np.inf)
    return highest.inputs[0] == bias and along_keys and keeps and is_infinite


def _causal_offset(bias: Array) -> int | None:
    """How far ahead of its own number a query sees, if a bias says that alone, by 0 and -Inf."""
    if bias.ndim < 2 or bias.size != math.prod(bias.shape[-2:]):
        return None
    matrix = bias.reshape(bias.shape[-2:])
    num_rows, num_keys = bias.shape[-2:]
    rows, keys = np.arange(num_rows), np.arange(num_keys)
    counts = (matrix == 0).sum(-1)
    partly = np.flatnonzero((counts > 0) & (counts < num_keys))
    if not partly.size:
        return None
    offset = int(counts[partly[0]] - 1 - partly[0])
    ahead = keys > rows[:, None] + offset
    says_so = np.array_equal(matrix == -np.inf, ahead) and np.array_equal(matrix == 0, ~ahead)
    return offset if says_so else None
