"""What a node must do at the least: floating-point operations, bytes, and the time of both.

A multiply-add counts as two operations. Padding counts as if it were data, as is usual for
convolutions. Outside of products the numbers are rough: a few operations an element, which no GPU
is slowed down by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import cugraphmodel.ops  # noqa: F401  (registers every operator)
from cugraphmodel.ir import Node, Value
from cugraphmodel.ops.linalg.equation import read_equation
from cugraphmodel.ops.spec import find

__all__ = ["KNOWN_RATES", "Rates", "floor_us", "node_bytes", "node_flops", "rates_of"]

_Values = Sequence[Value | None]
_Count = Callable[[Node, _Values, _Values], int]


@dataclass(frozen=True)
class Rates:
    """How fast a GPU can be.

    Attributes:
        bandwidth: of its memory, in TB/s.
        tflops: arithmetic -> 10^12 floating-point operations a second. ``"fma"`` stands for
            multiply-adds without tensor cores, the other names are those of
            ``Arithmetic`` in ``ops/matmul/tensor_core.py``. What is left out bounds nothing.
    """

    bandwidth: float
    tflops: Mapping[str, float] = field(default_factory=dict)


KNOWN_RATES: Mapping[str, Rates] = {
    "H200": Rates(4.3, {"fma": 50, "tf32x3": 104, "tf32": 320, "f16": 640, "bf16": 640})
}
"""Part of a GPU's name -> what was measured on it (``mma.sync`` instructions for the products)."""


def rates_of(description: str) -> Rates | None:
    """The rates of the GPU of that description, if they are known."""
    return next((rates for name, rates in KNOWN_RATES.items() if name in description), None)


def floor_us(node: Node, inputs: _Values, outputs: _Values, rates: Rates) -> float:
    """Microseconds that the node takes at the least, by memory traffic and by arithmetic.

    Products of a type or an arithmetic without a rate are bounded by their bytes alone.
    """
    seconds = node_bytes(node, inputs, outputs) / (rates.bandwidth * 1e12)
    rate = rates.tflops.get(_arithmetic(node, inputs, outputs))
    flops = node_flops(node, inputs, outputs)
    if rate is not None and flops is not None:
        seconds = max(seconds, flops / (rate * 1e12))
    return seconds * 1e6


def _arithmetic(node: Node, inputs: _Values, outputs: _Values) -> str:
    named = node.attributes.get("arithmetic")
    if named is not None:
        return str(named)
    first = next((value for value in (*inputs, *outputs) if value is not None), None)
    computed_in_float32 = ("float32", "float16", "bfloat16")
    return "fma" if first is not None and first.dtype.name in computed_in_float32 else "other"


_PICKING = {"Gather", "GatherElements", "GatherND", "Slice", "ArrayFeatureExtractor"}
"""Operators that read of their first input only what they give."""


def node_bytes(node: Node, inputs: _Values, outputs: _Values) -> int:
    """Bytes that cross the memory bus at the least: each input read, each output written, once.

    Args:
        node: the node.
        inputs: its inputs, None where one is left out or its value was known at capture. Weights
            count like any other.
        outputs: its outputs, None where one is left out.
    """
    written = sum(value.num_bytes for value in outputs if value is not None)
    read = {value.name: value.num_bytes for value in inputs if value is not None}
    first = inputs[0] if inputs else None
    if node.op_type in _PICKING and first is not None:
        read[first.name] = min(first.num_bytes, written)
    return sum(read.values()) + written


def node_flops(node: Node, inputs: _Values, outputs: _Values) -> int | None:
    """Floating-point operations of a node; None for an operator that this does not know.

    Operations on integers count too. Arguments are those of :func:`node_bytes`.
    """
    count = _PRODUCTS.get(node.op_type)
    if count is not None:
        return count(node, inputs, outputs)
    per_element = _PER_ELEMENT.get(_family(node))
    if per_element is None:
        return None
    return per_element * max(
        (value.size for value in (*inputs, *outputs) if value is not None), default=0
    )


def _family(node: Node) -> str:
    """The folder of the operator."""
    spec = find(node.domain, node.op_type, node.version)
    module = spec.infer.__module__ if spec is not None else ""
    return module.removeprefix("cugraphmodel.ops.").split(".")[0]


