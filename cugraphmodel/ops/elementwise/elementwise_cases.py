"""Cases of the elementwise operators."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cugraphmodel.dtypes import DTYPES
from cugraphmodel.ir import TensorType
from cugraphmodel.ops.case import Array, OpCase
from cugraphmodel.ops.elementwise.fused import Chain

__all__ = ["CASES"]


def _f32(data: Any) -> Array:
    return np.array(data, np.float32)


def _i32(data: Any) -> Array:
    return np.array(data, np.int32)


def _i8(data: Any) -> Array:
    return np.array(data, np.int8)


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3.0e38, -3.0e38, 0.5, -2.5, 6.5],
    np.float32,
)

# operator, opset, interval of its data, attributes
UNARY: tuple[tuple[str, int, float, float, dict[str, Any]], ...] = (
    ("Abs", 13, -3, 3, {}),
    ("Acos", 7, -1, 1, {}),
    ("Acosh", 9, 1, 9, {}),
    ("Asin", 7, -1, 1, {}),
    ("Asinh", 9, -9, 9, {}),
    ("Atan", 7, -9, 9, {}),
    ("Atanh", 9, -0.99, 0.99, {}),
    ("Ceil", 13, -5, 5, {}),
    ("Cos", 7, -9, 9, {}),
    ("Cosh", 9, -4, 4, {}),
    ("Elu", 6, -5, 5, {}),
    ("Elu", 22, -5, 5, {"alpha": 2.0}),
    ("Erf", 13, -3, 3, {}),
    ("Exp", 13, -9, 9, {}),
    ("Floor", 13, -5, 5, {}),
    ("Gelu", 20, -5, 5, {}),
    ("Gelu", 20, -5, 5, {"approximate": "tanh"}),
    ("HardSigmoid", 6, -5, 5, {}),
    ("HardSigmoid", 22, -5, 5, {"alpha": 0.5, "beta": 0.25}),
    ("HardSwish", 14, -5, 5, {}),
    ("LeakyRelu", 6, -5, 5, {}),
    ("LeakyRelu", 16, -5, 5, {"alpha": 0.3}),
    ("Log", 13, 0.01, 20, {}),
    ("Mish", 18, -30, 30, {}),
    ("Neg", 13, -5, 5, {}),
    ("Reciprocal", 13, 0.1, 5, {}),
    ("Relu", 14, -5, 5, {}),
    ("Round", 11, -5, 5, {}),
    ("Selu", 6, -5, 5, {}),
    ("Selu", 22, -5, 5, {"alpha": 2.0, "gamma": 1.5}),
    ("Shrink", 9, -2, 2, {}),
    ("Shrink", 9, -2, 2, {"bias": 0.25, "lambd": 0.75}),
    ("Sigmoid", 13, -30, 30, {}),
    ("Sign", 13, -5, 5, {}),
    ("Sin", 7, -9, 9, {}),
    ("Sinh", 9, -4, 4, {}),
    ("Softplus", 1, -30, 30, {}),
    ("Softsign", 1, -5, 5, {}),
    ("Sqrt", 13, 0, 20, {}),
    ("Tan", 7, -1.2, 1.2, {}),
    ("Tanh", 13, -5, 5, {}),
    ("ThresholdedRelu", 10, -3, 3, {}),
    ("ThresholdedRelu", 22, -3, 3, {"alpha": 0.5}),
)
_erf = np.vectorize(math.erf, otypes=[np.float64])
# In float64, where onnx.reference computes in float32.
EXACT: dict[tuple[str, ...], Callable[[Array], Array]] = {
    ("Erf",): _erf,
    ("Gelu",): lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2))),
    ("Gelu", "tanh"): lambda x: (
        0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    ("HardSwish",): lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
}
ARITHMETIC = ("Add", "Sub", "Mul", "Div")
COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")

# a name and the shapes of two operands
BROADCASTS: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = (
    ("scalars", (), ()),
    ("scalar_right", (3, 5), ()),
    ("scalar_left", (1,), (2, 3, 4)),
    ("row", (6, 8), (8,)),
    ("odd_row", (6, 7), (7,)),
    ("column", (6, 8), (6, 1)),
    ("outer", (5, 1), (1, 7)),
    ("channels", (2, 3, 4, 4), (3, 1, 1)),
    ("odd_channels", (2, 3, 5, 3), (1, 3, 1, 1)),
    ("alternating", (3, 1, 4, 1), (1, 2, 1, 8)),
    ("middle", (2, 3, 4), (2, 1, 4)),
    ("rank_8", (2, 1, 2, 1, 3, 1, 2, 1), (1, 3, 1, 2, 1, 2, 1, 5)),
    ("large", (1031, 129), (1031, 129)),
)


def _between(low: float, high: float, dtype: str) -> Array:
    """103 numbers, so that the last thread has three of its four."""
    return np.random.default_rng(1).uniform(low, high, 103).astype(dtype)


def _in_float64(exact: Callable[[Array], Array], x: Array) -> list[Array]:
    return [exact(x.astype(np.float64))]


def _unary() -> Iterator[OpCase]:
    for op_type, opset, low, high, attributes in UNARY:
        exact = EXACT.get((op_type, *(str(value) for value in attributes.values())))
        expected = None if exact is None else functools.partial(_in_float64, exact)
        suffix = "_".join(["", *(f"{name}_{value}" for name, value in attributes.items())])
        for dtype in FLOATS:
            data = _between(low, high, dtype)
            name = f"{dtype}{suffix}"
            yield OpCase(name, op_type, [data], attributes, opset, expected=expected)
    for op_type in ("Abs", "Neg", "Relu", "Sign", "Erf", "Floor", "Ceil", "Round", "Sqrt"):
        yield OpCase("special", op_type, [SPECIAL])
    for op_type in ("Exp", "Log", "Tanh", "Sigmoid", "Reciprocal", "Sin"):
        yield OpCase("special", op_type, [SPECIAL])
    yield OpCase("celu", "Celu", [_between(-5, 5, "float32")], opset=12)
    yield OpCase("celu_alpha", "Celu", [_between(-5, 5, "float32")], {"alpha": 2.0}, opset=12)
    for dtype in INTEGERS:
        extremes = np.array(
            [0, 1, 2, 7, np.iinfo(dtype).min, np.iinfo(dtype).max, np.iinfo(dtype).max // 2], dtype
        )
        yield OpCase(dtype, "Abs", [extremes])
        yield OpCase(dtype, "Sign", [extremes])
        yield OpCase(dtype, "BitwiseNot", [extremes], opset=18)
        if dtype.startswith("int"):
            yield OpCase(dtype, "Neg", [extremes])
            yield OpCase(dtype, "Relu", [extremes])
    yield OpCase("bool", "Not", [OpCase.random(2, 9, dtype="bool")])
    yield OpCase(
        "float32", "Swish", [_between(-30, 30, "float32")], {"alpha": 0.5}, opset=24,
        expected=lambda x: [x / (1 + np.exp(-0.5 * x.astype(np.float64)))],
    )  # fmt: skip
    for dtype in ("int32", "uint8"):
        yield OpCase(dtype, "Shrink", [np.arange(9).astype(dtype)], {"bias": 1.5, "lambd": 2.5}, 9,
                     expected=lambda x: [np.where(x > 2.5, x - 1.5, 0)])  # fmt: skip
    yield OpCase(
        "int64", "Shrink", [np.arange(-5, 6)], {"bias": 2.0, "lambd": 1.0}, 9,
        expected=lambda x: [np.where(x > 1, x - 2, np.where(x < -1, x + 2, 0))],
    )  # fmt: skip
    yield OpCase("special", "IsNaN", [SPECIAL])
    yield OpCase("float16", "IsNaN", [np.array([0, np.inf, -np.inf, np.nan, 2], np.float16)])
    for positive, negative in ((1, 1), (1, 0), (0, 1), (0, 0)):
        attributes = {"detect_positive": positive, "detect_negative": negative}
        yield OpCase(f"special_{positive}{negative}", "IsInf", [SPECIAL], attributes)
    yield OpCase("float64", "IsInf", [SPECIAL.astype(np.float64)])


def _cast() -> Iterator[OpCase]:
    codes = {
        "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7,
        "bool": 9, "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "bfloat16": 16,
    }  # fmt: skip
    for source in codes:
        data = np.array([0, 1, 2, 3, 100, 77, 25], source)
        for target, code in codes.items():
            yield OpCase(f"{source}_to_{target}", "Cast", [data], {"to": code}, rtol=0, atol=0)
    yield OpCase("toward_zero", "Cast", [_f32([-2.9, -0.5, 0.5, 2.9])], {"to": 6})
    yield OpCase(
        "saturates", "Cast", [_f32([300, -300, np.inf, -np.inf, np.nan])], {"to": 3},
        expected=lambda _x: [_i8([127, -128, 127, -128, 0])],
    )  # fmt: skip
    yield OpCase("wraps", "Cast", [_i32([300, -1, 128, -129])], {"to": 3})
    # 1 + 2**-11 + 2**-40 is above the middle of two float16 numbers, and on it once it is float32.
    middle = np.array([1 + 2.0**-11 + 2.0**-40])
    yield OpCase("rounds_once", "Cast", [middle], {"to": 10}, rtol=0, atol=0)
    # Next to the middles of bfloat16 numbers, by parts of a unit of a float32's last place.
    near = np.array([2.0**-17, 1.5]) * 2.0**-23
    middles = np.concatenate([1 + 2.0**-8 + near, 1 + 3 * 2.0**-8 - near])
    yield OpCase(
        "rounds_once_to_bfloat16", "Cast", [middles], {"to": 16},
        expected=lambda _x: [np.full(4, 1 + 2.0**-7)], rtol=0, atol=0,
    )  # fmt: skip
    yield OpCase(
        "int32_rounds_once_to_bfloat16", "Cast", [_i32([2**24 + 2**16 + 1])], {"to": 16},
        expected=lambda _x: [np.array([2.0**24 + 2.0**17])], rtol=0, atol=0,
    )  # fmt: skip
    yield OpCase("to_bool", "Cast", [_f32([0.0, -0.0, 0.5, np.nan])], {"to": 9})
    like = np.zeros((), np.int64)
    yield OpCase("int64", "CastLike", [_f32([-2.9, 0, 2.9]), like])


def _storage_cast() -> Iterator[OpCase]:
    """Types of 8 bits and less; the numbers of all codes are in ``tests/kernels/test_casts.py``."""
    numbers = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5]
    for entry in DTYPES:
        if not entry.is_storage:
            continue
        name, attributes = entry.numpy.name, {"to": entry.onnx_code}
        opset = 28 if name.startswith("float6") else 25
        data = np.array(numbers if entry.kind == "f" else [0, 1, 2, 1, 0], np.float32)
        scales = name == "float8_e8m0fnu"
        yield OpCase(f"float32_to_{name}", "Cast", [data + scales], attributes, opset=opset)
        # onnx.reference rounds to nearest, but round_mode is "up".
        up = functools.partial(_constant, [1, 2, 4, 4, 2, 4]) if scales else None
        like = np.ones(1, entry.numpy)
        yield OpCase(name, "CastLike", [data + scales, like], opset=opset, expected=up)
        targets = {"float32": 1, "bfloat16": 16, "int32": 6}
        for target, code in targets.items():
            if target != "float32" and name not in ("float8_e4m3fn", "int4"):
                continue
            stored = (data + scales).astype(entry.numpy)
            yield OpCase(f"{name}_to_{target}", "Cast", [stored], {"to": code}, opset=opset)
    special = np.array([0.0, -1.0, np.inf, np.nan]).astype("float8_e5m2")
    for op_type in ("IsInf", "IsNaN"):
        yield OpCase("float8_e5m2", op_type, [special], opset=20)
    large = _f32([1e9, -1e9, np.inf, -np.inf, np.nan])
    for code, highest in ((17, 448), (18, 240), (19, 57344), (20, 57344)):
        for saturate in (0, 1):
            end = highest if saturate else np.inf if code == 19 else np.nan
            yield OpCase(
                f"saturate_{saturate}_{code}", "Cast", [large],
                {"to": code, "saturate": saturate}, opset=25,
                expected=functools.partial(_constant, [end, -end, end, -end, np.nan]),
            )  # fmt: skip
    halves = _f32([1.0, 1.25, 1.5, 1.75, 0.0, np.inf, 3e38])
    least, largest, nan = 2.0**-127, 2.0**127, np.nan
    for mode, rounded in (("up", [1, 2, 2, 2]), ("down", [1, 1, 1, 1]), ("nearest", [1, 1, 2, 2])):
        for saturate, ends in ((1, [least, largest, largest]), (0, [nan, nan, nan])):
            yield OpCase(
                f"{mode}_{saturate}", "Cast", [halves],
                {"to": 24, "round_mode": mode, "saturate": saturate}, opset=25,
                expected=functools.partial(_constant, [*rounded, *ends]),
            )  # fmt: skip


def _constant(numbers: list[float], *_inputs: Array) -> list[Array]:
    return [np.array(numbers)]


def _bfloat16() -> Iterator[OpCase]:
    """What a node computes in float32 and rounds once."""
    dtype = "bfloat16"
    x, y = _between(-4, 4, dtype), OpCase.random(30, 103, dtype=dtype)
    for op_type in ("Abs", "Exp", "Floor", "Neg", "Relu", "Sigmoid", "Tanh"):
        yield OpCase(dtype, op_type, [x], opset=22)
    yield OpCase(
        dtype, "Gelu", [x], opset=20, expected=functools.partial(_in_float64, EXACT["Gelu",])
    )
    special = SPECIAL.astype(dtype)
    for op_type in ("IsInf", "IsNaN", "Reciprocal", "Sign"):
        yield OpCase(f"special_{dtype}", op_type, [special], opset=22)
    for op_type in (*ARITHMETIC, "Equal", "Less", "Max"):
        yield OpCase(f"special_{dtype}", op_type, [special[:, None], special], opset=22)
        yield OpCase(dtype, op_type, [x, np.array(1.5, dtype)], opset=22)
    yield OpCase(dtype, "Pow", [np.abs(x), y], opset=15)
    yield OpCase(dtype, "Mod", [x, y], opset=28, expected=_modulo)
    yield OpCase(dtype, "PRelu", [x, y], opset=16)
    yield OpCase(dtype, "Where", [OpCase.random(31, 103, dtype="bool"), x, y], opset=16)
    yield OpCase(dtype, "Clip", [x, np.array(-0.5, dtype), np.array(0.75, dtype)])
    data = [OpCase.random(32 + k, 33, dtype=dtype) for k in range(5)]
    yield OpCase(f"5_{dtype}", "Sum", data)
    yield OpCase(f"5_{dtype}", "Mean", data, expected=_mean)


def _binary() -> Iterator[OpCase]:
    for name, left, right in BROADCASTS:
        for op_type in ("Add", "Div"):
            inputs = [OpCase.random(3, *left), OpCase.random(4, *right) + 3]
            yield OpCase(name, op_type, [a.astype(np.float32) for a in inputs], opset=7)
    for op_type in ARITHMETIC:
        for dtype in FLOATS:
            inputs = [OpCase.random(5, 33, dtype=dtype), OpCase.random(6, 33, dtype=dtype)]
            yield OpCase(dtype, op_type, inputs, opset=14)
        yield OpCase("special", op_type, [SPECIAL[:, None], SPECIAL])
    for dtype in INTEGERS:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        data = np.array([0, 1, 2, 3, 7, low, low + 1, high, high - 1], dtype)
        divisors = np.setdiff1d(data, np.zeros(1, dtype))
        for op_type in ("Add", "Sub", "Mul"):
            yield OpCase(f"wraps_{dtype}", op_type, [data[:, None], data])
        yield OpCase(
            f"toward_zero_{dtype}", "Div", [data[:, None], divisors], expected=_divide_integers
        )
        for op_type in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
            yield OpCase(dtype, op_type, [data[:, None], data], opset=18)
        for op_type in COMPARISONS:
            yield OpCase(dtype, op_type, [data[:, None], data])
        yield OpCase(f"sign_of_divisor_{dtype}", "Mod", [data[:, None], divisors])
        yield OpCase(f"fmod_{dtype}", "Mod", [data[:, None], divisors], {"fmod": 1})
    for dtype in ("int8", "int32", "int64"):
        data = np.array([-7, -1, 0, 1, 7], dtype)
        zeros = np.zeros(5, dtype)
        for op_type in ("Div", "Mod"):
            yield OpCase(f"by_zero_{dtype}", op_type, [data, zeros], expected=lambda x, _y: [0 * x])
        signed = np.array([-3, -2, -1, 1, 2, 3], dtype)
        yield OpCase(f"signs_{dtype}", "Mod", [data[:, None], signed])
        yield OpCase(f"signs_fmod_{dtype}", "Mod", [data[:, None], signed], {"fmod": 1})
        yield OpCase(f"signs_{dtype}", "Div", [data[:, None], signed], expected=_divide_integers)
    for dtype in FLOATS:
        inputs = [OpCase.random(7, 33, dtype=dtype), OpCase.random(8, 33, dtype=dtype)]
        yield OpCase(f"fmod_{dtype}", "Mod", inputs, {"fmod": 1})
        yield OpCase(f"floats_{dtype}", "Mod", inputs, opset=28, expected=_modulo)
        for op_type in COMPARISONS:
            yield OpCase(dtype, op_type, [np.sign(inputs[0]), np.sign(inputs[1])])
    moduli = _f32([1, -1, 2.5, -2.5, 0, -0.0, np.inf, -np.inf, np.nan])
    yield OpCase("special", "Mod", [moduli[:, None], moduli], opset=28, expected=_modulo)
    yield OpCase("fmod_special", "Mod", [moduli[:, None], moduli], {"fmod": 1})
    for op_type in COMPARISONS:
        yield OpCase("special", op_type, [SPECIAL[:, None], SPECIAL])
    coins = [OpCase.random(9, 4, 1, dtype="bool"), OpCase.random(10, 7, dtype="bool")]
    for op_type in ("And", "Or", "Xor", "Equal"):
        yield OpCase("bool", op_type, coins, opset=11)
    for dtype in ("uint8", "uint16", "uint32", "uint64"):
        data = np.array([0, 1, 5, np.iinfo(dtype).max], dtype)
        bits = np.array([[0], [1], [3], [7]], dtype)
        width = np.full((1,), np.iinfo(dtype).bits, dtype)
        for direction in ("LEFT", "RIGHT"):
            attributes = {"direction": direction}
            yield OpCase(f"{direction}_{dtype}", "BitShift", [data, bits], attributes)
            yield OpCase(
                f"{direction}_by_width_{dtype}", "BitShift", [data, width], attributes,
                expected=lambda data, _width: [np.zeros_like(data)],
            )  # fmt: skip


def _modulo(x: Array, y: Array) -> list[Array]:
    """In float64, where the remainder is exact; NumPy's has the sign of the divisor."""
    wide = np.mod(x.astype(np.float64), y.astype(np.float64))
    return [np.asarray(wide)]


