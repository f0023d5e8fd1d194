"""Random small ONNX graphs over float tensors, and their right answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
OPSET = 17
MOST_ELEMENTS = 400

UNARY: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Relu", {}),
    ("Sigmoid", {}),
    ("Tanh", {}),
    ("Neg", {}),
    ("Abs", {}),
    ("LeakyRelu", {"alpha": 0.2}),
    ("Identity", {}),
    ("Softmax", {"axis": -1}),
    ("Flatten", {"axis": 1}),
)
BINARY = ("Add", "Sub", "Mul", "Max", "Min")


@dataclass
class RandomGraph:
    """A graph under construction: values with their shapes, in order of definition."""

    shapes: dict[str, Shape] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: dict[str, Array] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)

    def add_input(self, shape: Shape) -> None:
        name = f"x{len(self.inputs)}"
        self.shapes[name] = shape
        self.inputs.append(name)

    def add_weight(self, shape: Shape, scale: float = 1.0) -> str:
        name = f"w{len(self.weights)}"
        values = np.random.default_rng(len(self.weights)).uniform(-scale, scale, shape)
        self.weights[name] = values.astype(np.float32)
        return name

    def add_node(self, op_type: str, inputs: Sequence[str], shape: Shape, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(op_type, inputs, [name], name=f"{op_type}{name}", **attributes)
        )
        self.shapes[name] = shape
        return name

    def proto(self, dtype: str = "float32") -> onnx.ModelProto:
        """The model with all tensors of ``dtype``."""
        element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        graph = helper.make_graph(
            self.nodes,
            "random",
            [helper.make_tensor_value_info(n, element, self.shapes[n]) for n in self.inputs],
            [helper.make_tensor_value_info(n, element, self.shapes[n]) for n in self.outputs],
            [numpy_helper.from_array(a.astype(dtype), n) for n, a in self.weights.items()],
        )
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=8)

    def answers(self, inputs: Sequence[Array], names: Sequence[str], dtype: str) -> list[Array]:
        """Values by the ONNX reference, computed in ``dtype``."""
        model = self.proto(dtype)
        model.graph.ClearField("output")
        for name in dict.fromkeys(names):
            value = helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None)
            model.graph.output.append(value)
        feed = {n: a.astype(dtype) for n, a in zip(self.inputs, inputs, strict=True)}
        found: Any = ReferenceEvaluator(model).run(list(names), feed)
        return list(found)

    def data(self, seed: int) -> list[Array]:
        """Seeded inputs."""
        rng = np.random.default_rng(seed)
        return [rng.uniform(-2, 2, self.shapes[name]).astype(np.float32) for name in self.inputs]


SHAPES: st.SearchStrategy[Shape] = st.sampled_from(
    [(3,), (1, 4), (2, 3), (5, 4), (2, 3, 4), (1, 2, 5, 5), (2, 3, 4, 4), (1, 3, 6, 6), (1, 1, 33)]
)


@st.composite
def random_graphs(draw: st.DrawFn) -> RandomGraph:
    """Chains, diamonds, several inputs (unused ones too) and outputs."""
    graph = RandomGraph()
    shape = draw(SHAPES)
    for _ in range(draw(st.integers(1, 3))):
        graph.add_input(draw(st.one_of(st.just(shape), SHAPES)))
    for _ in range(draw(st.integers(1, 8))):
        _add_random_node(draw, graph)
    values = [name for name in graph.shapes if name not in graph.inputs]
    extra = draw(st.lists(st.sampled_from(values), max_size=2, unique=True))
    graph.outputs = list(dict.fromkeys([values[-1], *extra]))
    return graph


@st.composite
def requests(draw: st.DrawFn, graph: RandomGraph) -> list[int | str] | None:
    """What to ask for: the model's outputs, or any nodes, values and inputs, some of them twice."""
    if draw(st.booleans()):
        return None
    entries = st.one_of(
        st.integers(-len(graph.nodes), len(graph.nodes) - 1), st.sampled_from(sorted(graph.shapes))
    )
    return draw(st.lists(entries, min_size=1, max_size=4))


def requested_names(graph: RandomGraph, wanted: list[int | str] | None) -> list[str]:
    """The value names that a request stands for."""
    if wanted is None:
        return graph.outputs
    return [w if isinstance(w, str) else graph.nodes[w].output[0] for w in wanted]


def _add_random_node(draw: st.DrawFn, graph: RandomGraph) -> None:
    name = draw(st.sampled_from(list(graph.shapes)))
    shape = graph.shapes[name]
    kinds = ["unary", "unary", "binary", "constant", "transpose", "reduce", "concat"]
    kinds += ["product", "product"] if len(shape) >= 2 else []
    kinds += ["convolution", "convolution", "pool"] if len(shape) == 4 else []
    _ADDERS[draw(st.sampled_from(kinds))](draw, graph, name)


