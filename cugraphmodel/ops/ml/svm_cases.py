"""Cases of SVMRegressor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cugraphmodel.ops.case import Array, OpCase

__all__ = ["CASES", "svm_case"]

_PARAMETERS = [0.25, 0.5, 3.0]
_SIMILARITY: dict[str, Callable[[Array, Array], Array]] = {
    "LINEAR": lambda x, v: x @ v.T,
    "POLY": lambda x, v: (0.25 * (x @ v.T) + 0.5) ** 3,
    "SIGMOID": lambda x, v: np.tanh(0.25 * (x @ v.T) + 0.5),
    "RBF": lambda x, v: np.exp(-0.25 * ((x[:, None] - v[None]) ** 2).sum(-1)),
}


def svm_case(
    name: str, x: Array, kernel: str, num_vectors: int, one_class: int = 0, transform: str = "NONE"
) -> OpCase:
    vectors = OpCase.random(7, num_vectors, x.shape[-1])
    coefficients = OpCase.random(8, num_vectors)
    attributes: dict[str, Any] = {
        "kernel_type": kernel, "kernel_params": _PARAMETERS, "n_supports": num_vectors,
        "support_vectors": vectors.ravel().tolist(), "coefficients": coefficients.tolist(),
        "rho": [0.125], "one_class": one_class, "post_transform": transform,
    }  # fmt: skip

    def expected(x: Array) -> list[Array]:
        wide = x.astype(np.float64).reshape(-1, vectors.shape[1])
        similarity = _SIMILARITY[kernel](wide, vectors.astype(np.float64))
        score = similarity @ coefficients.astype(np.float64) + 0.125
        if one_class:
            score = np.where(score > 0, 1, -1)
        return [(1 / (1 + np.exp(-score)) if transform == "LOGISTIC" else score)[:, None]]

    return OpCase(name, "SVMRegressor", [x], attributes, 1, expected=expected, domain="ai.onnx.ml")


_X = OpCase.random(1, 7, 5)
_OTHERS = ("float64", "int64", "int32")
_WEIGHTS = OpCase.random(2, 5)

CASES = [
    *(svm_case(kernel, _X, kernel, 40) for kernel in _SIMILARITY),
    *(svm_case(t, OpCase.random(3, 6, 4, dtype=t), "RBF", 3) for t in _OTHERS),
    svm_case("one_class", _X, "RBF", 33, one_class=1),
    svm_case("logistic", _X, "LINEAR", 2, transform="LOGISTIC"),
    svm_case("vector", _X[0], "POLY", 70),
    OpCase(
        "no_vectors", "SVMRegressor", [_X], {"coefficients": _WEIGHTS.tolist(), "rho": [2.0]}, 1,
        domain="ai.onnx.ml",
        expected=lambda x: [x.astype(np.float64) @ _WEIGHTS[:, None].astype(np.float64) + 2],
    ),
]  # fmt: skip
