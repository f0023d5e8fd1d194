"""Cases of ONNX Runtime's elementwise operators on quantised tensors, and of QLinearConcat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.quantize.linear_cases import quantized

__all__ = ["CASES", "number", "random_bytes", "real"]

Array = npt.NDArray[Any]
MICROSOFT = "com.microsoft"


def random_bytes(seed: int, shape: Sequence[int], dtype: str) -> Array:
    """All bytes alike."""
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)


def number(value: float, dtype: str = "float32") -> Array:
    """A scalar."""
    return np.array(value, dtype)


def real(x: Array, scale: Array, zero_point: Array | None) -> Array:
    """What quantised numbers stand for, as float32."""
    zero = 0 if zero_point is None else zero_point.astype(np.int64)
    return np.asarray((x.astype(np.int64) - zero).astype(np.float32) * scale)


def _binary(function: Callable[[Array, Array], Array]) -> Callable[..., Sequence[Array]]:
    def expected(
        a: Array,
        a_scale: Array,
        a_zero: Array | None,
        b: Array,
        b_scale: Array,
        b_zero: Array | None,
        scale: Array,
        zero_point: Array | None = None,
    ) -> Sequence[Array]:
        result = function(real(a, a_scale, a_zero), real(b, b_scale, b_zero)) / scale
        return [quantized(result, np.asarray(0 if zero_point is None else zero_point), a.dtype)]

    return expected


def _unary(function: Callable[[Array], Array]) -> Callable[..., Sequence[Array]]:
    def expected(
        x: Array, x_scale: Array, x_zero: Array | None, scale: Array, zero_point: Array
    ) -> Sequence[Array]:
        return [quantized(function(real(x, x_scale, x_zero)) / scale, zero_point, x.dtype)]

    return expected


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x.astype(np.float64))))


def _binary_case(
    name: str, op_type: str, shapes: tuple[Sequence[int], Sequence[int]], dtype: str
) -> OpCase:
    inputs = [
        *(random_bytes(1, shapes[0], dtype), number(0.031), number(5, dtype)),
        *(random_bytes(2, shapes[1], dtype), number(0.017), number(90, dtype)),
        *(number(0.043), number(77, dtype)),
    ]
    function = np.add if op_type == "QLinearAdd" else np.multiply
    return OpCase(name, op_type, inputs, opset=1, domain=MICROSOFT, expected=_binary(function))


def _concat(axis: int) -> Callable[..., Sequence[Array]]:
    def expected(scale: Array, zero_point: Array, *parts: Array) -> Sequence[Array]:
        wide = [real(*parts[first : first + 3]) for first in range(0, len(parts), 3)]
        return [quantized(np.concatenate(wide, axis) / scale, zero_point, zero_point.dtype)]

    return expected


def _concat_case(name: str, shapes: Sequence[Sequence[int]], axis: int, dtype: str) -> OpCase:
    inputs = [number(0.04), number(9, dtype)]
    for seed, shape in enumerate(shapes):
        inputs += [random_bytes(seed, shape, dtype), number(0.02 * (seed + 1)), number(seed, dtype)]
    return OpCase(
        name, "QLinearConcat", inputs, {"axis": axis}, 1, domain=MICROSOFT, expected=_concat(axis)
    )


def _unary_case(
    name: str, op_type: str, function: Callable[[Array], Array], dtype: str, **attributes: Any
) -> OpCase:
    inputs = [
        *(random_bytes(1, (3, 37), dtype), number(0.07), number(20, dtype)),
        *(number(1 / 256 if op_type == "QLinearSigmoid" else 0.06), number(3, dtype)),
    ]
    return OpCase(name, op_type, inputs, attributes, 1, domain=MICROSOFT, expected=_unary(function))


CASES = [
    _binary_case("same_shape", "QLinearAdd", ((3, 8), (3, 8)), "uint8"),
    _binary_case("odd_size", "QLinearAdd", ((5, 7), (5, 7)), "int8"),
    _binary_case("channel", "QLinearAdd", ((2, 3, 4, 8), (3, 1, 1)), "uint8"),
    _binary_case("both_broadcast", "QLinearAdd", ((4, 1, 5), (3, 1)), "int8"),
    _binary_case("left_repeats", "QLinearAdd", ((5, 1), (5, 8)), "uint8"),
    _binary_case("scalars", "QLinearAdd", ((), ()), "uint8"),
    _binary_case("same_shape", "QLinearMul", ((3, 8), (3, 8)), "int8"),
    _binary_case("channel", "QLinearMul", ((2, 3, 4, 4), (2, 3, 1, 1)), "uint8"),
    OpCase(
        "no_zero_points",
        "QLinearAdd",
        [
            *(random_bytes(1, (9,), "uint8"), number(0.5), None),
            *(random_bytes(2, (9,), "uint8"), number(0.25), None),
            number(0.5),
        ],
        opset=1,
        domain=MICROSOFT,
        expected=_binary(np.add),
    ),
    _unary_case("unsigned", "QLinearSigmoid", _sigmoid, "uint8"),
    _unary_case("signed", "QLinearSigmoid", _sigmoid, "int8"),
    _unary_case(
        "default", "QLinearLeakyRelu", lambda x: np.where(x < 0, x * np.float32(0.01), x), "uint8"
    ),
    _unary_case(
        "steep",
        "QLinearLeakyRelu",
        lambda x: np.where(x < 0, x * np.float32(0.3), x),
        "int8",
        alpha=0.3,
    ),
    _concat_case("channels", [(2, 4, 3, 4), (2, 8, 3, 4), (2, 1, 3, 4)], 1, "uint8"),
    _concat_case("odd_last", [(3, 5), (3, 0), (3, 2)], -1, "int8"),
    _concat_case("first", [(2, 4)], 0, "uint8"),
]
