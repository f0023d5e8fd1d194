"""Quantised operators of random sizes against their definitions, folded weights, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import cugraphmodel
from cugraphmodel.dtypes import kind_of
from cugraphmodel.executors.base import Device
from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.conv.quantized_cases import CASES as CONV_CASES
from cugraphmodel.ops.conv.quantized_cases import conv_integer, qlinear_conv
from cugraphmodel.ops.matmul.block_quantized_cases import CASES as BLOCK_QUANTIZED_CASES
from cugraphmodel.ops.matmul.quantized_cases import CASES as MATMUL_CASES
from cugraphmodel.ops.matmul.quantized_cases import matmul_integer, qlinear_matmul
from cugraphmodel.ops.pool.quantized_pool_cases import CASES as POOL_CASES
from cugraphmodel.ops.quantize.linear_cases import (
    DEQUANTIZE,
    dequantize,
    dynamic_quantize,
    quantize,
)
from cugraphmodel.ops.quantize.pointwise_cases import CASES as POINTWISE_CASES
from cugraphmodel.ops.quantize.pointwise_cases import random_bytes
from cugraphmodel.ops.softmax.quantized_softmax_cases import CASES as SOFTMAX_CASES
from cugraphmodel.ops.spec import Unsupported
from tests.ops import harness

SAME_DEVICE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def check(case: OpCase, device: Device) -> None:
    """The device gives the case's expected outputs."""
    for got, right in zip(harness.run(case, device), harness.expected_outputs(case), strict=True):
        harness.assert_close(case, got, right)


def _scales(seed: int, *shape: int) -> harness.Array:
    return np.random.default_rng(seed).uniform(0.01, 0.05, shape).astype(np.float32)


