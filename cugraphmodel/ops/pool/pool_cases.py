"""Cases of the pools."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

Array = npt.NDArray[Any]
Window = list[tuple[tuple[int, ...], bool]]
"""Positions of a window, and whether each lies inside the input."""


def pooled(
    x: Array,
    reduce: Callable[[Array, Window, Array], Any],
    *,
    kernel_shape: Sequence[int],
    output: Sequence[int],
    strides: Sequence[int] = (),
    dilations: Sequence[int] = (),
    pads: Sequence[int] = (),
) -> Array:
    """A pool straight from its definition, one window at a time.

    ``x`` is [N, C, *input], ``output`` the spatial shape of the result, the rest as in ONNX.
    ``reduce`` makes a result from the plane, the window, and its elements inside the plane.
    """
    rank = x.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    pads = pads or [0] * (2 * rank)
    result = np.zeros((*x.shape[:2], *output), np.float64)
    for n, c in np.ndindex(*x.shape[:2]):
        plane = x[n, c]
        for out in np.ndindex(*output):
            window: Window = []
            for tap in np.ndindex(*kernel_shape):
                at = tuple(
                    o * s - p + t * d
                    for o, s, p, t, d in zip(out, strides, pads, tap, dilations, strict=False)
                )
                inside = all(0 <= a < size for a, size in zip(at, plane.shape, strict=True))
                window.append((at, inside))
            elements = np.array([plane[at] for at, inside in window if inside], np.float64)
            result[(n, c, *out)] = reduce(plane, window, elements)
    return result


def _case(
    op_type: str,
    name: str,
    x: Array | tuple[int, ...],
    output: Sequence[int],
    reduce: Callable[[Array, Window, Array], Any],
    *,
    opset: int = 17,
    own_pads: Sequence[int] | None = None,
    **attributes: Any,
) -> OpCase:
    """``own_pads`` are the pads for the oracle where the node has ``auto_pad``."""
    data = OpCase.random(1, *x) if isinstance(x, tuple) else x
    known = ("kernel_shape", "strides", "dilations", "pads")
    oracle = {key: attributes[key] for key in known if key in attributes}
    if own_pads is not None:
        oracle["pads"] = own_pads

    def expected(array: Array) -> Sequence[Array]:
        return [pooled(array, reduce, output=output, **oracle)]

    return OpCase(name, op_type, [data], attributes, opset, expected=expected)


def _largest(_plane: Array, _window: Window, elements: Array) -> Any:
    return elements.max() if elements.size else -np.inf


def _mean(_plane: Array, _window: Window, elements: Array) -> Any:
    return elements.mean()


def _mean_with_padding(pads: Sequence[int]) -> Callable[[Array, Window, Array], Any]:
    """Counts padding, but nothing beyond it."""

    def reduce(plane: Array, window: Window, elements: Array) -> Any:
        rank = plane.ndim
        counted = [
            at
            for at, _ in window
            if all(
                -pads[axis] <= at[axis] < plane.shape[axis] + pads[axis + rank]
                for axis in range(rank)
            )
        ]
        return elements.sum() / len(counted)

    return reduce


def _norm(p: int) -> Callable[[Array, Window, Array], Any]:
    return lambda _plane, _window, elements: (np.abs(elements) ** p).sum() ** (1 / p)


def _max(name: str, x: Array | tuple[int, ...], output: Sequence[int], **more: Any) -> OpCase:
    return _case("MaxPool", name, x, output, _largest, **more)


def _average(name: str, x: Array | tuple[int, ...], output: Sequence[int], **more: Any) -> OpCase:
    pads = more.get("own_pads", more.get("pads", [0] * 6))
    reduce = _mean_with_padding(pads) if more.get("count_include_pad") else _mean
    return _case("AveragePool", name, x, output, reduce, **more)


NAN = OpCase.random(9, 1, 2, 6, 6)
NAN[0, 0, 2, 3] = np.nan
NAN[0, 1] = -np.inf

MAX = [
    _max("two_by_two", (2, 3, 8, 6), (4, 3), kernel_shape=[2, 2], strides=[2, 2]),
    _max("floor", (1, 2, 8, 7), (3, 3), kernel_shape=[3, 3], strides=[2, 2]),
    _max("ceil", (1, 2, 8, 7), (4, 3), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    _max(
        "ceil_drops_window_in_end_padding",
        (1, 1, 4, 5),
        (2, 2),
        kernel_shape=[1, 1],
        strides=[3, 3],
        pads=[0, 0, 2, 2],
        ceil_mode=1,
    ),
    _max(
        "padded",
        (1, 2, 9, 9),
        (5, 5),
        kernel_shape=[3, 3],
        strides=[2, 2],
        pads=[1, 1, 1, 1],
    ),
    _max(
        "uneven_pads",
        (1, 2, 9, 9),
        (4, 10),
        kernel_shape=[3, 2],
        strides=[2, 1],
        pads=[0, 2, 1, 0],
    ),
    _max("dilated", (1, 2, 9, 9), (3, 5), kernel_shape=[3, 2], dilations=[3, 4]),
    _max("one_axis", (2, 3, 20), (9,), kernel_shape=[4], strides=[2]),
    _max("three_axes", (1, 2, 5, 6, 7), (2, 3, 4), kernel_shape=[2, 2, 1], strides=[2, 2, 2]),
    _max("large_plane", (1, 2, 40, 40), (20, 20), kernel_shape=[2, 2], strides=[2, 2]),
    _max(
        "same_upper",
        (1, 2, 7, 8),
        (4, 4),
        kernel_shape=[3, 3],
        strides=[2, 2],
        auto_pad="SAME_UPPER",
        own_pads=[1, 0, 1, 1],
    ),
    _max(
        "same_lower",
        (1, 2, 7, 8),
        (7, 8),
        kernel_shape=[2, 4],
        auto_pad="SAME_LOWER",
        own_pads=[1, 2, 0, 1],
    ),
    _max("valid", (1, 2, 7, 8), (3, 3), kernel_shape=[3, 3], strides=[2, 2], auto_pad="VALID"),
    _max(
        "valid_ceil",
        (1, 2, 8, 7),
        (4, 3),
        kernel_shape=[3, 3],
        strides=[2, 2],
        auto_pad="VALID",
        ceil_mode=1,
    ),
    _max("nan_and_infinities", NAN, (3, 3), kernel_shape=[2, 2], strides=[2, 2]),
    _max("opset_8", (1, 2, 7, 8), (5, 6), kernel_shape=[3, 3], opset=8),
    _max("window_in_padding", (1, 1, 1), (3,), kernel_shape=[2], dilations=[4], pads=[2, 4]),
    *(
        _max(dtype, OpCase.random(1, 1, 2, 7, 8, dtype=dtype), (5, 6), kernel_shape=[3, 3])
        for dtype in ("float64", "float16", "bfloat16")
    ),
    *(
        OpCase(
            f"{dtype}_padded",
            "MaxPool",
            [(OpCase.random(1, 1, 2, 7, 8) * 100).astype(np.int8).astype(dtype)],
            {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
            expected=lambda x: [
                pooled(x, _largest, kernel_shape=[3, 3], output=(7, 8), pads=[1, 1, 1, 1])
            ],
        )
        for dtype in ("int8", "uint8")
    ),
]


def _indices(column_major: bool) -> Callable[[Array], Sequence[Array]]:
    """Values and positions of 2 x 2 windows, padded by one at the start of each axis."""

    def expected(x: Array) -> Sequence[Array]:
        rank = x.ndim - 2
        kernel, output = [2] * rank, [size // 2 + 1 for size in x.shape[2:]]
        pads = [1] * rank + [0] * rank
        shape = x.shape[2:]
        order: Literal["F", "C"] = "F" if column_major else "C"

        def position(_plane: Array, window: Window, elements: Array) -> int:
            inside = [at for at, is_inside in window if is_inside]
            return int(np.ravel_multi_index(inside[int(elements.argmax())], shape, order=order))

        common = {
            "kernel_shape": kernel,
            "output": output,
            "strides": [2] * rank,
            "pads": pads,
        }
        values = pooled(x, _largest, **common)
        inside_plane = pooled(x, position, **common)
        planes = np.arange(math.prod(x.shape[:2])).reshape(*x.shape[:2], *[1] * rank)
        return [values, inside_plane + planes * math.prod(shape)]

    return expected


INDICES = [
    OpCase(
        f"indices_{'column' if column_major else 'row'}_major_{rank}",
        "MaxPool",
        [OpCase.random(1, 2, 3, *[5, 7, 9][:rank])],
        {
            "kernel_shape": [2] * rank,
            "strides": [2] * rank,
            "pads": [1] * rank + [0] * rank,
            "storage_order": int(column_major),
        },
        num_outputs=2,
        expected=_indices(column_major),
    )
    for rank, column_major in itertools.product((1, 2, 3), (False, True))
]
INDICES.append(
    OpCase(
        "indices_first_is_largest",
        "MaxPool",
        [np.array([[[3, 2, 1, 0]]], np.float32)],
        {"kernel_shape": [2]},
        num_outputs=2,
        expected=lambda _x: [np.array([[[3.0, 2.0, 1.0]]]), np.array([[[0, 1, 2]]])],
    )
)

AVERAGE = [
    _average("two_by_two", (2, 3, 8, 6), (4, 3), kernel_shape=[2, 2], strides=[2, 2]),
    _average(
        "padded", (1, 2, 9, 9), (5, 5), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]
    ),
    _average(
        "padded_counted",
        (1, 2, 9, 9),
        (5, 5),
        kernel_shape=[3, 3],
        strides=[2, 2],
        pads=[1, 1, 1, 1],
        count_include_pad=1,
    ),
    _average("ceil", (1, 2, 8, 7), (4, 3), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    _average(
        "ceil_counted",
        (1, 2, 8, 9),
        (4, 5),
        kernel_shape=[3, 4],
        strides=[2, 2],
        pads=[0, 1, 0, 1],
        ceil_mode=1,
        count_include_pad=1,
    ),
    _average("dilated", (1, 2, 9, 9), (3, 7), kernel_shape=[3, 2], dilations=[3, 2], opset=19),
    _average(
        "dilated_counted",
        (1, 2, 9, 9),
        (6, 8),
        kernel_shape=[3, 2],
        dilations=[3, 2],
        pads=[2, 0, 1, 1],
        count_include_pad=1,
        opset=19,
    ),
    _average("one_axis", (2, 3, 20), (9,), kernel_shape=[4], strides=[2]),
    _average("three_axes", (1, 2, 5, 6, 7), (4, 3, 7), kernel_shape=[2, 4, 1]),
    _average(
        "same_upper",
        (1, 2, 7, 8),
        (4, 4),
        kernel_shape=[3, 3],
        strides=[2, 2],
        auto_pad="SAME_UPPER",
        own_pads=[1, 0, 1, 1],
    ),
    _average(
        "same_lower_counted",
        (1, 2, 7, 8),
        (7, 8),
        kernel_shape=[2, 4],
        auto_pad="SAME_LOWER",
        own_pads=[1, 2, 0, 1],
        count_include_pad=1,
    ),
    _average("opset_7", (1, 2, 7, 8), (5, 6), kernel_shape=[3, 3], opset=7),
    _average("float64", OpCase.random(1, 1, 2, 7, 8, dtype="float64"), (5, 6), kernel_shape=[3, 3]),
    *(
        _average(dtype, OpCase.random(1, 1, 2, 7, 8, dtype=dtype), (5, 6), kernel_shape=[3, 3])
        for dtype in ("float16", "bfloat16")
    ),
]

EIGHT_CHANNELS = [
    make(
        f"eight_channels_{dtype}",
        OpCase.random(1, 2, 8, 7, 5, dtype=dtype),
        (4, 3),
        kernel_shape=[3, 3],
        strides=[2, 2],
        pads=[1, 1, 1, 1],
    )
    for make in (_max, _average)
    for dtype in ("float32", "float16", "float64")
]

LP = [
    _case(
        "LpPool",
        f"p_{p}",
        (1, 2, 8, 7),
        (4, 4),
        _norm(p),
        kernel_shape=[3, 2],
        strides=[2, 2],
        pads=[1, 0, 0, 1],
        p=p,
    )
    for p in (1, 2, 3)
]


def _global(
    op_type: str, name: str, x: tuple[int, ...], reduce: Callable[..., Any], **more: Any
) -> OpCase:
    dtype, attributes = more.pop("dtype", "float32"), more

    def expected(array: Array) -> Sequence[Array]:
        axes = tuple(range(2, array.ndim))
        return [reduce(array.astype(np.float64), axis=axes, keepdims=True)]

    return OpCase(name, op_type, [OpCase.random(1, *x, dtype=dtype)], attributes, expected=expected)


def _global_norm(p: int) -> Callable[..., Any]:
    return lambda x, **axes: (np.abs(x) ** p).sum(**axes) ** (1 / p)


GLOBAL = [
    *(
        _global(op_type, name, shape, reduce, dtype=dtype)
        for (op_type, reduce), (name, shape, dtype) in itertools.product(
            (("GlobalAveragePool", np.mean), ("GlobalMaxPool", np.max)),
            (
                ("one_position", (2, 3, 1, 1), "float32"),
                ("small", (2, 3, 7, 7), "float32"),
                ("large", (1, 3, 33, 40), "float32"),
                ("one_axis", (2, 3, 31), "float32"),
                ("three_axes", (2, 3, 3, 4, 5), "float32"),
                ("float64", (2, 3, 7, 7), "float64"),
                ("float16", (2, 3, 7, 7), "float16"),
                ("bfloat16", (2, 3, 7, 7), "bfloat16"),
            ),
        )
    ),
    *(_global("GlobalLpPool", f"p_{p}", (2, 3, 7, 9), _global_norm(p), p=p) for p in (1, 2, 3)),
]

CASES = [*MAX, *INDICES, *AVERAGE, *EIGHT_CHANNELS, *LP, *GLOBAL]
