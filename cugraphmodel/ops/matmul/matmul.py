"""MatMul and Gemm, and their forms with bias, residual and activation fused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import kind_of
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, operands_of_one_dtype, required, residual_of
from cugraphmodel.ops.launch import Launch
from cugraphmodel.ops.matmul.product import Epilogue, Product, launch_product
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.strides import broadcast_shapes

DTYPES = (*FLOATS, *map(np.dtype, ("int32", "int64", "uint32", "uint64")))


def _matrix_shapes(left: Value, right: Value) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes with a 1-D left operand as one row and a 1-D right one as one column."""
    if not left.shape or not right.shape:
        raise Unsupported(f"MatMul takes no scalars; got shapes {left.shape} and {right.shape}.")
    left_shape = left.shape if len(left.shape) > 1 else (1, *left.shape)
    right_shape = right.shape if len(right.shape) > 1 else (*right.shape, 1)
    if left_shape[-1] != right_shape[-2]:
        raise Unsupported(f"Shapes {left.shape} and {right.shape} do not fit a matrix product.")
    return left_shape, right_shape


def _batch_shape(left: Value, right: Value) -> tuple[int, ...]:
    left_shape, right_shape = _matrix_shapes(left, right)
    return broadcast_shapes([left_shape[:-2], right_shape[:-2]], "batch axes")


def _infer_matmul(_node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """Shape of ``numpy.matmul``; a fused node also has a bias over the columns and a residual."""
    left, right, bias = operands_of_one_dtype(inputs, DTYPES)
    left_shape, right_shape = _matrix_shapes(left, right)
    batch_shape = _batch_shape(left, right)
    Product.of_batches(left_shape, right_shape, batch_shape)  # refuses what no kernel covers
    rows = left_shape[-2:-1] if len(left.shape) > 1 else ()
    columns = right_shape[-1:] if len(right.shape) > 1 else ()
    if bias is not None and not bias.shape[-1:] == (bias.size,) == right_shape[-1:]:
        raise Unsupported(f"A bias of shape {bias.shape} does not fit {right_shape[-1]} columns.")
    result = TensorType(left.dtype, (*batch_shape, *rows, *columns))
    residual_of(inputs, result)
    return [result]


def _lower_matmul(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    left, right, bias = operands_of_one_dtype(inputs, DTYPES)
    y = required(outputs)
    left_shape, right_shape = _matrix_shapes(left, right)
    product = Product.of_batches(left_shape, right_shape, _batch_shape(left, right))
    epilogue = Epilogue(bias, (0, 1), residual=residual_of(inputs, y))
    epilogue = epilogue.with_activation_of(node.attributes)
    return [launch_product(product, left, right, y, epilogue)]


def _gemm_product(node: Node, left: Value, right: Value) -> Product:
    if len(left.shape) != 2 or len(right.shape) != 2:
        raise Unsupported(f"Gemm takes matrices; got shapes {left.shape} and {right.shape}.")
    transpose_left = bool(node.attributes.get("transA", 0))
    transpose_right = bool(node.attributes.get("transB", 0))
    rows, depth = left.shape[::-1] if transpose_left else left.shape
    depth_of_right, columns = right.shape[::-1] if transpose_right else right.shape
    if depth != depth_of_right:
        raise Unsupported(
            f"Shapes {left.shape} and {right.shape} do not fit a matrix product with "
            f"transA={int(transpose_left)}, transB={int(transpose_right)}."
        )
    return Product(
        rows, columns, depth, transpose_left=transpose_left, transpose_right=transpose_right
    )


def _infer_gemm(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """[rows, columns]; C must broadcast to it, and a fused node's residual have it."""
    left, right, bias = operands_of_one_dtype(inputs, DTYPES)
    product = _gemm_product(node, left, right)
    shape = (product.rows, product.columns)
    if bias is not None:
        padded = (1,) * (2 - len(bias.shape)) + bias.shape
        if len(padded) > 2 or any(
            size not in (1, full) for size, full in zip(padded, shape, strict=True)
        ):
            raise Unsupported(f"C of shape {bias.shape} does not broadcast to {shape}.")
    alpha, beta = node.attributes.get("alpha", 1.0), node.attributes.get("beta", 1.0)
    if kind_of(left.dtype) != "f" and (alpha != 1 or beta not in (0, 1)):
        raise Unsupported(f"alpha={alpha}, beta={beta} have no meaning for {left.dtype}.")
    result = TensorType(left.dtype, shape)
    residual_of(inputs, result)
    return [result]


def _lower_gemm(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """One launch. With ``beta`` 0, C is not read, as in the BLAS."""
    left, right, bias = operands_of_one_dtype(inputs, DTYPES)
    y = required(outputs)
    alpha, beta = node.attributes.get("alpha", 1.0), node.attributes.get("beta", 1.0)
    strides = (0, 0)
    if bias is not None:
        rows, columns = (1,) * (2 - len(bias.shape)) + bias.shape
        strides = (columns if rows > 1 else 0, 1 if columns > 1 else 0)
    residual = residual_of(inputs, y)
    epilogue = Epilogue(bias if beta else None, strides, alpha, beta, residual=residual)
    epilogue = epilogue.with_activation_of(node.attributes)
    return [launch_product(_gemm_product(node, left, right), left, right, y, epilogue)]


register(
    OpSpec("MatMul", 1, _infer_matmul, _lower_matmul),
    OpSpec("FusedMatMul", 1, _infer_matmul, _lower_matmul, domain="cugraphmodel"),
    OpSpec("Gemm", 7, _infer_gemm, _lower_gemm),
    OpSpec("FusedGemm", 1, _infer_gemm, _lower_gemm, domain="cugraphmodel"),
)
