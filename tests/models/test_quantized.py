"""Networks that ONNX Runtime's own tools quantise, in every format, against ONNX Runtime."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper
from onnxruntime import quantization
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

import cugraphmodel

Array = npt.NDArray[Any]
BATCH = 3
INT8, UINT8 = quantization.QuantType.QInt8, quantization.QuantType.QUInt8
QDQ, Q_OPERATOR = quantization.QuantFormat.QDQ, quantization.QuantFormat.QOperator


class _Builder:
    """Nodes and random weights of a network from ``x`` to ``y``."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self.random = np.random.default_rng(0)

    def weight(self, *shape: int) -> str:
        """The name of a new weight, scaled to keep the variance of what it multiplies."""
        name = f"w{len(self.weights)}"
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        array = self.random.standard_normal(shape) * (2 / fan_in) ** 0.5
        self.weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def add(self, op_type: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """The name of a new node's output."""
        name = output or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], **attributes))
        return name

    def model(self, inputs: Sequence[int], outputs: Sequence[int]) -> onnx.ModelProto:
        """The network, for samples of these shapes."""
        x, y = (
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *shape])
            for name, shape in (("x", inputs), ("y", outputs))
        )
        graph = helper.make_graph(self.nodes, "network", [x], [y], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def convolutional(*, integers_decide: bool) -> onnx.ModelProto:
    """Dense, depthwise and pointwise convolutions and a classifier.

    With ``integers_decide`` it has only operators whose quantised forms compute in integers up to
    one multiplication and one rounding.
    """
    net = _Builder()
    x = net.add("Conv", "x", net.weight(8, 3, 3, 3), net.weight(8), pads=[1] * 4)
    pooled = net.add("MaxPool", net.add("Relu", x), kernel_shape=[2, 2], strides=[2, 2])
    x = net.add("Conv", pooled, net.weight(8, 1, 3, 3), net.weight(8), pads=[1] * 4, group=8)
    if integers_decide:
        x = net.add("Conv", x, net.weight(6, 8, 1, 1), net.weight(6))
        x = net.add("Conv", x, net.weight(4, 6, 3, 3), strides=[2, 2])
        features = 4 * 2 * 2
    else:
        summed = net.add("Add", net.add("LeakyRelu", x, alpha=0.1), pooled)
        x = net.add("Conv", summed, net.weight(6, 8, 1, 1), net.weight(6))
        x = net.add("Concat", net.add("Mul", x, net.add("Sigmoid", x)), summed, axis=1)
        x = net.add("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        x = net.add("GlobalAveragePool", x)
        features = 14
    x = net.add("Flatten", x)
    net.add("Gemm", x, net.weight(5, features), net.weight(5), output="y", transB=1)
    return net.model((3, 12, 10), (5,))


def perceptron() -> onnx.ModelProto:
    """Matrix products with and without bias."""
    net = _Builder()
    x = net.add("Add", net.add("MatMul", "x", net.weight(20, 32)), net.weight(32))
    x = net.add("Gemm", net.add("Relu", x), net.weight(16, 32), net.weight(16), transB=1)
    x = net.add("MatMul", net.add("Tanh", x), net.weight(16, 4))
    net.add("Softmax", x, output="y")
    return net.model((20,), (4,))


class _Samples(quantization.CalibrationDataReader):  # type: ignore[misc]
    """Normal data of one shape."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.samples: Iterator[dict[str, Array]] = iter([{"x": _data(i, shape)} for i in range(4)])

    def get_next(self) -> dict[str, Array] | None:
        return next(self.samples, None)


def _data(seed: int, shape: Sequence[int]) -> Array:
    return np.random.default_rng(seed).standard_normal((BATCH, *shape)).astype(np.float32)


def _shape(model: onnx.ModelProto) -> list[int]:
    dims = model.graph.input[0].type.tensor_type.shape.dim[1:]
    return [dim.dim_value for dim in dims]


def _quantized(model: onnx.ModelProto, folder: Path, **options: Any) -> Path:
    """The file that ``quantize_static`` writes."""
    logging.getLogger().setLevel(logging.ERROR)  # it advises to optimise the model first
    source, target = folder / "float.onnx", folder / "quantized.onnx"
    onnx.save(model, source)
    quantization.quantize_static(source, target, _Samples(_shape(model)), **options)
    return target


def _both(path: Path, x: Array, device: str) -> tuple[Array, Array]:
    """Our output and ONNX Runtime's, which fuses nothing."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": x})
    model = cugraphmodel.load(path, device=device)
    with model.capture_graph(batch_size=BATCH) as graph:
        (first,), (second,) = graph.run([x]), graph.run([x])
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, model.forward([x])[0])
    return first, expected


def _last_step(path: Path) -> float:
    """The distance of two neighbouring numbers in the last quantised tensor."""
    graph = onnx.load(path).graph
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    last = [node for node in graph.node if node.op_type == "DequantizeLinear"][-1]
    return float(arrays[last.input[1]])


@pytest.mark.parametrize(
    "types",
    [
        {"activation_type": UINT8, "weight_type": INT8, "per_channel": True},
        {"activation_type": INT8, "weight_type": INT8, "per_channel": False},
        {"activation_type": UINT8, "weight_type": UINT8, "per_channel": False},
    ],
    ids=["u8s8_per_channel", "s8s8", "u8u8"],
)
def test_integer_networks_equal_onnx_runtime(
    types: dict[str, Any], tmp_path: Path, device: str
) -> None:
    network = convolutional(integers_decide=True)
    path = _quantized(network, tmp_path, quant_format=Q_OPERATOR, **types)
    np.testing.assert_array_equal(*_both(path, _data(9, (3, 12, 10)), device))


@pytest.mark.parametrize("quant_format", [QDQ, Q_OPERATOR], ids=["qdq", "q_operator"])
@pytest.mark.parametrize("name", ["convolutional", "perceptron"])
def test_a_statically_quantized_network_is_within_one_step(
    name: str, quant_format: Any, tmp_path: Path, device: str
) -> None:
    """Sums, sigmoids and averages are floats before they are rounded to integers.

    ONNX Runtime adds them in another order, or reads them from a table; a float that lies next to
    the middle between two integers may then become the other one.
    """
    network = perceptron() if name == "perceptron" else convolutional(integers_decide=False)
    path = _quantized(network, tmp_path, quant_format=quant_format, per_channel=True)
    got, expected = _both(path, _data(9, _shape(network)), device)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1.01 * _last_step(path))
    assert np.ptp(expected) > 20 * _last_step(path)


