"""Cases of TfIdfVectorizer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cugraphmodel.ops.case import Array, OpCase

__all__ = ["CASES"]

POOL = [[2, 3, 5, 4], [5, 6, 7, 8, 6, 7], [7, 8, 6]]
"""Four 1-grams, three 2-grams, and a 3-gram."""


def _case(
    name: str, x: Array, mode: str = "TF", lengths: tuple[int, int] = (1, 3), skips: int = 0,
    columns: Sequence[int] = range(8), weights: Sequence[float] = (),
) -> OpCase:  # fmt: skip
    attributes = {
        "mode": mode, "min_gram_length": lengths[0], "max_gram_length": lengths[1],
        "max_skip_count": skips, "ngram_counts": [0, 4, 10], "ngram_indexes": list(columns),
        "pool_int64s": [token for grams in POOL for token in grams],
    }  # fmt: skip
    if weights:
        attributes["weights"] = list(weights)

    def expected(x: Array) -> list[Array]:
        rows = x.reshape(-1, x.shape[-1])
        counts = np.zeros((len(rows), max(columns) + 1))
        for row, tokens in enumerate(rows.tolist()):
            for column, gram in zip(columns, _grams(), strict=True):
                if lengths[0] <= len(gram) <= lengths[1]:
                    counts[row, column] += _occurrences(tokens, gram, skips)
        scale = np.array(weights or 1.0, np.float32)
        factors = {"TF": counts, "IDF": (counts > 0) * scale, "TFIDF": counts * scale}
        return [np.asarray(factors[mode]).reshape(*x.shape[:-1], -1)]

    return OpCase(name, "TfIdfVectorizer", [x], attributes, 9, expected=expected)


def _grams() -> list[list[int]]:
    return [
        grams[first : first + size]
        for size, grams in enumerate(POOL, start=1)
        for first in range(0, len(grams), size)
    ]


def _occurrences(tokens: list[int], gram: list[int], skips: int) -> int:
    return sum(
        tokens[start : start + distance * (len(gram) - 1) + 1 : distance] == gram
        for distance in range(1, 2 + (skips if len(gram) > 1 else 0))
        for start in range(len(tokens) - distance * (len(gram) - 1))
    )


_TOKENS = np.array([1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8], np.int32)
_ROWS = np.random.default_rng(1).integers(2, 9, (5, 60))
_WEIGHTS = [2.0, 0.5, -1.0, 3.0, 0.25, 1.5, 4.0, 8.0]

CASES = [
    _case("all", _TOKENS),
    _case("bigrams", _TOKENS, lengths=(2, 2)),
    _case("skips", _TOKENS, skips=5),
    _case("rows", _ROWS, skips=2),
    _case("idf", _ROWS, "IDF", skips=1, weights=_WEIGHTS),
    _case("idf_of_no_weights", _ROWS, "IDF", lengths=(2, 3)),
    _case("tfidf", _ROWS, "TFIDF", skips=3, weights=_WEIGHTS),
    _case("columns", _ROWS, columns=[3, 0, 9, 1, 2, 2, 7, 5]),
    _case("short_row", np.array([[5], [9]]), skips=4),
]