@st.composite
def linear_cases(draw: st.DrawFn) -> OpCase:
    """QuantizeLinear or DequantizeLinear with scales for the whole, an axis, or blocks."""
    shape = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    granularity = draw(st.sampled_from(["tensor", "axis", "blocks"]))
    block_size = draw(st.integers(1, 5)) if granularity == "blocks" else 0
    parameters = {"tensor": [], "axis": [shape[axis]], "blocks": list(shape)}[granularity]
    if block_size:
        parameters[axis] = -(-shape[axis] // block_size)
    dtype = draw(st.sampled_from(["uint8", "int16"]))
    attributes = {"axis": axis, "block_size": block_size}
    scale = _scales(1, *parameters)
    zero_point = [random_bytes(2, parameters, dtype)] if draw(st.booleans()) else []
    if draw(st.booleans()):
        x = random_bytes(3, shape, dtype)
        oracle = dequantize(axis, block_size)
        return OpCase(
            "random", "DequantizeLinear", [x, scale, *zero_point], attributes, 21, expected=oracle
        )
    if not zero_point:
        attributes["output_dtype"] = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    oracle = quantize(axis, block_size, dtype)
    inputs = [OpCase.random(4, *shape), scale, *zero_point]
    return OpCase("random", "QuantizeLinear", inputs, attributes, 21, expected=oracle)


@SAME_DEVICE
@given(case=linear_cases())
def test_linear_quantization_is_its_definition(case: OpCase, opened_device: Device) -> None:
    check(case, opened_device)


@SAME_DEVICE
@given(size=st.integers(1, 40000), scale=st.floats(1e-3, 1e3), offset=st.floats(-3, 3))
def test_dynamic_quantization_is_its_definition(
    size: int, scale: float, offset: float, opened_device: Device
) -> None:
    x = ((OpCase.random(1, size) + offset) * scale).astype(np.float32)
    check(
        OpCase(
            "random", "DynamicQuantizeLinear", [x], num_outputs=3, expected=dynamic_quantize,
            rtol=0, atol=0,
        ),
        opened_device,
    )  # fmt: skip


@st.composite
def product_cases(draw: st.DrawFn) -> OpCase:
    """MatMulInteger or QLinearMatMul with broadcast batch axes and parameters of any shape."""
    sizes = st.sampled_from([1, 2, 3, 4, 5, 16, 17, 33, 64, 70])
    rows, depth, columns = draw(sizes), draw(sizes), draw(sizes)
    batch = draw(st.lists(st.integers(1, 3), max_size=3))

    def side() -> list[int]:
        kept = batch[draw(st.integers(0, len(batch))) :]
        return [size if draw(st.booleans()) else 1 for size in kept]

    left, right = [*side(), rows, depth], [*side(), depth, columns]
    left_parameters = draw(st.sampled_from([[], [1], [rows], [*left[:-1], 1]]))
    right_parameters = draw(st.sampled_from([[], [1], [columns], [*right[:-2], 1, columns]]))
    a, b = random_bytes(1, left, "uint8"), random_bytes(2, right, "int8")
    a_zero = random_bytes(3, left_parameters, "uint8")
    b_zero = random_bytes(4, right_parameters, "int8")
    if draw(st.booleans()):
        inputs = [a, b, a_zero, b_zero]
        return OpCase("random", "MatMulInteger", inputs, opset=10, expected=matmul_integer)
    inputs = [
        *(a, _scales(5, *left_parameters), a_zero, b, _scales(6, *right_parameters), b_zero),
        *(np.array(depth**0.5 * 0.09, np.float32), np.array(7, np.int8)),
    ]
    return OpCase("random", "QLinearMatMul", inputs, opset=10, expected=qlinear_matmul)


@SAME_DEVICE
@given(case=product_cases())
def test_products_are_exact(case: OpCase, opened_device: Device) -> None:
    check(case, opened_device)


@st.composite
def conv_cases(draw: st.DrawFn) -> OpCase:
    """ConvInteger or QLinearConv with one to three spatial axes."""
    rank = draw(st.integers(1, 3))
    groups = draw(st.sampled_from([1, 1, 3]))
    channels, filters = draw(st.integers(1, 4)), draw(st.sampled_from([1, 5, 18]))

    def numbers(least: int, most: int, count: int = rank) -> list[int]:
        return draw(st.lists(st.integers(least, most), min_size=count, max_size=count))

    kernel = draw(st.lists(st.sampled_from([1, 3]), min_size=rank, max_size=rank))
    strides, dilations, pads = numbers(1, 3), numbers(1, 2), numbers(0, 2, 2 * rank)
    extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    spatial = [max(e, n) for e, n in zip(extent, numbers(1, 9), strict=True)]
    attributes: dict[str, Any] = {
        "group": groups,
        "strides": strides,
        "dilations": dilations,
        "pads": pads,
    }
    shapes = (
        [draw(st.integers(1, 3)), groups * channels, *spatial],
        [groups * filters, channels, *kernel],
    )
    x, weights = random_bytes(1, shapes[0], "uint8"), random_bytes(2, shapes[1], "int8")
    per_filter = draw(st.sampled_from([[], shapes[1][:1]]))
    x_zero, weights_zero = random_bytes(3, (), "uint8"), random_bytes(4, per_filter, "int8")
    if draw(st.booleans()):
        oracle = conv_integer(**attributes)
        inputs = [x, weights, x_zero, weights_zero]
        return OpCase("random", "ConvInteger", inputs, attributes, 10, expected=oracle)
    inputs = [
        *(x, _scales(5), x_zero, weights, _scales(6, *per_filter), weights_zero),
        *(np.array(0.3, np.float32), np.array(7, np.uint8)),
        random_bytes(7, shapes[1][:1], "int16").astype(np.int32),
    ]
    oracle = qlinear_conv(**attributes)
    return OpCase("random", "QLinearConv", inputs, attributes, 10, expected=oracle)


@SAME_DEVICE
@given(case=conv_cases())
def test_integer_convolutions_are_exact(case: OpCase, opened_device: Device) -> None:
    check(case, opened_device)


def _folds(case: OpCase) -> bool:
    x = case.inputs[0]
    return not case.domain and x is not None and kind_of(x.dtype) in "iu"


@pytest.mark.parametrize("case", [case for case in DEQUANTIZE if _folds(case)], ids=str)
def test_a_folded_weight_has_the_bits_that_the_kernel_gives(case: OpCase, device: str) -> None:
    """Numbers times a constant are dequantised at load; with an input, in the run."""
    names = [f"in{position}" for position in range(len(case.inputs))]
    arrays = {
        name: array for name, array in zip(names, case.inputs, strict=True) if array is not None
    }
    (right,) = harness.expected_outputs(case)
    code = helper.np_dtype_to_tensor_dtype(right.dtype)
    node = helper.make_node(case.op_type, names, ["y"], **case.attributes)
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in arrays.items()
    ]
    output = helper.make_tensor_value_info("y", code, right.shape)
    weights = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    results = []
    for inputs, initializers in ((infos, []), ([], weights)):
        graph = helper.make_graph([node], "one node", inputs, [output], initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)])
        shapes = {info.name: arrays[info.name].shape for info in inputs}
        captured = cugraphmodel.load(model, device=device).capture_graph(input_shapes=shapes)
        (result,) = captured.run(arrays if inputs else {})
        results.append(result.tobytes())
    assert results[0] == results[1]


