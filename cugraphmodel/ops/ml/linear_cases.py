"""Cases of LinearClassifier and LinearRegressor."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraphmodel.ops.case import Array, OpCase

__all__ = ["CASES"]


def _logistic(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _softmax(x: Array) -> Array:
    exponentials = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(-1, keepdims=True))


def _softmax_zero(x: Array) -> Array:
    exponentials = np.where(x == 0, 0, np.exp(x - x.max(-1, keepdims=True)))
    return np.asarray(exponentials / exponentials.sum(-1, keepdims=True))


TRANSFORMS = {
    "NONE": lambda x: x,
    "LOGISTIC": _logistic,
    "SOFTMAX": _softmax,
    "SOFTMAX_ZERO": _softmax_zero,
}
_X = OpCase.random(1, 6, 4)
_WEIGHTS = OpCase.random(2, 3, 4)
_INTERCEPTS = np.array([0.5, -0.25, 0], np.float32)


def _scores(x: Array, num_scores: int) -> Array:
    wide = x.astype(np.float64).reshape(-1, 4)
    return wide @ _WEIGHTS[:num_scores].T.astype(np.float64) + _INTERCEPTS[:num_scores]


def _attributes(num_scores: int, transform: str) -> dict[str, Any]:
    return {
        "coefficients": _WEIGHTS[:num_scores].ravel().tolist(),
        "intercepts": _INTERCEPTS[:num_scores].tolist(),
        "post_transform": transform,
    }


def _regressor(name: str, x: Array, targets: int, transform: str = "NONE") -> OpCase:
    return OpCase(
        name, "LinearRegressor", [x], _attributes(targets, transform) | {"targets": targets}, 1,
        domain="ai.onnx.ml", expected=lambda x: [TRANSFORMS[transform](_scores(x, targets))],
    )  # fmt: skip


def _classifier(name: str, x: Array, labels: list[int], transform: str = "NONE") -> OpCase:
    def expected(x: Array) -> list[Array]:
        scores = _scores(x, len(labels))
        return [np.array(labels)[scores.argmax(-1)], TRANSFORMS[transform](scores)]

    attributes = _attributes(len(labels), transform) | {"classlabels_ints": labels}
    return OpCase(
        name, "LinearClassifier", [x], attributes, 1, num_outputs=2, expected=expected,
        domain="ai.onnx.ml",
    )  # fmt: skip


def _one_score(transform: str) -> OpCase:
    def expected(x: Array) -> list[Array]:
        score = _scores(x, 1)[:, 0]
        other = _logistic(-score) if transform == "LOGISTIC" else 1 - score
        scores = [other, _logistic(score) if transform == "LOGISTIC" else score]
        return [np.where(score > 0, 9, 4), np.stack(scores, axis=-1)]

    return OpCase(
        f"one_score_{transform}", "LinearClassifier", [_X],
        _attributes(1, transform) | {"classlabels_ints": [4, 9]}, 1, num_outputs=2,
        expected=expected, domain="ai.onnx.ml",
    )  # fmt: skip


CASES = [
    *(_regressor(transform, _X, 3, transform) for transform in TRANSFORMS),
    _regressor("one_target", _X, 1, "LOGISTIC"),
    _regressor("vector", _X[0], 2),
    _regressor("many", OpCase.random(3, 150, 4), 3),
    *(
        _regressor(dtype, OpCase.random(4, 5, 4, dtype=dtype), 2)
        for dtype in ("float64", "int64", "int32")
    ),
    OpCase(
        "no_intercepts", "LinearRegressor", [_X], {"coefficients": _WEIGHTS[0].tolist()}, 1,
        domain="ai.onnx.ml",
        expected=lambda x: [x.astype(np.float64) @ _WEIGHTS[:1].T.astype(np.float64)],
    ),
    *(_classifier(transform, _X, [5, -1, 2], transform) for transform in TRANSFORMS),
    _classifier("two_scores", _X, [0, 1]),
    *(_one_score(transform) for transform in ("NONE", "LOGISTIC", "SOFTMAX")),
]  # fmt: skip
