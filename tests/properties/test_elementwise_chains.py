"""Whatever elementwise nodes are fused, no bit of any result changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from cugraphmodel.dtypes import kind_of
from cugraphmodel.executors.base import Device
from cugraphmodel.passes.fuse_elementwise import fuse_elementwise
from tests.passes.graphs import assert_same_bits, graph_of, ops_of, parameters_of, run_graph

Array = npt.NDArray[Any]
OPSET = 22
DEPTH = 6
SHAPES = ((4, 3, 5), (3, 5), (3, 1), (5,), (1, 1, 1), ())
DTYPES = tuple(
    map(
        np.dtype,
        ("float32", "float16", ml_dtypes.bfloat16, "float64", "int32", "int8", "uint8", "bool"),
    )
)
ANY_UNARY = {
    "f": ("Neg", "Abs", "Relu", "Sigmoid", "Tanh", "Exp", "Floor", "Elu", "LeakyRelu", "Round"),
    "i": ("Neg", "Abs", "Sign", "BitwiseNot"),
    "u": ("Sign", "BitwiseNot"),
    "b": ("Not",),
}
ANY_BINARY = {
    "f": ("Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu"),
    "i": ("Add", "Sub", "Mul", "Div", "Max", "Min", "BitwiseXor"),
    "u": ("Add", "Sub", "Mul", "Div", "Max", "Min", "BitwiseAnd"),
    "b": ("And", "Or", "Xor", "Equal"),
}
COMPARISONS = ("Less", "GreaterOrEqual", "Equal")


@dataclass
class Chains:
    """A graph under construction; values by name, with dtypes and shapes."""

    values: dict[str, tuple[np.dtype, tuple[int, ...]]] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    nodes: list[onnx.NodeProto] = field(default_factory=list)

    def add_input(self, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        name = f"x{len(self.inputs)}"
        self.inputs.append(name)
        self.values[name] = (dtype, shape)

    def add_number(self, number: float, dtype: np.dtype) -> str:
        """A number that depends on no parameter."""
        name = f"v{len(self.nodes)}"
        tensor = numpy_helper.from_array(np.array(number).astype(dtype), name)
        self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    def add(self, op_type: str, inputs: list[str], dtype: np.dtype, **attributes: Any) -> None:
        name = f"v{len(self.nodes)}"
        shapes = [self.values[read][1] for read in inputs if read in self.values]
        self.nodes.append(helper.make_node(op_type, inputs, [name], **attributes))
        self.values[name] = (dtype, np.broadcast_shapes(*shapes))

    def like(self, name: str) -> list[str]:
        """Values of one dtype."""
        return [other for other, (dtype, _) in self.values.items() if dtype == self.values[name][0]]

    def model(self) -> onnx.ModelProto:
        inputs = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(dtype), shape)
            for n, (dtype, shape) in self.values.items()
            if n in self.inputs
        ]
        graph = helper.make_graph(self.nodes, "chains", inputs, [])
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=10)


@st.composite
def chains(draw: st.DrawFn) -> Chains:
    """Up to six nodes one behind another, and others beside them."""
    graph = Chains()
    for _ in range(draw(st.integers(1, 3))):
        graph.add_input(draw(st.sampled_from(DTYPES)), draw(st.sampled_from(SHAPES)))
    for _ in range(draw(st.integers(3, DEPTH))):
        _add_node(draw, graph)
    return graph


def _add_node(draw: st.DrawFn, graph: Chains) -> None:
    names = list(graph.values)
    x = draw(st.sampled_from([*names[-1:] * 6, *names]))
    dtype, shape = graph.values[x]
    kind = kind_of(dtype)
    form = draw(
        st.sampled_from(("unary", "binary", "binary", "number", "cast", "where", "compare"))
    )
    if form == "unary":
        graph.add(draw(st.sampled_from(ANY_UNARY[kind])), [x], dtype)
    elif form == "cast":
        to = draw(st.sampled_from(DTYPES))
        graph.add("Cast", [x], to, to=helper.np_dtype_to_tensor_dtype(to))
    elif form == "number" and kind != "b":
        number = graph.add_number(draw(st.sampled_from((0.3, 2, 7, 100))), dtype)
        graph.add(draw(st.sampled_from(("Add", "Mul", "Div", "Max"))), [x, number], dtype)
    elif form == "where":
        conditions = [n for n in names if graph.values[n][0] == np.bool_]
        if conditions:
            other = draw(st.sampled_from(graph.like(x)))
            graph.add("Where", [draw(st.sampled_from(conditions)), x, other], dtype)
    else:
        other = draw(st.sampled_from(graph.like(x)))
        if form == "compare" and kind != "b":
            graph.add(draw(st.sampled_from(COMPARISONS)), [x, other], np.dtype(bool))
            return
        op_type = draw(st.sampled_from(ANY_BINARY[kind]))
        if op_type == "PRelu" and np.broadcast_shapes(shape, graph.values[other][1]) != shape:
            op_type = "Sub"
        graph.add(op_type, [x, other], dtype)


def _data(dtype: np.dtype, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    wide = rng.uniform(0 if kind_of(dtype) == "u" else -4, 4, shape)
    return np.asarray(wide > 0) if dtype == np.bool_ else np.asarray(wide).astype(dtype)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graph=chains(), data=st.data(), seed=st.integers(0, 99))
def test_fused_nodes_give_the_same_bits(
    opened_device: Device, graph: Chains, data: st.DataObject, seed: int
) -> None:
    made = [name for name in graph.values if name not in graph.inputs]
    if not made:
        return
    more = data.draw(st.lists(st.sampled_from(made), max_size=1))
    outputs = list(dict.fromkeys([made[-1], *more]))
    model = graph.model()
    before = graph_of(model, outputs)
    after = fuse_elementwise(before)
    assert len(ops_of(after)) <= len(ops_of(before))
    assert after.outputs == tuple(outputs)
    rng = np.random.default_rng(seed)
    inputs = [_data(*graph.values[name], rng) for name in graph.inputs]
    parameters = parameters_of(model)
    wanted = run_graph(before, parameters, opened_device, inputs)
    assert_same_bits(run_graph(after, parameters, opened_device, inputs), wanted)
