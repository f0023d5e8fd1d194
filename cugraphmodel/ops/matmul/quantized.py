"""MatMulInteger, QLinearMatMul, and ONNX Runtime's products of quantised matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import BFLOAT16
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, optional, required
from cugraphmodel.ops.launch import Launch, Workspace
from cugraphmodel.ops.matmul.product import Product
from cugraphmodel.ops.matmul.quantized_product import BYTES, Outcome, Quantized, launch_quantized
from cugraphmodel.ops.quantize.dynamic import dynamic_quantize_launches
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.strides import broadcast_shapes

__all__: list[str] = []

INT32, FLOAT32, UINT8 = np.dtype("int32"), np.dtype("float32"), np.dtype("uint8")
SCALES = (np.dtype("float16"), FLOAT32, BFLOAT16)
LEFT_AXIS, RIGHT_AXIS = -2, -1


def _product(left: Value, right: Value) -> tuple[Product, tuple[int, ...]]:
    """The product of ``numpy.matmul``, and its shape."""
    if not left.shape or not right.shape:
        raise Unsupported(f"A product takes no scalars; got {left.shape} and {right.shape}.")
    left_shape = left.shape if len(left.shape) > 1 else (1, *left.shape)
    right_shape = right.shape if len(right.shape) > 1 else (*right.shape, 1)
    if left_shape[-1] != right_shape[-2]:
        raise Unsupported(f"Shapes {left.shape} and {right.shape} do not fit a matrix product.")
    batch_shape = broadcast_shapes([left_shape[:-2], right_shape[:-2]], "batch axes")
    rows = left_shape[-2:-1] if len(left.shape) > 1 else ()
    columns = right_shape[-1:] if len(right.shape) > 1 else ()
    product = Product.of_batches(left_shape, right_shape, batch_shape)
    return product, (*batch_shape, *rows, *columns)


def _scalar(value: Value | None, name: str) -> Value | None:
    """A parameter that has to be a single number."""
    if value is not None and value.size != 1:
        raise Unsupported(f"{name} has shape {value.shape}; a single number is supported.")
    return value


def _column_bias(bias: Value | None, product: Product, dtype: np.dtype) -> Outcome:
    """A bias with a number for each column."""
    if bias is not None:
        check_dtype(bias, (dtype,))
        if not bias.shape[-1:] == (bias.size,) == (product.columns,):
            raise Unsupported(
                f"A bias of shape {bias.shape} does not fit {product.columns} columns."
            )
    return Outcome(bias, (0, 1))


# ---- MatMulInteger


def _integer_operands(inputs: Sequence[Value | None]) -> tuple[Quantized, Quantized]:
    left = Quantized.of(required(inputs), optional(inputs, 2), None, axis=LEFT_AXIS)
    return left, Quantized.of(required(inputs, 1), optional(inputs, 3), None, axis=RIGHT_AXIS)


def _infer_matmul_integer(_node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """int32, of the shape of ``numpy.matmul``."""
    _integer_operands(inputs)
    return [TensorType(INT32, _product(required(inputs), required(inputs, 1))[1])]


def _lower_matmul_integer(
    _node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    product, _ = _product(required(inputs), required(inputs, 1))
    return [launch_quantized(product, *_integer_operands(inputs), required(outputs), Outcome())]


# ---- QLinearMatMul


def _linear_operands(inputs: Sequence[Value | None]) -> tuple[Quantized, Quantized, Outcome]:
    scales = [required(inputs, position) for position in (1, 4, 6)]
    check_dtype(scales[0], SCALES)
    for scale in scales[1:]:
        check_dtype(scale, (scales[0].dtype,))
    left = Quantized.of(required(inputs), optional(inputs, 2), scales[0], axis=LEFT_AXIS)
    right = Quantized.of(required(inputs, 3), optional(inputs, 5), scales[1], axis=RIGHT_AXIS)
    zero_point = _scalar(required(inputs, 7), "y_zero_point")
    return left, right, Outcome(scale=_scalar(scales[2], "y_scale"), zero_point=zero_point)


def _infer_qlinear_matmul(_node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """In the type of ``y_zero_point``, of the shape of ``numpy.matmul``."""
    _linear_operands(inputs)
    zero_point = required(inputs, 7)
    check_dtype(zero_point, BYTES)
    return [TensorType(zero_point.dtype, _product(required(inputs), required(inputs, 3))[1])]


def _lower_qlinear_matmul(
    _node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    product, _ = _product(required(inputs), required(inputs, 3))
    operands = _linear_operands(inputs)
    return [
        launch_quantized(product, *operands[:2], required(outputs), operands[2], _scale(inputs, 1))
    ]


def _scale(inputs: Sequence[Value | None], position: int) -> np.dtype:
    return required(inputs, position).dtype


# ---- MatMulIntegerToFloat: A, B, their scales, their zero points, bias. Passes make the same of
# MatMulInteger; there A's scale may be left out.


def _to_float_operands(inputs: Sequence[Value | None]) -> tuple[Quantized, Quantized]:
    left_scale, right_scale = optional(inputs, 2), required(inputs, 3)
    check_dtype(right_scale, SCALES)
    if left_scale is not None:
        check_dtype(left_scale, (right_scale.dtype,))
    left = Quantized.of(required(inputs), optional(inputs, 4), left_scale, axis=LEFT_AXIS)
    return left, Quantized.of(
        required(inputs, 1), optional(inputs, 5), right_scale, axis=RIGHT_AXIS
    )


def _infer_matmul_integer_to_float(
    _node: Node, inputs: Sequence[Value | None]
) -> Sequence[TensorType]:
    """In the scales' type, of the shape of ``numpy.matmul``."""
    _to_float_operands(inputs)
    product, shape = _product(required(inputs), required(inputs, 1))
    _column_bias(optional(inputs, 6), product, _scale(inputs, 3))
    return [TensorType(_scale(inputs, 3), shape)]


