"""TreeEnsemble, TreeEnsembleRegressor and TreeEnsembleClassifier.

A launch walks all trees for all rows, a second one adds up the votes of the leaves; a third brings
scores to their final form where there is something to do.

Where the standard leaves open how two classes share one score, ONNX Runtime is followed: without
negative weights the score is a probability and decides at 0.5, else it decides at 0. Where leaves
vote for both of two classes, the higher score decides, as with more classes; ONNX Runtime then
looks at the sign of the second score alone. A class without votes has the score 0, which counts;
ONNX Runtime passes over the class. A regressor's transform holds for one target too, where ONNX
Runtime leaves it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, required
from cugraphmodel.ops.launch import Launch, Workspace, ceil_div
from cugraphmodel.ops.ml.forest import Forest, forest_of_ensemble, forest_of_nodes
from cugraphmodel.ops.ml.linear import ML_DTYPES
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

__all__: list[str] = []

Values = Sequence[Value | None]
Array = npt.NDArray[Any]
THREADS = 128
WARPS = THREADS // 32
FLOAT32 = np.dtype("float32")
_AGGREGATES = {"SUM": "CgSum", "AVERAGE": "CgSum", "MIN": "CgMin", "MAX": "CgMax"}
_AGGREGATE_NUMBERS = ("AVERAGE", "SUM", "MIN", "MAX")  # of TreeEnsemble
_TRANSFORM_NUMBERS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _aggregate(node: Node) -> str:
    given = node.attributes.get("aggregate_function", "SUM")
    if isinstance(given, int):
        given = _AGGREGATE_NUMBERS[given] if 0 <= given < 4 else str(given)
    if given not in _AGGREGATES:
        raise Unsupported(f"aggregate_function {given!r} is none of {', '.join(_AGGREGATES)}.")
    return str(given)


def _transform(node: Node) -> str:
    given = node.attributes.get("post_transform", "NONE")
    if isinstance(given, int):
        given = _TRANSFORM_NUMBERS[given] if 0 <= given < 5 else str(given)
    return transform_of(str(given))


def _check(node: Node, x: Value, dtypes: Sequence[np.dtype]) -> None:
    check_dtype(x, dtypes)
    _aggregate(node)
    _transform(node)
    num_features = x.shape[-1] if len(x.shape) == 2 else 0
    asked = max(node.attributes["nodes_featureids"], default=-1)
    if min(node.attributes["nodes_featureids"], default=0) < 0 or asked >= num_features:
        raise Unsupported(f"Feature {asked} is asked for, but {x} is no [rows, features] with it.")


def _launches(
    node: Node, inputs: Values, base: Value, scores: Value | Workspace, dtype: np.dtype
) -> list[Launch]:
    """Launches that make scores ``[num_rows, base.size]``, before any transform."""
    x, nodes, splits, roots, starts, targets, weights, member_starts, members = (
        required(inputs, position) for position in range(9)
    )
    num_rows, num_features = x.shape
    leaves = Workspace(4 * num_rows * roots.size)
    aggregate = _aggregate(node)
    divisor = roots.size if aggregate == "AVERAGE" else 1
    narrow = x.dtype.itemsize <= 4 and x.dtype != np.int32 and splits.dtype == np.float32
    macros = (
        ("SCALAR", c_type(x.dtype)),
        ("SPLIT", c_type(splits.dtype)),
        ("COMPARED", "float" if narrow else "double"),
        ("WEIGHT", c_type(weights.dtype)),
        ("OUT", c_type(dtype)),
        ("AGGREGATE", _AGGREGATES[aggregate]),
    )
    num_scores = num_rows * base.size
    return [
        Launch(
            source="ops/ml/trees.cu",
            entry="find_leaves",
            grid=(ceil_div(num_rows * roots.size, THREADS), 1, 1),
            block=(THREADS, 1, 1),
            args=(
                *(x, nodes, splits, roots, member_starts, members, leaves),
                *map(np.int64, (num_rows * roots.size, roots.size, num_features)),
            ),
            macros=macros,
        ),
        Launch(
            source="ops/ml/trees.cu",
            entry="count_votes",
            grid=(ceil_div(num_scores, WARPS), 1, 1),
            block=(THREADS, 1, 1),
            args=(
                *(leaves, starts, targets, weights, base, scores),
                *map(np.int64, (num_scores, base.size, roots.size)),
                weights.dtype.type(divisor),
            ),
            macros=macros,
        ),
    ]


def _base(node: Node, count: int, dtype: np.dtype) -> Array:
    given = node.attributes.get("base_values_as_tensor")
    values = np.array(node.attributes.get("base_values", ()) if given is None else given, dtype)
    if values.size not in (0, count):
        raise Unsupported(f"{values.size} base values do not fit {count} scores.")
    return values.ravel() if values.size else np.zeros(count, dtype)


def _check_votes(forest: Forest, count: int) -> None:
    targets = forest.vote_targets
    if targets.size and not 0 <= targets.min() <= targets.max() < count:
        raise Unsupported(f"A vote is for none of the {count} targets.")


def _tables_of_scores(node: Node, forest: Forest) -> list[Array]:
    count = int(node.attributes["n_targets"])
    if count < 1:
        raise Unsupported(f"n_targets={count} leaves nothing to compute.")
    _check_votes(forest, count)
    return [*forest.tables(), _base(node, count, forest.vote_weights.dtype)]


def _lower_scores(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    output = required(outputs)
    return [
        *_launches(node, inputs, required(inputs, 9), output, output.dtype),
        *transform_launches(_transform(node), output, output.dtype, *output.shape),
    ]


def _infer_regressor(node: Node, inputs: Values) -> list[TensorType]:
    x = required(inputs)
    _check(node, x, ML_DTYPES)
    return [TensorType(FLOAT32, (x.shape[0], required(inputs, 9).size))]


def _infer_ensemble(node: Node, inputs: Values) -> list[TensorType]:
    x = required(inputs)
    _check(node, x, tuple(map(np.dtype, ("float32", "float64"))))
    return [TensorType(x.dtype, (x.shape[0], required(inputs, 9).size))]


def _rule(node: Node) -> OneScore | None:
    """How the votes tell two classes apart where they are all for one of them."""
    if num_classes(node) != 2 or len({*node.attributes["class_ids"]}) != 1:
        return None
    given = node.attributes.get("class_weights_as_tensor")
    weights = np.array(node.attributes.get("class_weights", ()) if given is None else given)
    return OneScore(0.5, 1) if (weights >= 0).all() else OneScore(0, 0)


def _tables_of_classifier(node: Node) -> list[Array]:
    """The tables of the forest, base values and labels."""
    forest = forest_of_nodes(node.attributes, "class")
    _check_votes(forest, num_classes(node))
    has_one_score = _rule(node) is not None and not forest.vote_targets.any()
    base = _base(node, 1 if has_one_score else num_classes(node), forest.vote_weights.dtype)
    return [*forest.tables(), base, class_table(node)]


def _infer_classifier(node: Node, inputs: Values) -> list[TensorType]:
    x = required(inputs)
    _check(node, x, ML_DTYPES)
    return classified_types(node, x)


def _lower_classifier(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x, base, classes = required(inputs), required(inputs, 9), required(inputs, 10)
    raw = Workspace(4 * x.shape[0] * base.size)
    return [
        *_launches(node, inputs, base, raw, FLOAT32),
        classify_launch(node, raw, base.size, classes, outputs, _rule(node), x.shape[0]),
    ]


_DOMAIN = "ai.onnx.ml"
register(
    OpSpec(
        *("TreeEnsemble", 5, _infer_ensemble, _lower_scores),
        domain=_DOMAIN,
        tables=lambda node: _tables_of_scores(node, forest_of_ensemble(node.attributes)),
    ),
    OpSpec(
        *("TreeEnsembleRegressor", 1, _infer_regressor, _lower_scores),
        domain=_DOMAIN,
        tables=lambda node: _tables_of_scores(node, forest_of_nodes(node.attributes, "target")),
    ),
    OpSpec(
        *("TreeEnsembleClassifier", 1, _infer_classifier, _lower_classifier),
        domain=_DOMAIN,
        tables=_tables_of_classifier,
    ),
)
