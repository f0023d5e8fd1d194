"""LabelEncoder from numbers to numbers: a dictionary looked up for every element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, required
from cugraphmodel.ops.launch import Launch, ceil_div
from cugraphmodel.ops.movement.strided_copy import WORDS
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
Array = npt.NDArray[Any]
THREADS = 256
_KINDS = {"int64s": np.int64, "floats": np.float32}
_DEFAULTS = {"default_int64": np.int64(-1), "default_float": np.float32(-0.0)}


def _tensor(attributes: Mapping[str, Any], name: str) -> Array:
    """The keys or the values."""
    for kind, dtype in _KINDS.items():
        if attributes.get(f"{name}_{kind}"):
            return np.array(attributes[f"{name}_{kind}"], dtype)
    given = attributes.get(f"{name}_tensor")
    if given is None or np.asarray(given).dtype.kind not in "iuf":
        raise Unsupported(f"Its {name} are strings, which no kernel works on, or are left out.")
    return np.asarray(given).ravel()


def _default(attributes: Mapping[str, Any], dtype: np.dtype) -> Array:
    given = attributes.get("default_tensor")
    if given is not None:
        return np.asarray(given).ravel().astype(dtype)
    name = "default_float" if dtype.kind == "f" else "default_int64"
    return np.array([attributes.get(name, _DEFAULTS[name])]).astype(dtype)


def _tables(node: Node) -> list[Array]:
    """Keys in ascending order, and their values with the default at the end."""
    keys, values = _tensor(node.attributes, "keys"), _tensor(node.attributes, "values")
    if len(keys) != len(values):
        raise Unsupported(f"{len(keys)} keys have {len(values)} values.")
    ascending, first = np.unique(keys, return_index=True)
    return [ascending, np.concatenate([values[first], _default(node.attributes, values.dtype)])]


def _infer(_node: Node, inputs: Values) -> list[TensorType]:
    x, keys, values = (required(inputs, position) for position in range(3))
    check_dtype(x, (keys.dtype,))
    return [TensorType(values.dtype, x.shape)]


def _lower(_node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x, keys, values = (required(inputs, position) for position in range(3))
    launch = Launch(
        source="ops/ml/label_encoder.cu",
        entry="label_encoder",
        grid=(ceil_div(x.size, THREADS), 1, 1),
        block=(THREADS, 1, 1),
        args=(x, keys, values, required(outputs), np.int64(x.size), np.int32(keys.size)),
        macros=(("KEY", c_type(keys.dtype)), ("WORD", WORDS[values.dtype.itemsize])),
    )
    return [launch]


register(OpSpec("LabelEncoder", 2, _infer, _lower, domain="ai.onnx.ml", tables=_tables))