@pytest.mark.parametrize("weight_type", [INT8, UINT8], ids=["s8", "u8"])
@pytest.mark.parametrize("name", ["convolutional", "perceptron"])
def test_a_dynamically_quantized_network_equals_onnx_runtime(
    name: str, weight_type: Any, tmp_path: Path, device: str
) -> None:
    network = perceptron() if name == "perceptron" else convolutional(integers_decide=True)
    source, path = tmp_path / "float.onnx", tmp_path / "quantized.onnx"
    onnx.save(network, source)
    per_channel = name == "perceptron"
    quantization.quantize_dynamic(source, path, weight_type=weight_type, per_channel=per_channel)
    got, expected = _both(path, _data(9, _shape(network)), device)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("quant_format", [QDQ, Q_OPERATOR], ids=["qdq", "q_operator"])
@pytest.mark.parametrize(("bits", "symmetric"), [(4, True), (4, False), (8, False)])
def test_weights_quantized_in_blocks_give_what_onnx_runtime_gives(
    quant_format: Any, bits: int, symmetric: bool, tmp_path: Path, device: str
) -> None:
    """DequantizeLinear of blocks of int4 or uint8, and MatMulNBits."""
    quantizer = MatMulNBitsQuantizer(
        perceptron(),
        block_size=16,
        is_symmetric=symmetric,
        quant_format=quant_format,
        op_types_to_quantize=("MatMul",),
        bits=bits,
    )
    quantizer.process()
    path = tmp_path / "quantized.onnx"
    onnx.save(quantizer.model.model, path)
    got, expected = _both(path, _data(9, (20,)), device)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
