"""Cases of the tree operators; the right answers walk the trees node by node in Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from cugraphmodel.ops.case import Array, OpCase
from cugraphmodel.ops.ml.linear_cases import TRANSFORMS

__all__ = ["CASES", "random_trees", "scores_of"]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "BRANCH_LEQ": operator.le,
    "BRANCH_LT": operator.lt,
    "BRANCH_GTE": operator.ge,
    "BRANCH_GT": operator.gt,
    "BRANCH_EQ": operator.eq,
    "BRANCH_NEQ": operator.ne,
}
_MODES = [*_COMPARE]
_NUMBERED = ("AVERAGE", "SUM", "MIN", "MAX")


def random_trees(
    seed: int, num_trees: int, depth: int, num_features: int, num_targets: int,
    votes: str = "target", weight_offset: float = 0.0,
) -> dict[str, Any]:  # fmt: skip
    """Attributes of trees whose leaves vote for one or two targets each."""
    random = np.random.default_rng(seed)
    nodes: dict[str, list[Any]] = {
        f"nodes_{name}": []
        for name in (
            *("treeids", "nodeids", "featureids", "values", "modes", "truenodeids"),
            *("falsenodeids", "missing_value_tracks_true"),
        )
    }
    cast: dict[str, list[Any]] = {
        f"{votes}_{n}": [] for n in ("treeids", "nodeids", "ids", "weights")
    }
    for tree in range(num_trees):
        pending, count = [(0, depth)], 1
        while pending:
            node, left = pending.pop()
            is_leaf = left == 0 or (left < depth and random.random() < 0.2)
            children = (0, 0) if is_leaf else (count, count + 1)
            row = (
                *(
                    tree,
                    node,
                    int(random.integers(num_features)),
                    float(random.integers(-4, 5) / 2),
                ),
                "LEAF" if is_leaf else _MODES[random.integers(len(_MODES))],
                *(*children, int(random.integers(2))),
            )
            for values, value in zip(nodes.values(), row, strict=True):
                values.append(value)
            if is_leaf:
                for target in {*random.integers(num_targets, size=2).tolist()}:
                    weight = float(np.float32(random.normal() + weight_offset))
                    for values, value in zip(
                        cast.values(), (tree, node, target, weight), strict=True
                    ):
                        values.append(value)
            else:
                pending += [(child, left - 1) for child in children]
                count += 2
    return nodes | cast


def scores_of(attributes: dict[str, Any], votes: str, x: Array, num_targets: int) -> Array:
    """Scores ``[num_rows, num_targets]`` in float64, before base values and transform."""
    keys = zip(attributes["nodes_treeids"], attributes["nodes_nodeids"], strict=True)
    at = {key: position for position, key in enumerate(keys)}
    trees = sorted({*attributes["nodes_treeids"]})
    cast: dict[tuple[int, int], list[tuple[int, float]]] = {}
    columns = (attributes[f"{votes}_{name}"] for name in ("treeids", "nodeids", "ids", "weights"))
    for tree, node, target, weight in zip(*columns, strict=True):
        cast.setdefault((tree, node), []).append((target, weight))
    found: list[list[list[float]]] = [[[] for _ in range(num_targets)] for _ in x]
    for row, features in enumerate(x):
        for tree in trees:
            for target, weight in cast.get((tree, _leaf_of(attributes, at, tree, features)), []):
                found[row][target].append(weight)
    combine = _combination(attributes.get("aggregate_function", "SUM"), len(trees))
    return np.array([[combine(w) if w else 0.0 for w in row] for row in found])


def _combination(aggregate: str, num_trees: int) -> Callable[[list[float]], float]:
    functions: dict[str, Callable[[list[float]], float]] = {
        "SUM": sum, "AVERAGE": lambda w: sum(w) / num_trees, "MIN": min, "MAX": max
    }  # fmt: skip
    return functions[aggregate]


def _leaf_of(attributes: dict[str, Any], at: dict[Any, int], tree: int, features: Array) -> int:
    node = 0
    while True:
        position = at[tree, node]
        mode = attributes["nodes_modes"][position]
        if mode == "LEAF":
            return node
        value = features[attributes["nodes_featureids"][position]]
        holds = _COMPARE[mode](value, attributes["nodes_values"][position])
        missing = np.isnan(value) and attributes["nodes_missing_value_tracks_true"][position]
        side = "true" if holds or missing else "false"
        node = attributes[f"nodes_{side}nodeids"][position]


def _data(seed: int, num_rows: int, num_features: int, dtype: str = "float32") -> Array:
    """Halves, so that they often equal what a node compares with; NaN here and there."""
    random = np.random.default_rng(seed)
    halves = random.integers(-5, 6, (num_rows, num_features)) / 2
    if np.dtype(dtype).kind == "f":
        halves[random.random(halves.shape) < 0.1] = np.nan
    return halves.astype(dtype)


def _regressor(
    name: str, x: Array, trees: dict[str, Any], targets: int, transform: str = "NONE",
    base: list[float] | None = None, **attributes: Any,
) -> OpCase:  # fmt: skip
    whole = trees | attributes | {"n_targets": targets, "post_transform": transform}
    whole |= {"base_values": base} if base else {}

    def expected(x: Array) -> list[Array]:
        return [TRANSFORMS[transform](scores_of(whole, "target", x, targets) + (base or 0.0))]

    return OpCase(
        name, "TreeEnsembleRegressor", [x], whole, 3, expected=expected, domain="ai.onnx.ml"
    )


def _classifier(
    name: str, x: Array, trees: dict[str, Any], labels: list[int], transform: str = "NONE",
    base: list[float] | None = None,
) -> OpCase:  # fmt: skip
    whole = trees | {"classlabels_int64s": labels, "post_transform": transform}
    whole |= {"base_values": base} if base else {}
    ids, weights = {*trees["class_ids"]}, np.array(trees["class_weights"])

    def expected(x: Array) -> list[Array]:
        scores = scores_of(whole, "class", x, len(labels))
        if len(labels) > 2 or len(ids) > 1:
            scores = scores + (base or 0.0)
            return [np.array(labels)[scores.argmax(-1)], TRANSFORMS[transform](scores)]
        positive = bool((weights >= 0).all())
        score = scores[:, max(ids)] + (base or [0.0])[-1]
        chosen = np.array(labels)[(score > (0.5 if positive else 0.0)).astype(int)]
        if ids == {1}:
            return [chosen, TRANSFORMS[transform](np.stack([scores[:, 0], score], -1))]
        if transform == "LOGISTIC":
            return [chosen, TRANSFORMS[transform](np.stack([-score, score], -1))]
        return [chosen, np.stack([(1 if positive else 0) - score, score], -1)]

    return OpCase(
        name, "TreeEnsembleClassifier", [x], whole, 3, num_outputs=2, expected=expected,
        domain="ai.onnx.ml",
    )  # fmt: skip


def _all_for(trees: dict[str, Any], class_id: int) -> dict[str, Any]:
    """The same trees, with each leaf's votes for one class alone."""
    return trees | {"class_ids": [class_id] * len(trees["class_ids"])}


