"""TfIdfVectorizer of integers: how often known n-grams occur in rows of tokens."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, required
from cugraphmodel.ops.launch import Launch, ceil_div
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 128
_WEIGHTED = {"TF": "count", "IDF": "count > 0 ? weight : 0.0f", "TFIDF": "count * weight"}


def _grams(node: Node) -> Iterator[tuple[int, ...]]:
    """All n-grams of the pool, shortest first."""
    pool = [int(token) for token in node.attributes.get("pool_int64s") or ()]
    if not pool:
        raise Unsupported("Its n-grams are strings, which no kernel works on, or are left out.")
    bounds = [*map(int, node.attributes["ngram_counts"]), len(pool)]
    for size, (start, end) in enumerate(itertools.pairwise(bounds), start=1):
        if not 0 <= start <= end <= len(pool) or (end - start) % size:
            raise Unsupported(f"ngram_counts {bounds[:-1]} do not cut {len(pool)} tokens.")
        for first in range(start, end, size):
            yield tuple(pool[first : first + size])


def _tables(node: Node) -> list[npt.NDArray[Any]]:
    """Tokens of the n-grams that count, the n-grams, where columns start, and their weights.

    A weight is a column's, as in ONNX Runtime and ONNX's reference; the operator's text can be read
    as if it were an n-gram's.
    """
    columns = [int(index) for index in node.attributes["ngram_indexes"]]
    grams = list(_grams(node))
    if len(grams) != len(columns) or min(columns, default=-1) < 0:
        raise Unsupported(f"{len(columns)} ngram_indexes do not fit {len(grams)} n-grams.")
    shortest, longest = (int(node.attributes[f"{m}_gram_length"]) for m in ("min", "max"))
    counted = {
        gram: column
        for gram, column in zip(grams, columns, strict=True)
        if shortest <= len(gram) <= longest
    }
    ordered = sorted(counted.items(), key=lambda item: item[1])
    sizes = [len(gram) for gram, _ in ordered]
    firsts = np.cumsum([0, *sizes])[:-1]
    num_columns = max(columns) + 1
    starts = np.searchsorted([column for _, column in ordered], np.arange(num_columns + 1))
    weights = np.array(node.attributes.get("weights") or [1.0] * num_columns, np.float32)
    if len(weights) != num_columns:
        raise Unsupported(f"{len(weights)} weights do not fit {num_columns} columns.")
    return [
        np.array([token for gram, _ in ordered for token in gram] or [0], np.int64),
        np.array(list(zip(firsts, sizes, strict=True)) or [(0, 0)], np.int32),
        starts.astype(np.int32),
        weights,
    ]


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    x, weights = required(inputs), required(inputs, 4)
    check_dtype(x, (np.dtype("int32"), np.dtype("int64")))
    if len(x.shape) > 2:
        raise Unsupported(f"{x} is neither one row of tokens nor [N, C].")
    _weighted(node)
    return [TensorType(weights.dtype, (*x.shape[:-1], weights.size))]


def _weighted(node: Node) -> str:
    mode = str(node.attributes.get("mode"))
    if mode not in _WEIGHTED:
        raise Unsupported(f"mode {mode!r} is none of {', '.join(_WEIGHTED)}.")
    return _WEIGHTED[mode]


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x, pool, grams, starts, weights = (required(inputs, position) for position in range(5))
    y = required(outputs)
    launch = Launch(
        source="ops/ml/tfidf.cu",
        entry="count_grams",
        grid=(ceil_div(y.size, THREADS), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            *(x, pool, grams, starts, weights, y, np.int64(y.size), np.int64(weights.size)),
            np.int64((1, *x.shape)[-1]),
            np.int32(node.attributes.get("max_skip_count", 0)),
        ),
        macros=(("SCALAR", c_type(x.dtype)), ("WEIGHTED", _weighted(node))),
    )
    return [launch]


register(OpSpec("TfIdfVectorizer", 9, _infer, _lower, tables=_tables))