def _unary(draw: st.DrawFn, graph: RandomGraph, name: str) -> None:
    op_type, attributes = draw(st.sampled_from(UNARY))
    shape = graph.shapes[name]
    if op_type == "Flatten":
        shape = (shape[0], math.prod(shape[1:]))
    graph.add_node(op_type, [name], shape, **attributes)


def _binary(draw: st.DrawFn, graph: RandomGraph, name: str) -> None:
    """Two values that broadcast; a value with itself always does."""
    partners = []
    for other, shape in graph.shapes.items():
        try:
            result = np.broadcast_shapes(graph.shapes[name], shape)
        except ValueError:
            continue
        if math.prod(result) <= MOST_ELEMENTS:
            partners.append((other, result))
    other, result = draw(st.sampled_from(partners))
    pair = draw(st.permutations([name, other]))
    graph.add_node(draw(st.sampled_from(BINARY)), pair, result)


def _constant(draw: st.DrawFn, graph: RandomGraph, name: str) -> None:
    """A value with a weight: of one element, along the last axis, or of the same shape."""
    shape = graph.shapes[name]
    weight = graph.add_weight(draw(st.sampled_from([(), shape[-1:], shape])))
    pair = draw(st.permutations([name, weight]))
    graph.add_node(draw(st.sampled_from(BINARY)), pair, shape)


def _transpose(draw: st.DrawFn, graph: RandomGraph, name: str) -> None:
    shape = graph.shapes[name]
    axes = draw(st.permutations(range(len(shape))))
    graph.add_node("Transpose", [name], tuple(shape[a] for a in axes), perm=axes)


def _reduce(draw: st.DrawFn, graph: RandomGraph, name: str) -> None:
    shape = graph.shapes[name]
    axis = draw(st.integers(0, len(shape) - 1))
    reduced = tuple(1 if a == axis else size for a, size in enumerate(shape))
    op_type = draw(st.sampled_from(["ReduceMean", "ReduceMax"]))
    graph.add_node(op_type, [name], reduced, axes=[axis], keepdims=1)


def _concat(draw: st.DrawFn, graph: RandomGraph, name: str) -> None:
    shape = graph.shapes[name]
    axis = draw(st.integers(0, len(shape) - 1))
    result = tuple(2 * size if a == axis else size for a, size in enumerate(shape))
    if math.prod(result) > MOST_ELEMENTS:
        return _unary(draw, graph, name)
    others = [other for other, found in graph.shapes.items() if found == shape]
    graph.add_node("Concat", [name, draw(st.sampled_from(others))], result, axis=axis)
    return None


def _product(draw: st.DrawFn, graph: RandomGraph, name: str) -> None:
    """MatMul, with or without a bias that could be fused, or Gemm."""
    *rest, inner = graph.shapes[name]
    width = draw(st.sampled_from([1, 3, 8]))
    weight = graph.add_weight((inner, width), 1 / math.sqrt(inner))
    if len(rest) == 1 and draw(st.booleans()):
        bias = graph.add_weight((width,))
        graph.add_node("Gemm", [name, weight, bias], (*rest, width))
        return
    product = graph.add_node("MatMul", [name, weight], (*rest, width))
    if draw(st.booleans()):
        graph.add_node("Add", [product, graph.add_weight((width,))], (*rest, width))


def _convolution(draw: st.DrawFn, graph: RandomGraph, name: str) -> None:
    """Conv, maybe with a BatchNormalization that could be folded."""
    batch, channels, height, width = graph.shapes[name]
    filters = draw(st.sampled_from([1, 4]))
    size = draw(st.sampled_from([1, 3]))
    weight = graph.add_weight((filters, channels, size, size), 1 / math.sqrt(channels * size**2))
    pads = [size // 2] * 4
    shape = (batch, filters, height, width)
    result = graph.add_node("Conv", [name, weight], shape, pads=pads)
    if draw(st.booleans()):
        scale, shift, mean = (graph.add_weight((filters,)) for _ in range(3))
        variance = graph.add_weight((filters,))
        graph.weights[variance] = np.abs(graph.weights[variance]) + np.float32(0.5)
        graph.add_node("BatchNormalization", [result, scale, shift, mean, variance], shape)


def _pool(draw: st.DrawFn, graph: RandomGraph, name: str) -> None:
    batch, channels, height, width = graph.shapes[name]
    if draw(st.booleans()) or min(height, width) < 2:
        graph.add_node("GlobalAveragePool", [name], (batch, channels, 1, 1))
        return
    op_type = draw(st.sampled_from(["MaxPool", "AveragePool"]))
    shape = (batch, channels, height // 2, width // 2)
    graph.add_node(op_type, [name], shape, kernel_shape=[2, 2], strides=[2, 2])


_ADDERS = {
    "unary": _unary,
    "binary": _binary,
    "constant": _constant,
    "transpose": _transpose,
    "reduce": _reduce,
    "concat": _concat,
    "product": _product,
    "convolution": _convolution,
    "pool": _pool,
}