def _ensemble(name: str, dtype: str, aggregate: str, transform: str, members: bool) -> OpCase:
    """A TreeEnsemble of two trees: a chain of nodes, and a leaf alone behind one node."""
    splits = [0.5, -1.0, 0.0, 1.5]
    modes = [0, 3, 6 if members else 4, 5]
    sets = [-2.0, 0.5, 1.0] if members else [0.0]
    weights = [1.5, -2.0, 0.25, 4.0, -1.0, 3.0]
    targets = [0, 1, 2, 1, 0, 2]
    attributes = {
        "n_targets": 3, "aggregate_function": _NUMBERED.index(aggregate),
        "post_transform": ["NONE", "SOFTMAX", "LOGISTIC"].index(transform),
        "nodes_featureids": [0, 1, 2, 1], "nodes_splits": np.array(splits, dtype),
        "nodes_modes": np.array(modes, np.uint8),
        "nodes_truenodeids": [1, 0, 2, 4], "nodes_trueleafs": [0, 1, 1, 1],
        "nodes_falsenodeids": [2, 1, 3, 5], "nodes_falseleafs": [0, 1, 1, 1],
        "nodes_missing_value_tracks_true": [0, 1, 1, 0], "tree_roots": [0, 3],
        "leaf_targetids": targets, "leaf_weights": np.array(weights, dtype),
    }  # fmt: skip
    if members:
        attributes["membership_values"] = np.array([*sets, np.nan], dtype)

    def leaves(row: Array) -> tuple[int, int]:
        a, b, c = row.tolist()
        below = 0 if b > -1 or b != b else 1
        above = 2 if c in sets or c != c else 3
        return below if a <= 0.5 else above, 4 if b != 1.5 else 5

    def expected(x: Array) -> list[Array]:
        rows = []
        for row in x:
            given: list[list[float]] = [[], [], []]
            for leaf in leaves(row):
                given[targets[leaf]].append(weights[leaf])
            combine = _combination(aggregate, 2)
            rows.append([combine(w) if w else 0.0 for w in given])
        return [TRANSFORMS[transform](np.array(rows))]

    x = _data(31, 40, 3, dtype)
    return OpCase(name, "TreeEnsemble", [x], attributes, 5, expected=expected, domain="ai.onnx.ml")


