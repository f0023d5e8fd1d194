"""Programs of nested ``If`` and ``Loop`` give what the same program gives in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import cugraphmodel

Array = npt.NDArray[Any]
Statement: TypeAlias = "tuple[Any, ...]"
SHAPE = (3,)
OPERATORS: dict[str, Callable[[Array, Array], Array]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Max": np.maximum,
}

simple = st.tuples(st.sampled_from(sorted(OPERATORS)), st.sampled_from(["v", "x"]))


def blocks(inner: st.SearchStrategy[Statement]) -> st.SearchStrategy[Statement]:
    block = st.lists(inner, min_size=1, max_size=3)
    known = st.booleans()
    return st.one_of(
        st.tuples(st.just("If"), known, st.integers(-2, 2), block, block),
        st.tuples(st.just("Loop"), known, st.integers(0, 3), st.integers(-2, 2), block),
    )


programs = st.lists(
    st.recursive(simple, blocks, max_leaves=8),
    min_size=1,
    max_size=4,
)


def interpret(program: Sequence[Statement], v: Array, x: Array) -> Array:
    """``v`` after the program. A condition compares the first element of v, or a constant."""
    for statement in program:
        match statement:
            case ("If", known, threshold, yes, no):
                taken = threshold > 0 if known else v[0] > threshold
                v = interpret(yes if taken else no, v, x)
            case ("Loop", known, count, threshold, body):
                running = True
                for _ in range(count):
                    if not running:
                        break
                    v = interpret(body, v, x)
                    running = known or bool(v[0] > threshold)
            case (operator, operand):
                v = OPERATORS[operator](v, x if operand == "x" else v)
    return v


class Builder:
    """Writes a program as a graph; names repeat in bodies as they may in a file."""

    def __init__(self) -> None:
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def block(self, program: Sequence[Statement], v: str) -> tuple[list[onnx.NodeProto], str]:
        nodes: list[onnx.NodeProto] = []
        for statement in program:
            match statement:
                case ("If", known, threshold, yes, no):
                    flag = self.flag(nodes, v, known, threshold)
                    branches = {
                        "then_branch": self.body(yes, v),
                        "else_branch": self.body(no, v),
                    }
                    v = self.add(nodes, "If", [flag], **branches)
                case ("Loop", known, count, threshold, program_of_body):
                    trips = self.constant(nodes, np.array(count, np.int64))
                    body = self.loop_body(known, threshold, program_of_body)
                    v = self.add(nodes, "Loop", [trips, "", v], body=body)
                case (operator, operand):
                    v = self.add(nodes, operator, [v, "x" if operand == "x" else v])
        return nodes, v

    def add(
        self, nodes: list[onnx.NodeProto], op_type: str, inputs: list[str], **attributes: Any
    ) -> str:
        name = self.fresh()
        nodes.append(helper.make_node(op_type, inputs, [name], **attributes))
        return name

    def constant(self, nodes: list[onnx.NodeProto], array: Array) -> str:
        return self.add(nodes, "Constant", [], value=onnx.numpy_helper.from_array(array))

    def flag(self, nodes: list[onnx.NodeProto], v: str, known: bool, threshold: int) -> str:
        if known:
            return self.constant(nodes, np.array(threshold > 0))
        first = self.add(nodes, "Gather", [v, self.constant(nodes, np.array(0))])
        return self.add(
            nodes, "Greater", [first, self.constant(nodes, np.array(threshold, np.float32))]
        )

    def body(self, program: Sequence[Statement], v: str) -> onnx.GraphProto:
        nodes, result = self.block(program, v)
        nodes.append(helper.make_node("Identity", [result], ["result"]))
        return helper.make_graph(nodes, "body", [], [floats("result")])

    def loop_body(
        self, known: bool, threshold: int, program: Sequence[Statement]
    ) -> onnx.GraphProto:
        state = self.fresh()
        nodes, result = self.block(program, state)
        going_on = (
            self.constant(nodes, np.array(True))
            if known
            else self.flag(nodes, result, False, threshold)
        )
        inputs = [
            helper.make_tensor_value_info("step", TensorProto.INT64, ()),
            helper.make_tensor_value_info("condition", TensorProto.BOOL, ()),
            floats(state),
        ]
        outputs = [helper.make_tensor_value_info(going_on, TensorProto.BOOL, ()), floats(result)]
        return helper.make_graph(nodes, "body", inputs, outputs)


def floats(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE)


def build(program: Sequence[Statement]) -> onnx.ModelProto:
    nodes, v = Builder().block(program, "x")
    nodes.append(helper.make_node("Identity", [v], ["y"]))
    graph = helper.make_graph(nodes, "program", [floats("x")], [floats("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(programs, st.lists(st.integers(-3, 3), min_size=6, max_size=6))
def test_programs_agree_with_numpy(
    device: str, program: Sequence[Statement], numbers: list[int]
) -> None:
    draws = np.array(numbers, np.float32).reshape(2, 3)
    with cugraphmodel.load(build(program), device=device).capture_graph() as graph:
        for x in draws:
            np.testing.assert_array_equal(graph.run([x])[0], interpret(program, x, x))
