"""Small models, written in ONNX's text form, with weights given as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper, parser

Array = npt.NDArray[Any]


def build(
    signature: str, body: str, *, opset: int = 17, ir_version: int = 8, **weights: Array
) -> onnx.ModelProto:
    """A model from the text of its graph.

    Args:
        signature: e.g. ``"(float[N,4] x) => (float[N,4] y)"``.
        body: nodes, e.g. ``"y = Relu(x)"``.
        opset: version of the standard domain.
        ir_version: of the file.
        weights: initializers by name.
    """
    head = f'<ir_version: {ir_version}, opset_import: ["" : {opset}]>'
    model = parser.parse_model(f"{head} graph {signature} {{ {body} }}")
    add_weights(model, **weights)
    return model


def add_weights(model: onnx.ModelProto, **weights: Array) -> None:
    for name, array in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))


def normal(seed: int, *shape: int, dtype: str = "float32") -> Array:
    """Seeded normal data."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def relu() -> onnx.ModelProto:
    """One Relu on x[N, 4]."""
    return build("(float[N,4] x) => (float[N,4] y)", "y = Relu(x)")


def affine() -> onnx.ModelProto:
    """Relu(x[N, 4] @ w + b), shape [N, 3]; node 0 MatMul, 1 Add, 2 Relu."""
    return build(
        "(float[N,4] x) => (float[N,3] y)",
        "product = MatMul(x, w) shifted = Add(product, b) y = Relu(shifted)",
        w=normal(1, 4, 3),
        b=normal(2, 3),
    )


def affine_steps(x: Array) -> tuple[Array, Array, Array]:
    """What the three nodes of :func:`affine` give, in float64."""
    product = x.astype(np.float64) @ normal(1, 4, 3).astype(np.float64)
    shifted = product + normal(2, 3)
    return product, shifted, np.maximum(shifted, 0)


def two_inputs() -> onnx.ModelProto:
    """Two outputs [N, 3], left - right and left + right; the input ``spare`` is not used."""
    return build(
        "(float[N,3] left, float[N,3] right, float[2] spare)"
        " => (float[N,3] difference, float[N,3] total)",
        "difference = Sub(left, right) total = Add(left, right)",
    )


def convolution() -> onnx.ModelProto:
    """Conv, BatchNormalization, Relu on x[N, 2, 5, 5]: what passes fuse and fold."""
    return build(
        "(float[N,2,5,5] x) => (float[N,3,3,3] y)",
        "c = Conv(x, kernel, bias) n = BatchNormalization(c, scale, shift, mean, variance)"
        " y = Relu(n)",
        kernel=normal(1, 3, 2, 3, 3),
        bias=normal(2, 3),
        scale=normal(3, 3),
        shift=normal(4, 3),
        mean=normal(5, 3),
        variance=np.abs(normal(6, 3)) + np.float32(0.5),
    )


def gather() -> onnx.ModelProto:
    """Rows y[K, 3] of table[5, 3] by indices[K]; a Relu follows."""
    return build(
        "(int64[K] indices) => (float[K,3] y)",
        "rows = Gather(table, indices) y = Relu(rows)",
        table=np.arange(15, dtype=np.float32).reshape(5, 3),
    )


def reshape_by_parameter() -> onnx.ModelProto:
    """Reshape x[2, 6] to the parameter ``target``, then multiply by the parameter ``factor``."""
    return build(
        "(float[2,6] x) => (float[A,B] y)",
        "r = Reshape(x, target) y = Mul(r, factor)",
        target=np.array([3, 4]),
        factor=np.array(2, np.float32),
    )
