"""From scores to what a model hands out: post_transform, and the labels of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import optional
from cugraphmodel.ops.launch import Launch, Workspace, ceil_div
from cugraphmodel.ops.spec import Unsupported

__all__ = [
    "OneScore",
    "class_table",
    "classified_types",
    "classify_launch",
    "num_classes",
    "transform_launches",
    "transform_of",
]

THREADS = 128
_TRANSFORMS = {
    "NONE": "transform_none",
    "LOGISTIC": "transform_logistic",
    "SOFTMAX": "transform_softmax",
    "SOFTMAX_ZERO": "transform_softmax_zero",
}


@dataclass(frozen=True)
class OneScore:
    """How two classes are told apart by one score, that of the second class.

    Attributes:
        threshold: above it, the second class is meant.
        opposite: the first class gets ``opposite - score``, unless the transform is logistic.
    """

    threshold: float
    opposite: float


def transform_of(name: str) -> str:
    """The kernels' function for a ``post_transform``.

    Raises:
        Unsupported: there is none.
    """
    if name not in _TRANSFORMS:
        known = ", ".join(_TRANSFORMS)
        raise Unsupported(f"post_transform {name!r} has no kernel; {known} have.")
    return _TRANSFORMS[name]


def transform_launches(
    transform: str, scores: Value | Workspace, dtype: np.dtype, num_rows: int, num_scores: int
) -> list[Launch]:
    """What brings scores, in place, to their final form."""
    if transform == "transform_none":
        return []
    return [
        Launch(
            source="ops/ml/scores.cu",
            entry="transform_scores",
            grid=(ceil_div(num_rows, THREADS), 1, 1),
            block=(THREADS, 1, 1),
            args=(scores, np.int64(num_rows), np.int32(num_scores)),
            macros=(("SCALAR", c_type(dtype)), ("TRANSFORM", transform)),
        )
    ]


def _labels(node: Node) -> Sequence[int | str]:
    attributes = node.attributes
    names = ("classlabels_int64s", "classlabels_ints", "classlabels_strings")
    return next((attributes[name] for name in names if attributes.get(name)), [])


def num_classes(node: Node) -> int:
    """How many classes a classifier tells apart.

    Raises:
        Unsupported: fewer than two.
    """
    count = len(_labels(node))
    if count < 2:
        raise Unsupported(f"It names {count} classes; a classifier needs two.")
    return count


def class_table(node: Node) -> npt.NDArray[np.int64]:
    """The labels that are integers; else the numbers of the classes, which nothing shows.

    Raises:
        Unsupported: the labels are strings and asked for.
    """
    labels = _labels(node)
    if not any(isinstance(label, str) for label in labels):
        return np.array(labels, np.int64)
    if node.outputs[0]:
        raise Unsupported(
            f"The labels of output {node.outputs[0]!r} are strings; ask for the scores alone with "
            "output_node_indices, whose columns are in the order of classlabels_strings."
        )
    return np.arange(len(labels))


def classified_types(node: Node, x: Value) -> list[TensorType]:
    """Types of a classifier's outputs, labels and scores, for data ``[num_rows, num_features]``."""
    num_rows = x.shape[0] if len(x.shape) == 2 else 1
    types = [
        TensorType(np.dtype(np.int64), (num_rows,)),
        TensorType(np.dtype(np.float32), (num_rows, num_classes(node))),
    ]
    return types[: len(node.outputs)]


def classify_launch(
    node: Node,
    raw: Workspace,
    num_raw: int,
    classes: Value,
    outputs: Sequence[Value | None],
    rule: OneScore | None,
    num_rows: int,
) -> Launch:
    """A launch that makes the outputs of a classifier from its scores ``[num_rows, num_raw]``.

    Args:
        node: the classifier.
        raw: its scores, float32.
        num_raw: one for each class, or 1.
        classes: its labels.
        outputs: labels and scores, either None.
        rule: None: the class of the highest score is meant.
        num_rows: samples.
    """
    transform = transform_of(str(node.attributes.get("post_transform", "NONE")))
    return Launch(
        source="ops/ml/classify.cu",
        entry="classify",
        grid=(ceil_div(num_rows, THREADS), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            *(raw, classes, optional(outputs, 0), optional(outputs, 1)),
            *(np.int64(num_rows), np.int32(num_raw), np.int32(num_classes(node))),
            *(np.int32(rule is not None), np.float32(rule.threshold if rule else 0)),
            np.float32(rule.opposite if rule else 0),
            np.int32(transform == "transform_logistic"),
        ),
        macros=(("TRANSFORM", transform),),
    )