_TREES = random_trees(1, 5, 3, 4, 3)
_CLASSES = random_trees(2, 4, 3, 4, 3, "class")
_TWO = random_trees(3, 6, 2, 4, 2, "class")
_POSITIVE = random_trees(4, 3, 2, 4, 2, "class", weight_offset=9.0)
_X = _data(5, 23, 4)
_STUMP = random_trees(6, 1, 0, 2, 1)
_MANY = random_trees(7, 70, 2, 4, 2)
_POSITIVE["class_weights"] = [weight / 40 for weight in _POSITIVE["class_weights"]]

CASES = [
    *(_regressor(transform, _X, _TREES, 3, transform) for transform in TRANSFORMS),
    *(
        _regressor(aggregate, _X, _TREES, 3, base=[0.5, -1.0, 2.0], aggregate_function=aggregate)
        for aggregate in _NUMBERED
    ),
    *(_regressor(t, _data(8, 9, 4, t), _TREES, 3) for t in ("float64", "int64", "int32")),
    _regressor("only_a_leaf", _data(9, 3, 2), _STUMP, 1),
    _regressor("many_trees", _X, _MANY, 2, "LOGISTIC"),
    *(_classifier(transform, _X, _CLASSES, [7, 3, -2], transform) for transform in TRANSFORMS),
    _classifier("base", _X, _CLASSES, [7, 3, -2], base=[0.25, -0.5, 1.0]),
    _classifier("two_classes", _X, _TWO, [5, 6], "SOFTMAX"),
    _classifier("one_score", _X, _all_for(_TWO, 0), [5, 6]),
    _classifier("one_score_base", _X, _all_for(_TWO, 0), [5, 6], base=[0.75]),
    _classifier("one_score_logistic", _X, _all_for(_TWO, 0), [5, 6], "LOGISTIC"),
    _classifier("probability", _X, _all_for(_POSITIVE, 0), [5, 6]),
    _classifier("probability_logistic", _X, _all_for(_POSITIVE, 0), [5, 6], "LOGISTIC"),
    _classifier("second_class", _X, _all_for(_TWO, 1), [5, 6]),
    _ensemble("sum", "float32", "SUM", "NONE", members=False),
    _ensemble("average_members", "float32", "AVERAGE", "LOGISTIC", members=True),
    _ensemble("min", "float64", "MIN", "NONE", members=True),
    _ensemble("max_softmax", "float64", "MAX", "SOFTMAX", members=False),
]