_PER_ELEMENT = {
    "elementwise": 1,
    "movement": 0,
    "norm": 7,  # mean, difference, square and sum, scale, weight and bias
    "quantize": 2,
    "reduce": 1,
    "softmax": 5,  # greatest, difference, exponential, sum, quotient
    "views": 0,
}
"""Folder of operators -> operations for each element of the largest tensor."""


def _present(values: _Values, position: int) -> Value:
    value = values[position]
    assert value is not None  # of a node that was lowered
    return value


def _matrix_product(node: Node, inputs: _Values, outputs: _Values) -> int:
    left = _present(inputs, 0)
    depth = left.shape[0 if node.attributes.get("transA") else -1]
    return 2 * _present(outputs, 0).size * depth


def _convolution(weights: int, filter_axis: int = 0) -> _Count:
    """Of an operator whose input ``weights`` has its filters on that axis."""

    def count(_node: Node, inputs: _Values, outputs: _Values) -> int:
        sizes = list(_present(inputs, weights).shape)
        del sizes[filter_axis]
        return 2 * _present(outputs, 0).size * math.prod(sizes)

    return count


def _transposed_convolution(_node: Node, inputs: _Values, _outputs: _Values) -> int:
    return 2 * _present(inputs, 0).size * math.prod(_present(inputs, 1).shape[1:])


def _einsum(node: Node, inputs: _Values, _outputs: _Values) -> int:
    """As one loop over all labels: an operation for each operand."""
    shapes = [value.shape for value in inputs if value is not None]
    equation = read_equation(str(node.attributes["equation"]), shapes)
    return len(shapes) * math.prod(equation.sizes.values())


def _recurrence(_node: Node, inputs: _Values, _outputs: _Values) -> int:
    """The products of inputs and states with their weights."""
    x, weights, recurrent = (_present(inputs, position) for position in range(3))
    return 2 * math.prod(x.shape[:-1]) * (weights.size + recurrent.size)


def _attention(node: Node, _inputs: _Values, _outputs: _Values) -> int:
    layout = node.attributes["layout"]
    pairs: int = math.prod(layout.lead) * layout.num_rows * layout.num_keys
    width: int = layout.depth + layout.width
    return 2 * pairs * width


def _windows(node: Node, _inputs: _Values, outputs: _Values) -> int:
    num_taps: int = math.prod(node.attributes["kernel_shape"])
    return num_taps * _present(outputs, 0).size


def _squeeze_excite(_node: Node, inputs: _Values, _outputs: _Values) -> int:
    x = _present(inputs, 0)
    weights = sum(_present(inputs, position).size for position in (1, 3))
    return x.size + 2 * x.shape[0] * weights


def _whole(_node: Node, inputs: _Values, _outputs: _Values) -> int:
    return _present(inputs, 0).size


_MATRIX_PRODUCTS = (
    *("MatMul", "FusedMatMul", "Gemm", "FusedGemm"),
    *("MatMulInteger", "FusedMatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul"),
    *("QLinearMatMul", "QGemm", "MatMulNBits"),
)
_CONVOLUTIONS = (
    *("Conv", "FusedConv", "StemConv", "ChannelsLastConv", "DeformConv"),
    *("ConvInteger", "FusedConvInteger"),
)
_POOLS = (
    *("AveragePool", "MaxPool", "LpPool", "QLinearAveragePool"),
    *("ChannelsLastAveragePool", "ChannelsLastMaxPool"),
)
_PRODUCTS: Mapping[str, _Count] = {
    **dict.fromkeys(_MATRIX_PRODUCTS, _matrix_product),
    **dict.fromkeys(_CONVOLUTIONS, _convolution(1)),
    "QLinearConv": _convolution(3),
    "ChannelsLastDirectConv": _convolution(1, -1),
    "ConvTranspose": _transposed_convolution,
    "Einsum": _einsum,
    **dict.fromkeys(("LSTM", "GRU", "RNN", "DynamicQuantizeLSTM"), _recurrence),
    "FusedAttention": _attention,
    "SqueezeExcite": _squeeze_excite,
    **dict.fromkeys(_POOLS, _windows),
    **dict.fromkeys(
        ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "QLinearGlobalAveragePool"), _whole
    ),
}
"""Operator -> its operations."""