def _lower_matmul_integer_to_float(
    _node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    product, _ = _product(required(inputs), required(inputs, 1))
    dtype = _scale(inputs, 3)
    outcome = _column_bias(optional(inputs, 6), product, dtype)
    operands = _to_float_operands(inputs)
    return [launch_quantized(product, *operands, required(outputs), outcome, dtype)]


# ---- DynamicQuantizeMatMul: A, B, B's scale, B's zero point, bias


def _dynamic_right(inputs: Sequence[Value | None]) -> Quantized:
    scale = required(inputs, 2)
    check_dtype(scale, (FLOAT32,))
    return Quantized.of(required(inputs, 1), optional(inputs, 3), scale, axis=RIGHT_AXIS)


def _infer_dynamic(_node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """float32, of the shape of ``numpy.matmul``."""
    left = required(inputs)
    check_dtype(left, (FLOAT32,))
    _dynamic_right(inputs)
    product, shape = _product(left, required(inputs, 1))
    _column_bias(optional(inputs, 4), product, FLOAT32)
    return [TensorType(FLOAT32, shape)]


def _lower_dynamic(
    _node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """The left operand is quantised as DynamicQuantizeLinear does it, then multiplied."""
    left = required(inputs)
    product, _ = _product(left, required(inputs, 1))
    quantized, scale, zero_point = Workspace(max(left.size, 1)), Workspace(4), Workspace(1)
    outcome = _column_bias(optional(inputs, 4), product, FLOAT32)
    return [
        *dynamic_quantize_launches(left, quantized, scale, zero_point),
        launch_quantized(
            product,
            Quantized(quantized, UINT8, zero_point, scale),
            _dynamic_right(inputs),
            required(outputs),
            outcome,
        ),
    ]


# ---- QGemm: A, its scale and zero point, B, likewise, C, y's scale and zero point


def _qgemm(node: Node, inputs: Sequence[Value | None]) -> tuple[Product, Quantized, Quantized]:
    left, right = required(inputs), required(inputs, 3)
    if len(left.shape) != 2 or len(right.shape) != 2:
        raise Unsupported(f"QGemm takes matrices; got shapes {left.shape} and {right.shape}.")
    transpose_left = bool(node.attributes.get("transA", 0))
    transpose_right = bool(node.attributes.get("transB", 0))
    rows, depth = left.shape[::-1] if transpose_left else left.shape
    depth_of_right, columns = right.shape[::-1] if transpose_right else right.shape
    if depth != depth_of_right:
        raise Unsupported(f"Shapes {left.shape} and {right.shape} do not fit a matrix product.")
    left_scale, right_scale = required(inputs, 1), required(inputs, 4)
    check_dtype(left_scale, (FLOAT32,))
    check_dtype(right_scale, (FLOAT32,))
    product = Product(
        rows, columns, depth, transpose_left=transpose_left, transpose_right=transpose_right
    )
    right_axis = -2 if transpose_right else -1
    return (
        product,
        Quantized.of(left, optional(inputs, 2), left_scale, axis=None),
        Quantized.of(right, optional(inputs, 5), right_scale, axis=right_axis),
    )


def _qgemm_outcome(node: Node, inputs: Sequence[Value | None], product: Product) -> Outcome:
    bias, scale, zero_point = (optional(inputs, position) for position in (6, 7, 8))
    strides = (0, 0)
    if bias is not None:
        check_dtype(bias, (INT32,))
        padded = (1,) * (2 - len(bias.shape)) + bias.shape
        if len(padded) > 2 or padded[0] not in (1, product.rows):
            raise Unsupported(f"C of shape {bias.shape} does not fit {product.rows} rows.")
        if padded[1] not in (1, product.columns):
            raise Unsupported(f"C of shape {bias.shape} does not fit {product.columns} columns.")
        strides = (padded[1] if padded[0] > 1 else 0, 1 if padded[1] > 1 else 0)
    if scale is None and zero_point is not None:
        raise Unsupported("y_zero_point is given, but y_scale is left out.")
    return Outcome(
        bias,
        strides,
        _scalar(scale, "y_scale"),
        _scalar(zero_point, "y_zero_point"),
        float(node.attributes.get("alpha", 1.0)),
    )


def _infer_qgemm(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """[rows, columns]: float32 without ``y_scale``, else in the type of ``y_zero_point`` or A."""
    product, left, _ = _qgemm(node, inputs)
    outcome = _qgemm_outcome(node, inputs, product)
    dtype = FLOAT32
    if outcome.scale is not None:
        dtype = left.dtype if outcome.zero_point is None else outcome.zero_point.dtype
    return [TensorType(dtype, (product.rows, product.columns))]


def _lower_qgemm(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    product, left, right = _qgemm(node, inputs)
    outcome = _qgemm_outcome(node, inputs, product)
    return [launch_quantized(product, left, right, required(outputs), outcome)]


MICROSOFT = "com.microsoft"

register(
    OpSpec("MatMulInteger", 10, _infer_matmul_integer, _lower_matmul_integer),
    OpSpec("QLinearMatMul", 10, _infer_qlinear_matmul, _lower_qlinear_matmul),
    *(
        OpSpec(
            op_type,
            1,
            _infer_matmul_integer_to_float,
            _lower_matmul_integer_to_float,
            domain=domain,
        )
        for op_type, domain in (
            ("MatMulIntegerToFloat", MICROSOFT),
            ("FusedMatMulInteger", "cugraphmodel"),
        )
    ),
    OpSpec("DynamicQuantizeMatMul", 1, _infer_dynamic, _lower_dynamic, domain=MICROSOFT),
    OpSpec("QGemm", 1, _infer_qgemm, _lower_qgemm, domain=MICROSOFT),
)
