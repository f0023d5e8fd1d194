"""Operators that prepare features: Binarizer, Imputer, Normalizer, Scaler and kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, float_attributes, required
from cugraphmodel.ops.elementwise.elementwise import Operand, elementwise_launch, operand
from cugraphmodel.ops.launch import ERROR_CODE, ERROR_WORD, Launch, ceil_div, index_type
from cugraphmodel.ops.ml.linear import ML_DTYPES
from cugraphmodel.ops.movement.strided_copy import WORDS
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
Array = npt.NDArray[Any]
FLOAT32 = np.dtype("float32")
INT64 = np.dtype("int64")
THREADS = 128
_NORMS = {"MAX": "norm_max", "L1": "norm_l1", "L2": "norm_l2"}


def _checked(inputs: Values) -> Value:
    x = required(inputs)
    check_dtype(x, ML_DTYPES)
    return x


def _fits_last_axis(x: Value, table: Value) -> None:
    if table.size != 1 and (not x.shape or table.size != x.shape[-1]):
        raise Unsupported(f"{table.size} numbers do not fit the features of {x}.")


def _infer_binarizer(_node: Node, inputs: Values) -> list[TensorType]:
    x = _checked(inputs)
    return [TensorType(x.dtype, x.shape)]


def _lower_binarizer(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    """Compared in double, which holds a threshold and all but huge integers."""
    scalars = float_attributes(node, [("threshold", 0.0)])
    x, out = operand(required(inputs)), operand(required(outputs))
    return [elementwise_launch("double(x0) > double(a)", [x], out, scalars)]


def _scaler_tables(node: Node) -> list[Array]:
    scale = np.array(node.attributes.get("scale", [1.0]), np.float32)
    offset = np.array(node.attributes.get("offset", [0.0]), np.float32)
    return [offset, scale]


def _infer_scaler(_node: Node, inputs: Values) -> list[TensorType]:
    x = _checked(inputs)
    for position in (1, 2):
        _fits_last_axis(x, required(inputs, position))
    return [TensorType(FLOAT32, x.shape)]


def _lower_scaler(_node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    operands = [_spread(required(inputs, position)) for position in range(3)]
    return [elementwise_launch("(x0 - x1) * x2", operands, operand(required(outputs)))]


def _spread(value: Value) -> Operand:
    """A value as an operand; one number as a scalar, which broadcasts to rank 0 too."""
    return operand(value) if value.size != 1 else Operand(value, value.dtype, ())


def _imputer_tables(node: Node) -> list[Array]:
    """What takes the place, and what is replaced."""
    if node.attributes.get("imputed_value_floats"):
        imputed = np.array(node.attributes["imputed_value_floats"], np.float32)
        replaced = np.array(node.attributes.get("replaced_value_float", 0.0), np.float32)
    else:
        imputed = np.array(node.attributes.get("imputed_value_int64s", ()), np.int64)
        replaced = np.array(node.attributes.get("replaced_value_int64", 0), np.int64)
    if not imputed.size:
        raise Unsupported("The values that are to take the place of others are left out.")
    return [imputed, replaced]


def _infer_imputer(_node: Node, inputs: Values) -> list[TensorType]:
    x, imputed = _checked(inputs), required(inputs, 1)
    _fits_last_axis(x, imputed)
    if (x.dtype.kind == "f") != (imputed.dtype.kind == "f"):
        raise Unsupported(f"The elements of {x} are not replaced by {imputed.dtype} numbers.")
    return [TensorType(x.dtype, x.shape)]


def _lower_imputer(_node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    operands = [_spread(required(inputs, position)) for position in range(3)]
    same = "(x0 == x2 || (x0 != x0 && x2 != x2))"
    out = operand(required(outputs))
    return [elementwise_launch(f"{same} ? cg_cast<T0>(x1) : x0", operands, out)]


def _one_hot_tables(node: Node) -> list[Array]:
    categories = np.array(node.attributes.get("cats_int64s", ()), np.int64)
    if not categories.size:
        raise Unsupported("Its categories are strings, which no kernel works on, or left out.")
    if not node.attributes.get("zeros", 1):
        raise Unsupported(
            "With zeros=0 an unknown category is an error; only zeros=1 has a kernel."
        )
    return [categories]


def _infer_one_hot(_node: Node, inputs: Values) -> list[TensorType]:
    return [TensorType(FLOAT32, (*_checked(inputs).shape, required(inputs, 1).size))]


def _lower_one_hot(_node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x, categories = required(inputs), required(inputs, 1)
    operands = [Operand(x, x.dtype, (*x.shape, 1)), operand(categories)]
    expression = "cg_cast<long long>(x0) == x1"
    return [elementwise_launch(expression, operands, operand(required(outputs)))]


def _infer_normalizer(node: Node, inputs: Values) -> list[TensorType]:
    x = _checked(inputs)
    norm = node.attributes.get("norm", "MAX")
    if norm not in _NORMS or len(x.shape) not in (1, 2):
        raise Unsupported(f"norm {norm!r} of {x}: {', '.join(_NORMS)} of [N, C] or [C] there is.")
    return [TensorType(FLOAT32, x.shape)]


def _lower_normalizer(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x = required(inputs)
    num_rows, row_size = (1, *x.shape)[-2:]
    return [
        Launch(
            source="ops/ml/normalizer.cu",
            entry="normalize_rows",
            grid=(ceil_div(num_rows, THREADS // 32), 1, 1),
            block=(THREADS, 1, 1),
            args=(x, required(outputs), np.int64(num_rows), np.int64(row_size)),
            macros=(
                ("SCALAR", c_type(x.dtype)),
                ("COMPUTE", "float" if x.dtype == FLOAT32 else "double"),
                ("NORM", _NORMS[str(node.attributes.get("norm", "MAX"))]),
            ),
        )
    ]


def _infer_extractor(_node: Node, inputs: Values) -> list[TensorType]:
    x, places = _checked(inputs), required(inputs, 1)
    check_dtype(places, (INT64,))
    if not x.shape:
        raise Unsupported(f"{x} has no features.")
    leading = x.shape[:-1] if len(x.shape) > 1 else (1,)
    return [TensorType(x.dtype, (*leading, places.size))]


def _lower_extractor(_node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x, places, out = required(inputs), required(inputs, 1), required(outputs)
    return [
        Launch(
            source="ops/movement/gather.cu",
            entry="gather",
            grid=(ceil_div(out.size, 256), 1, 1),
            block=(256, 1, 1),
            args=(
                *(x, places, out, np.int64(out.size)),
                *(np.int64(places.size), np.int64(1), np.int64(x.shape[-1])),
                *(ERROR_WORD, ERROR_CODE),
            ),
            macros=(
                ("WORD", WORDS[x.dtype.itemsize]),
                ("INDICES", c_type(places.dtype)),
                ("INDEX", index_type(out.size)),
            ),
        )
    ]


_DOMAIN = "ai.onnx.ml"
register(
    OpSpec("ArrayFeatureExtractor", 1, _infer_extractor, _lower_extractor, domain=_DOMAIN),
    OpSpec("Binarizer", 1, _infer_binarizer, _lower_binarizer, domain=_DOMAIN),
    OpSpec("Imputer", 1, _infer_imputer, _lower_imputer, domain=_DOMAIN, tables=_imputer_tables),
    OpSpec("Normalizer", 1, _infer_normalizer, _lower_normalizer, domain=_DOMAIN),
    OpSpec(
        "OneHotEncoder", 1, _infer_one_hot, _lower_one_hot, domain=_DOMAIN, tables=_one_hot_tables
    ),
    OpSpec("Scaler", 1, _infer_scaler, _lower_scaler, domain=_DOMAIN, tables=_scaler_tables),
)
