"""SVMRegressor: support vector regression, and one-class support vector machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, required
from cugraphmodel.ops.launch import Launch, ceil_div
from cugraphmodel.ops.ml.linear import ML_DTYPES
from cugraphmodel.ops.ml.scores import transform_launches, transform_of
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 128
WARPS = THREADS // 32
_KERNELS = {
    "LINEAR": "kernel_linear",
    "POLY": "kernel_poly",
    "RBF": "kernel_rbf",
    "SIGMOID": "kernel_sigmoid",
}


def _tables(node: Node) -> list[npt.NDArray[Any]]:
    """Support vectors and their coefficients; without any, the coefficients are the one vector."""
    coefficients = np.array(node.attributes.get("coefficients", ()), np.float32)
    count = int(node.attributes.get("n_supports", 0))
    if not count:
        if not coefficients.size:
            raise Unsupported("Its coefficients are left out.")
        return [coefficients[None], np.ones(1, np.float32)]
    vectors = np.array(node.attributes.get("support_vectors", ()), np.float32)
    if coefficients.size != count or not vectors.size or vectors.size % count:
        raise Unsupported(
            f"{vectors.size} numbers and {coefficients.size} coefficients do not make {count} "
            "support vectors."
        )
    return [vectors.reshape(count, -1), coefficients]


def _kernel(node: Node) -> str:
    name = node.attributes.get("kernel_type", "LINEAR")
    if name not in _KERNELS:
        raise Unsupported(f"kernel_type {name!r} is none of {', '.join(_KERNELS)}.")
    has_vectors = bool(node.attributes.get("n_supports", 0))
    return _KERNELS[str(name)] if has_vectors else "kernel_linear"


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    x, vectors = required(inputs), required(inputs, 1)
    check_dtype(x, ML_DTYPES)
    _kernel(node)
    transform_of(str(node.attributes.get("post_transform", "NONE")))
    if len(x.shape) not in (1, 2) or x.shape[-1] != vectors.shape[1]:
        raise Unsupported(f"{x} does not hold {vectors.shape[1]} features a row.")
    if len(node.attributes.get("rho", ())) != 1:
        raise Unsupported("rho is not one number.")
    return [TensorType(np.dtype(np.float32), (x.shape[0] if len(x.shape) == 2 else 1, 1))]


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x, vectors, coefficients = (required(inputs, position) for position in range(3))
    scores = required(outputs)
    num_vectors, num_features = vectors.shape
    parameters = [*node.attributes.get("kernel_params", ()), 0.0, 0.0, 0.0][:3]
    launch = Launch(
        source="ops/ml/svm.cu",
        entry="svm_scores",
        grid=(ceil_div(scores.size, WARPS), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            *(x, vectors, coefficients, scores),
            *map(np.int64, (scores.size, num_features, num_vectors)),
            np.array(parameters, np.float32),
            np.float32(node.attributes["rho"][0]),
            np.int32(node.attributes.get("one_class", 0)),
        ),
        macros=(
            ("SCALAR", c_type(x.dtype)),
            ("COMPUTE", "float" if x.dtype == np.float32 else "double"),
            ("KERNEL", _kernel(node)),
        ),
    )
    transform = transform_of(str(node.attributes.get("post_transform", "NONE")))
    return [launch, *transform_launches(transform, scores, scores.dtype, *scores.shape)]


register(OpSpec("SVMRegressor", 1, _infer, _lower, domain="ai.onnx.ml", tables=_tables))
