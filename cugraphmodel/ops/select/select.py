"""Operators whose output has as many elements as the data of a run decide.

A captured graph has fixed shapes. With ``bounded_outputs`` such an output has the largest size that
it can have, begins with what the operator gives, and ends with a fill; one more output, a scalar of
int64, says how many entries count. These operators, in the domain ``cugraphmodel`` and called
``Bounded...``, take the place of the standard's; only :mod:`cugraphmodel.front` makes them.

Order never hangs on timing: entries are counted first, and each then goes to its place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import (
    ANY,
    BOOL,
    check_dtype,
    normalize_axis,
    optional,
    required,
)
from cugraphmodel.ops.launch import Launch, Workspace, ceil_div, dims, on_scratch
from cugraphmodel.ops.movement.fill import fill_launch
from cugraphmodel.ops.movement.strided_copy import WORDS
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.strides import contiguous_strides

__all__ = ["BOUNDED", "DOMAIN"]

Values = Sequence[Value | None]
DOMAIN = "cugraphmodel"
THREADS = 256
BOUNDED = {
    "NonZero": (1, (0,)),
    "Compress": (1, (0,)),
    "NonMaxSuppression": (1, (0,)),
    "Unique": (4, (0, 1, 3)),
}
"""Operator of the standard -> its number of outputs, and those whose size hangs on data."""
MAX_CHUNKS = 256
MAX_COMPARED = 2**14
MAX_COMPARISONS = 2**33
INT64 = np.dtype(np.int64)
COUNT = TensorType(INT64, ())


# ---- NonZero and Compress: positions of what is not 0


def _list_positions(x: Value, positions: Value, count: Value) -> list[Launch]:
    """``positions`` [x.size] of the elements that are not 0, then -1; ``count`` of them."""
    chunk = THREADS * ceil_div(x.size, THREADS * MAX_CHUNKS)
    num_chunks = ceil_div(x.size, chunk)
    counts = Workspace(4 * num_chunks)
    numbers = (np.int64(x.size), np.int64(chunk))
    steps = (("count_chunks", (x, counts)), ("list_positions", (x, counts, positions, count)))
    return [
        Launch(
            source="ops/select/positions.cu",
            entry=entry,
            grid=(num_chunks, 1, 1),
            block=(THREADS, 1, 1),
            args=(*tensors, *numbers),
            macros=(("SCALAR", c_type(x.dtype)),),
        )
        for entry, tensors in steps
    ]


def _infer_nonzero(_node: Node, inputs: Values) -> list[TensorType]:
    """Coordinates [rank, size of x], and how many columns count."""
    x = required(inputs)
    check_dtype(x, ANY)
    if len(x.shape) > 8:
        raise Unsupported(f"{x} has more than 8 dimensions.")
    return [TensorType(INT64, (len(x.shape), x.size)), COUNT]


def _lower_nonzero(_node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x, count = required(inputs), required(outputs, 1)
    coordinates = optional(outputs, 0)
    if x.size == 0:
        return [fill_launch(count, np.array(0, np.int64))]
    positions = Value(INT64, (x.size,), "positions")
    launches = _list_positions(x, positions, count)
    if coordinates is not None and x.shape:
        launches.append(
            Launch(
                source="ops/select/selected.cu",
                entry="coordinates_of",
                grid=(ceil_div(x.size, THREADS), len(x.shape), 1),
                block=(THREADS, 1, 1),
                args=(
                    *(positions, coordinates, np.int64(x.size)),
                    *(dims(*x.shape), dims(*contiguous_strides(x.shape))),
                ),
                macros=(("WORD", "int"),),
            )
        )
    return on_scratch(launches, [positions])


def _compressed(node: Node, inputs: Values) -> tuple[int, int, int]:
    """Elements of the data before the axis, along it, and after it."""
    data, condition = required(inputs), required(inputs, 1)
    check_dtype(condition, BOOL)
    split = (1, data.size, 1)
    if "axis" in node.attributes:
        axis = normalize_axis(int(node.attributes["axis"]), len(data.shape))
        split = (
            math.prod(data.shape[:axis]),
            data.shape[axis],
            math.prod(data.shape[axis + 1 :]),
        )
    if len(condition.shape) != 1 or condition.size > split[1]:
        raise Unsupported(f"{condition} is no list of at most {split[1]} decisions.")
    return split


def _infer_compress(node: Node, inputs: Values) -> list[TensorType]:
    """The data with as many slices as there are decisions, and how many count."""
    data, condition = required(inputs), required(inputs, 1)
    _compressed(node, inputs)
    shape: tuple[int, ...] = condition.shape
    if "axis" in node.attributes:
        axis = normalize_axis(int(node.attributes["axis"]), len(data.shape))
        shape = (*data.shape[:axis], condition.size, *data.shape[axis + 1 :])
    return [TensorType(data.dtype, shape), COUNT]


def _lower_compress(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    data, condition, count = required(inputs), required(inputs, 1), required(outputs, 1)
    y = optional(outputs, 0)
    if condition.size == 0:
        return [fill_launch(count, np.array(0, np.int64))]
    _, slices, inner = _compressed(node, inputs)
    positions = Value(INT64, condition.shape, "positions")
    launches = _list_positions(condition, positions, count)
    if y is not None and y.size:
        numbers = (y.size, condition.size, slices, inner)
        launches.append(
            Launch(
                source="ops/select/selected.cu",
                entry="slices_at",
                grid=(ceil_div(y.size, THREADS), 1, 1),
                block=(THREADS, 1, 1),
                args=(data, positions, y, *map(np.int64, numbers)),
                macros=(("WORD", WORDS[data.dtype.itemsize]),),
            )
        )
    return on_scratch(launches, [positions])


# ---- NonMaxSuppression


def _infer_boxes(node: Node, inputs: Values) -> list[TensorType]:
    """Rows (image, class, box), as many as can be chosen, and how many count."""
    boxes, scores = required(inputs), required(inputs, 1)
    for value in filter(None, (boxes, scores, optional(inputs, 3), optional(inputs, 4))):
        check_dtype(value, (np.dtype(np.float32),))
    fits = len(boxes.shape) == 3 and len(scores.shape) == 3 and boxes.shape[2] == 4
    if not fits or boxes.shape[0] != scores.shape[0] or boxes.shape[1] != scores.shape[2]:
        raise Unsupported(f"{scores} does not hold [images, classes, boxes] scores of {boxes}.")
    if boxes.size >= 2**31:
        raise Unsupported(f"{boxes} has 2^31 or more numbers.")
    rows = scores.shape[0] * scores.shape[1] * _most_boxes(node, boxes)
    return [TensorType(INT64, (rows, 3)), COUNT]


def _most_boxes(node: Node, boxes: Value) -> int:
    """Boxes that can be chosen of one class."""
    given = int(node.host_values[2].item()) if 2 in node.host_values else 0
    return min(max(given, 0), boxes.shape[1])


def _lower_boxes(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    boxes, scores, count = required(inputs), required(inputs, 1), required(outputs, 1)
    most, (images, classes, num_boxes) = _most_boxes(node, boxes), scores.shape
    all_classes = images * classes
    rows = optional(outputs, 0)
    if all_classes * most == 0:
        return [fill_launch(count, np.array(0, np.int64))]
    chosen, counts = Workspace(4 * all_classes * most), Workspace(4 * all_classes)
    rows_or_scratch = Workspace(24 * all_classes * most) if rows is None else rows
    sizes = (np.int32(classes), np.int32(num_boxes), np.int32(most))
    steps = (
        (
            "choose_boxes",
            (
                *(boxes, scores, optional(inputs, 3), optional(inputs, 4)),
                *(Workspace(all_classes * num_boxes), chosen, counts, *sizes),
            ),
        ),
        ("list_boxes", (chosen, counts, rows_or_scratch, count, sizes[0], sizes[2])),
    )
    centres = str(int(bool(node.attributes.get("center_point_box", 0))))
    return [
        Launch(
            source="ops/select/boxes.cu",
            entry=entry,
            grid=(all_classes, 1, 1),
            block=(THREADS, 1, 1),
            args=args,
            macros=(("CENTRES", centres),),
        )
        for entry, args in steps
    ]


# ---- Unique


def _slices(node: Node, x: Value) -> tuple[int, int, int]:
    """Elements before the axis, slices, and elements after it."""
    if "axis" not in node.attributes:
        return 1, x.size, 1
    axis = normalize_axis(int(node.attributes["axis"]), len(x.shape))
    return math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])


def _infer_unique(node: Node, inputs: Values) -> list[TensorType]:
    """y, indices, inverse and counts, each as large as without repetition; how many count."""
    x = required(inputs)
    check_dtype(x, ANY)
    outer, slices, inner = _slices(node, x)
    if slices > MAX_COMPARED or slices * x.size > MAX_COMPARISONS:
        raise Unsupported(
            f"Each slice of {x} is compared with each; at most {MAX_COMPARED} slices and 2^33 "
            "comparisons of elements are supported."
        )
    if outer * inner == 0:
        raise Unsupported(f"The slices of {x} are empty.")
    shape = x.shape if "axis" in node.attributes else (x.size,)
    numbers = TensorType(INT64, (slices,))
    return [TensorType(x.dtype, shape), numbers, numbers, numbers, COUNT]


def _lower_unique(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x, count = required(inputs), required(outputs, 4)
    split = _slices(node, x)
    if x.size == 0:
        return [fill_launch(count, np.array(0, np.int64))]
    firsts, ranks = (Workspace(4 * split[1]) for _ in range(2))
    geometry = np.array(split, np.int64)
    is_sorted = np.int32(bool(node.attributes.get("sorted", 1)))
    results = tuple(optional(outputs, position) for position in range(4))
    steps = (
        ("find_firsts", (x, firsts, geometry)),
        ("rank_firsts", (x, firsts, ranks, geometry, is_sorted)),
        ("write_unique", (x, firsts, ranks, *results, count, geometry)),
    )
    return [
        Launch(
            source="ops/select/unique.cu",
            entry=entry,
            grid=(ceil_div(split[1], THREADS), 1, 1),
            block=(THREADS, 1, 1),
            args=args,
            macros=(("SCALAR", c_type(x.dtype)),),
        )
        for entry, args in steps
    ]


register(
    OpSpec("BoundedNonZero", 9, _infer_nonzero, _lower_nonzero, domain=DOMAIN),
    OpSpec("BoundedCompress", 9, _infer_compress, _lower_compress, domain=DOMAIN),
    OpSpec(
        "BoundedNonMaxSuppression",
        10,
        _infer_boxes,
        _lower_boxes,
        host_inputs=(2,),
        domain=DOMAIN,
    ),
    OpSpec("BoundedUnique", 11, _infer_unique, _lower_unique, domain=DOMAIN),
)