def _divide_integers(x: Array, y: Array) -> list[Array]:
    """Division toward zero, in Python's integers."""
    x, y = np.broadcast_arrays(x, y)
    quotients = [
        (abs(int(a)) // abs(int(b))) * (-1 if (a < 0) != (b < 0) else 1)
        for a, b in zip(x.flat, y.flat, strict=True)
    ]
    wrapped = [q & (2 ** (8 * x.itemsize) - 1) for q in quotients]
    unsigned = np.array(wrapped, f"uint{8 * x.itemsize}")
    return [unsigned.astype(x.dtype).reshape(x.shape)]


def _power() -> Iterator[OpCase]:
    positive = np.abs(OpCase.random(11, 5, 7)).astype(np.float32)
    for dtype in FLOATS:
        exponents = OpCase.random(12, 7, dtype=dtype)
        yield OpCase(f"{dtype}", "Pow", [positive.astype(dtype), exponents], opset=13)
    yield OpCase("float32_opset_7", "Pow", [positive, OpCase.random(13, 5, 1)], opset=7)
    bases = _f32([-2.0, -0.5, 0.0, 1.0, 3.0, np.inf, np.nan])
    for dtype in ("int32", "int64", "uint8", "float64"):
        exponents = np.array([[0], [1], [2], [3], [5]], dtype)
        yield OpCase(f"float32_to_{dtype}", "Pow", [bases, exponents])
    yield OpCase("square", "Pow", [bases, _f32(2)])
    yield OpCase("half", "Pow", [positive, _f32(0.5)])
    for dtype in ("int32", "int64"):
        whole = np.array([-3, -1, 0, 1, 2, 7], dtype)
        exponents = np.array([[0], [1], [2], [3], [20], [31]], dtype)
        yield OpCase(f"{dtype}_exact", "Pow", [whole, exponents])
        yield OpCase(f"{dtype}_to_float32", "Pow", [np.abs(whole), _f32([[0], [1], [2.5]])])
    yield OpCase(
        "negative_integer", "Pow", [_i32([-2, -1, 0, 1, 2]), _i32([[-1], [-2]])],
        expected=lambda _x, _n: [_i32([[0, -1, 0, 1, 0], [0, 1, 0, 1, 0]])],
    )  # fmt: skip


def _prelu() -> Iterator[OpCase]:
    x = OpCase.random(14, 2, 3, 4, 5)
    for name, shape in (("channel", (3, 1, 1)), ("scalar", (1,)), ("full", (2, 3, 4, 5))):
        yield OpCase(name, "PRelu", [x, OpCase.random(15, *shape)], opset=9)
    yield OpCase("float16", "PRelu", [x.astype("float16"), OpCase.random(15, 5, dtype="float16")])
    whole = _i32([-2, -1, 0, 3])
    yield OpCase("int32", "PRelu", [whole, _i32([5])])


def _variadic() -> Iterator[OpCase]:
    for count in (1, 2, 3, 4, 5, 8):
        for op_type in ("Max", "Min", "Sum", "Mean"):
            for dtype in FLOATS:
                shapes = [(3, 1), (1, 5), (4, 3, 5), (5,), (), (1, 3, 1), (3, 5), (4, 1, 1)]
                data = [OpCase.random(16 + k, *shapes[k], dtype=dtype) for k in range(count)]
                # onnx.reference adds in place, so its Mean does not broadcast.
                expected = _mean if op_type == "Mean" else None
                yield OpCase(f"{count}_{dtype}", op_type, data, expected=expected)
    for op_type in ("Max", "Min"):
        yield OpCase("special", op_type, [SPECIAL[:, None], SPECIAL])
        for dtype in INTEGERS:
            yield OpCase(dtype, op_type, [OpCase.random(k, 9).astype(dtype) for k in range(3)])
    yield OpCase("same_shapes_opset_6", "Sum", [OpCase.random(k, 4, 4) for k in range(3)], opset=6)


def _mean(*data: Array) -> list[Array]:
    total = np.zeros((), np.float64)
    for array in data:
        total = total + array.astype(np.float64)
    return [total / len(data)]


def _where() -> Iterator[OpCase]:
    condition = OpCase.random(17, 4, 1, dtype="bool")
    for dtype in (*FLOATS, *INTEGERS, "bool"):
        x, y = OpCase.random(18, 3, 1, 5).astype(dtype), OpCase.random(19, 5).astype(dtype)
        yield OpCase(dtype, "Where", [condition, x, y], opset=9)
    yield OpCase("keeps_nan", "Where", [SPECIAL > 0, SPECIAL, _f32(np.nan)])
    same = [OpCase.random(20, 40, dtype="bool"), OpCase.random(21, 40), OpCase.random(22, 40)]
    yield OpCase("same_shapes", "Where", same)


def _clip() -> Iterator[OpCase]:
    for dtype in FLOATS:
        x = OpCase.random(23, 4, 9, dtype=dtype)
        yield OpCase(f"both_{dtype}", "Clip", [x, np.array(-0.5, dtype), np.array(0.75, dtype)])
        yield OpCase(f"attributes_{dtype}", "Clip", [x], {"min": -0.5, "max": 0.75}, opset=6)
    for dtype in INTEGERS:
        x = np.arange(20).astype(dtype)
        yield OpCase(dtype, "Clip", [x, np.array(3, dtype), np.array(11, dtype)], opset=12)
    x = OpCase.random(24, 37)
    low, high = _f32(-0.5), _f32(0.75)
    yield OpCase("no_min", "Clip", [x, None, high], opset=11)
    yield OpCase("no_max", "Clip", [x, low], opset=11)
    yield OpCase("no_bound", "Clip", [x], opset=13)
    yield OpCase("crossed", "Clip", [x, high, low])
    yield OpCase("special", "Clip", [SPECIAL, low, high])
    yield OpCase("special_no_max", "Clip", [SPECIAL, low])
    yield OpCase("max_attribute", "Clip", [SPECIAL], {"max": 0.75}, opset=6)
    yield OpCase(
        "one_element_bounds", "Clip", [x, low.reshape(1), high.reshape(1)],
        expected=lambda x, low, high: [np.clip(x, low, high)],
    )  # fmt: skip


def _fused_case(
    name: str,
    expression: str,
    inputs: list[Array],
    expected: Callable[..., Array],
    dtype: str = "float32",
    steps: str = "",
) -> OpCase:
    shape = np.broadcast_shapes(*(x.shape for x in inputs))
    chain = Chain(steps, expression, TensorType(np.dtype(dtype), shape))
    return OpCase(
        name,
        "FusedElementwise",
        inputs,
        {"chain": chain},
        opset=1,
        domain="cugraphmodel",
        expected=lambda *data: [expected(*data)],
    )


def _fused() -> Iterator[OpCase]:
    rows, grid, column = (
        OpCase.random(k, *shape) for k, shape in enumerate([(7,), (5, 7), (5, 1)])
    )
    yield _fused_case(
        "product_and_sum",
        "el_add(v0, x2)",
        [rows, grid, column],
        lambda x, y, z: (x.astype(np.float64) * y).astype(np.float32) + z,
        steps="const auto v0 = stored<float>(el_mul(x0, x1), a);",
    )
    yield _fused_case(
        "empty",
        "el_add(x0, x1)",
        [np.zeros((0, 7), np.float32), rows],
        lambda x, y: x + y,
    )
    yield _fused_case(
        "rounds_to_half",
        "cg_act_sigmoid(v1, 0.0f, 0.0f)",
        [OpCase.random(3, 4, 8) * 40],
        lambda x: 1 / (1 + np.exp(-(x.astype(np.float16) * np.float16(3)).astype(np.float64))),
        steps="const auto v0 = stored<half>(x0, a); "
        "const auto v1 = stored<half>(el_mul(v0, 3.0f), a);",
    )
    yield _fused_case(
        "wraps_to_bytes",
        "el_add(v0, v0)",
        [np.arange(-20, 17, dtype=np.int8)],
        lambda x: x * x + x * x,
        "int8",
        "const auto v0 = stored<signed char>(el_mul(x0, x0), a);",
    )
    yield _fused_case(
        "float64",
        "el_sub(v0, x1)",
        [OpCase.random(4, 33, dtype="float64"), OpCase.random(5, 33, dtype="float64")],
        lambda x, y: x * y - y,
        "float64",
        "const auto v0 = stored<double>(el_mul(x0, x1), a);",
    )
    x, y = OpCase.random(8, 3, 7), OpCase.random(9, 7)
    for dtype, c_name in (("float32", "float"), ("int8", "signed char")):
        steps = f"const auto v0 = stored<{c_name}>(x0 * 3, a);"
        result = TensorType(np.dtype("float32"), (3, 7))
        chain = Chain(steps, "v0 + x1", result, ("v0", np.dtype(dtype)))
        yield OpCase(
            f"second_{dtype}", "FusedElementwise", [x, y], {"chain": chain}, opset=1,
            domain="cugraphmodel", num_outputs=2, expected=functools.partial(_two, dtype),
        )  # fmt: skip
    for count in (1, 4, 5, 6):
        shapes = [(5, 1, 4), (3, 1), (4,), (5, 3, 4), (), (1, 3, 4)]
        data = [OpCase.random(10 + k, *shape) for k, shape in enumerate(shapes[:count])]
        total = " + ".join(f"{k + 1} * x{k}" for k in range(count))
        yield _fused_case(f"{count}_operands", total, data, _weighted_sum)
    mixed = [
        OpCase.random(20, 3, 8, dtype=dtype)
        for dtype in ("bool", "int64", "float16", "uint8", "float64", "float32")
    ]
    yield _fused_case(
        "mixed_types", "x0 ? double(x1) + x2 : x3 + x4 * x5", mixed, _mixed, "float64"
    )


def _two(dtype: str, x: Array, y: Array) -> list[Array]:
    inner = (x * np.float32(3)).astype(dtype)
    return [inner + y.astype(np.float64), inner]


def _weighted_sum(*data: Array) -> Array:
    total = np.zeros((), np.float64)
    for number, array in enumerate(data):
        total = total + (number + 1) * array.astype(np.float64)
    return total


def _mixed(x0: Array, x1: Array, x2: Array, x3: Array, x4: Array, x5: Array) -> Array:
    return np.where(x0, x1 + x2.astype(np.float64), x3 + x4 * x5)


CASES = [
    *_unary(),
    *_cast(),
    *_storage_cast(),
    *_bfloat16(),
    *_binary(),
    *_power(),
    *_prelu(),
    *_variadic(),
    *_where(),
    *_clip(),
    *_fused(),
]