NOT_IN_ONNX_RUNTIME = {
    "MatMulNBits-bfloat16-1",
    "QLinearAdd-no_zero_points-1",  # takes the types of what is left out for an error
    "QLinearMatMul-bfloat16-21",
    "QLinearMatMul-mixed_output-21",
    "QLinearMatMul-rows_and_columns-10",
    "QLinearMatMul-batch-21",
}
COMPARED = [
    case
    for case in (
        *BLOCK_QUANTIZED_CASES,
        *CONV_CASES,
        *MATMUL_CASES,
        *POINTWISE_CASES,
        *POOL_CASES,
        *SOFTMAX_CASES,
    )
    if case.domain == "com.microsoft" or case.op_type.startswith("QLinear")
]


@pytest.mark.parametrize(
    "case", [case for case in COMPARED if str(case) not in NOT_IN_ONNX_RUNTIME], ids=str
)
def test_the_definitions_are_those_of_onnx_runtime(case: OpCase) -> None:
    expected = harness.expected_outputs(case)
    model = harness._model(case, case.inputs)
    model.ir_version = 10
    if case.domain:
        model.opset_import.append(helper.make_opsetid("", 21))
    for info, array in zip(model.graph.output, expected, strict=True):
        info.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    feeds = {f"in{k}": array for k, array in enumerate(case.inputs) if array is not None}
    for theirs, ours in zip(session.run(None, feeds), expected, strict=True):
        harness.assert_close(case, theirs, ours)


BYTES, SCALE = np.zeros((2, 6), np.uint8), np.ones((), np.float32)
ZERO = np.zeros((), np.uint8)
IMAGE, FILTERS = np.zeros((1, 4, 5, 5), np.uint8), np.zeros((6, 4, 3, 3), np.int8)


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "reason"),
    [
        ("QuantizeLinear", [BYTES, SCALE], {}, "is uint8; the kernels take float16"),
        ("QuantizeLinear", [np.zeros((2, 6)), SCALE], {}, "is float64"),
        (
            "QuantizeLinear",
            [np.zeros((2, 6), np.float32), np.ones(5, np.float32)],
            {},
            r"fit neither a whole tensor of shape \(2, 6\) nor its axis 1",
        ),
        (
            "QuantizeLinear",
            [np.zeros((2, 6), np.float32), np.ones((2, 3), np.float32)],
            {"block_size": 4},
            "do not fit blocks of 4 along axis 1",
        ),
        (
            "QuantizeLinear",
            [np.zeros(3, np.float32), SCALE],
            {"output_dtype": TensorProto.INT32},
            "Quantising to int32 has no kernel",
        ),
        ("DequantizeLinear", [BYTES, SCALE, np.zeros((), np.int8)], {}, "is int8; the kernels"),
        ("DequantizeLinear", [BYTES, np.ones(6, np.float32), ZERO], {}, "does not fit scales of"),
        ("MatMulInteger", [BYTES, BYTES], {}, "do not fit a matrix product"),
        ("MatMulInteger", [BYTES, BYTES.T.copy(), np.zeros(3, np.uint8)], {}, r"shape \(3,\)"),
        ("MatMulInteger", [BYTES.astype(np.int32), BYTES.T.copy()], {}, "is int32; the kernels"),
        (
            "QLinearMatMul",
            [BYTES, SCALE, ZERO, BYTES.T.copy(), SCALE, ZERO, np.ones(2, np.float32), ZERO],
            {},
            "y_scale has shape",
        ),
        ("ConvInteger", [IMAGE, FILTERS[:, :3]], {}, "group=1 do not fit 4 channels"),
        ("ConvInteger", [IMAGE, FILTERS], {"kernel_shape": [2, 2]}, r"kernel_shape=\[2, 2\]"),
        (
            "ConvInteger",
            [IMAGE, FILTERS, ZERO, np.zeros(4, np.int8)],
            {},
            r"shape \(4,\) do not fit an operand",
        ),
    ],
)
def test_what_has_no_kernel_is_refused(
    op_type: str, inputs: list[harness.Array], attributes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Unsupported, match=reason):
        harness.graph_of(OpCase("refused", op_type, inputs, attributes, 21))
