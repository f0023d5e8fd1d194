"""LinearClassifier and LinearRegressor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, required
from cugraphmodel.ops.launch import Launch, Workspace, ceil_div
from cugraphmodel.ops.ml.scores import (
    OneScore,
    class_table,
    classified_types,
    classify_launch,
    num_classes,
    transform_launches,
    transform_of,
)
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__ = ["ML_DTYPES"]

Values = Sequence[Value | None]
Array = npt.NDArray[np.float32]
THREADS = 128
ML_DTYPES = tuple(map(np.dtype, ("float32", "float64", "int64", "int32")))
"""What most operators of this domain take."""


def _coefficients(node: Node, num_scores: int) -> tuple[Array, Array]:
    """Coefficients, those of the first score first, and intercepts ``[num_scores]``."""
    given = np.array(node.attributes.get("coefficients", ()), np.float32)
    intercepts = np.array(node.attributes.get("intercepts", ()), np.float32)
    if not given.size or given.size % num_scores or intercepts.size not in (0, num_scores):
        raise Unsupported(
            f"{given.size} coefficients and {intercepts.size} intercepts do not make "
            f"{num_scores} scores."
        )
    if not intercepts.size:
        intercepts = np.zeros(num_scores, np.float32)
    return given, intercepts


def _scores_launch(inputs: Values, scores: Value | Workspace) -> Launch:
    x, coefficients, intercepts = (required(inputs, position) for position in range(3))
    num_features, num_scores = x.shape[-1], intercepts.size
    num_rows = x.size // num_features
    return Launch(
        source="ops/ml/linear.cu",
        entry="linear_scores",
        grid=(ceil_div(num_rows * num_scores, THREADS), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            *(x, coefficients, intercepts, scores),
            *(np.int64(num_rows), np.int64(num_features), np.int64(num_scores)),
        ),
        macros=(
            ("SCALAR", c_type(x.dtype)),
            ("COMPUTE", "float" if x.dtype == np.float32 else "double"),
        ),
    )


def _check(node: Node, inputs: Values) -> Value:
    """The features. Of too many coefficients the first ones are taken, as ONNX Runtime does.

    The ``logreg_iris.onnx`` that comes with it is of that kind.
    """
    x, coefficients, intercepts = (required(inputs, position) for position in range(3))
    check_dtype(x, ML_DTYPES)
    transform_of(str(node.attributes.get("post_transform", "NONE")))
    num_features = coefficients.size // intercepts.size
    if len(x.shape) not in (1, 2) or not 1 <= x.shape[-1] <= num_features:
        raise Unsupported(f"{x} does not hold {num_features} features a row.")
    return x


def _regressor_tables(node: Node) -> list[Array]:
    return list(_coefficients(node, int(node.attributes.get("targets", 1))))


def _infer_regressor(node: Node, inputs: Values) -> list[TensorType]:
    x = _check(node, inputs)
    num_rows = x.shape[0] if len(x.shape) == 2 else 1
    return [TensorType(np.dtype(np.float32), (num_rows, required(inputs, 2).size))]


def _lower_regressor(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    output = required(outputs)
    transform = transform_of(str(node.attributes.get("post_transform", "NONE")))
    return [
        _scores_launch(inputs, output),
        *transform_launches(transform, output, output.dtype, *output.shape),
    ]


def _classifier_tables(node: Node) -> list[npt.NDArray[np.generic]]:
    """One score for each class, or, of two classes, one for the second."""
    count = num_classes(node)
    if len(node.attributes.get("intercepts", ())) == 1 and count == 2:
        count = 1
    return [*_coefficients(node, count), class_table(node)]


def _infer_classifier(node: Node, inputs: Values) -> list[TensorType]:
    return classified_types(node, _check(node, inputs))


def _lower_classifier(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x, classes, num_raw = required(inputs), required(inputs, 3), required(inputs, 2).size
    num_rows = x.size // x.shape[-1]
    raw = Workspace(4 * num_rows * num_raw)
    rule = OneScore(threshold=0, opposite=1) if num_raw == 1 else None
    return [
        _scores_launch(inputs, raw),
        classify_launch(node, raw, num_raw, classes, outputs, rule, num_rows),
    ]


_DOMAIN = "ai.onnx.ml"
register(
    OpSpec(
        *("LinearClassifier", 1, _infer_classifier, _lower_classifier),
        domain=_DOMAIN,
        tables=_classifier_tables,
    ),
    OpSpec(
        *("LinearRegressor", 1, _infer_regressor, _lower_regressor),
        domain=_DOMAIN,
        tables=_regressor_tables,
    ),
)
