"""Graphs from ONNX text, and what they compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from cugraphmodel.executors.base import Device
from cugraphmodel.front.reader import read_model
from cugraphmodel.front.trace import trace
from cugraphmodel.ir import Graph, Parameters
from cugraphmodel.plan import build_plan

Array = npt.NDArray[Any]


def graph_of(model: onnx.ModelProto, outputs: Sequence[str] = ("y",)) -> Graph:
    """The graph before any pass. All inputs of the model have fixed shapes."""
    source = read_model(model)
    shapes = {
        value.name: tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        for value in model.graph.input
    }
    return trace(source, Parameters(source.parameters), shapes, outputs, {}).graph


def ops_of(graph: Graph) -> list[str]:
    """Operators in order."""
    return [node.op_type for node in graph.nodes]


def parameters_of(model: onnx.ModelProto) -> Parameters:
    """The model's initializers."""
    return Parameters(read_model(model).parameters)


def run_graph(
    graph: Graph, parameters: Parameters, device: Device, inputs: Sequence[Array]
) -> list[Array]:
    """Outputs of a graph on a device."""
    plan = build_plan(graph)
    executable = device.prepare(plan, device.weight_store(), parameters, capture=True)
    try:
        for view, array in zip(executable.inputs, inputs, strict=True):
            view[...] = array
        executable.replay()
        return [output.copy() for output in executable.outputs]
    finally:
        executable.close()


def assert_same_results(
    model: onnx.ModelProto,
    run: Callable[[Graph], Graph],
    device: Device,
    outputs: Sequence[str] = ("y",),
    rtol: float = 2e-5,
) -> Graph:
    """After ``run``, the graph gives what ONNX Runtime gives for the model.

    Returns:
        The graph after the pass.
    """
    graph = run(graph_of(model, outputs))
    generator = np.random.default_rng(5)
    inputs = [
        generator.standard_normal(graph.values[name].shape).astype(graph.values[name].dtype)
        for name in graph.inputs
    ]
    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    del exposed.graph.output[:]
    exposed.graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        exposed.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    expected = session.run(None, dict(zip(graph.inputs, inputs, strict=True)))
    got = run_graph(graph, parameters_of(model), device, inputs)
    for mine, right in zip(got, expected, strict=True):
        assert mine.dtype == right.dtype
        scale = float(np.abs(right).max())
        np.testing.assert_allclose(mine, right, rtol=rtol, atol=rtol * scale)
    return graph


def assert_same_bits(left: Sequence[Array], right: Sequence[Array]) -> None:
    """Equal in dtype, shape and every bit, but for which NaN a NaN is."""
    for mine, other in zip(left, right, strict=True):
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
        is_nan = mine != mine
        np.testing.assert_array_equal(is_nan, other != other)
        assert mine[~is_nan].tobytes() == other[~is_nan].tobytes()


def assert_as_exact(model: onnx.ModelProto, run: Callable[[Graph], Graph], device: Device) -> None:
    """After ``run``, the graph is as near to the model in double precision as before, or nearer.

    One rounding of the result to its type is allowed for; for doubles those of the oracle as well.
    """
    before = graph_of(model)
    generator = np.random.default_rng(6)
    inputs = [
        (3 * generator.standard_normal(before.values[name].shape)).astype(before.values[name].dtype)
        for name in before.inputs
    ]
    wide = {name: x.astype(np.float64) for name, x in zip(before.inputs, inputs, strict=True)}
    (right,) = map(np.asarray, ReferenceEvaluator(_in_double(model)).run(["y"], wide))
    assert right.dtype == np.float64
    errors = []
    for graph in (before, run(before)):
        (got,) = run_graph(graph, parameters_of(model), device, inputs)
        errors.append(np.abs(got.astype(np.float64) - right))
    rounding = np.abs(right) * float(np.finfo(got.dtype).eps)
    if got.dtype == np.float64:
        rounding += 4 * np.finfo(got.dtype).eps * np.abs(right).max()
    assert (errors[1] <= errors[0].max() + rounding).all()
    assert errors[1].mean() <= errors[0].mean() + rounding.mean()


def _in_double(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with every float as a double: parameters, inputs and constants."""
    double = onnx.ModelProto()
    double.CopyFrom(model)
    for tensor in double.graph.initializer:
        _widen(tensor)
    for value in double.graph.input:
        value.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    del double.graph.output[:]
    double.graph.output.append(onnx.ValueInfoProto(name="y"))
    narrow = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16)
    for node in double.graph.node:
        for attribute in node.attribute if node.op_type == "Cast" else ():
            attribute.i = onnx.TensorProto.DOUBLE if attribute.i in narrow else attribute.i
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.name == "value_float":
                number = np.array(attribute.f, np.float32)
                attribute.CopyFrom(
                    onnx.helper.make_attribute("value", numpy_helper.from_array(number))
                )
            _widen(attribute.t)
    return double


def _widen(tensor: onnx.TensorProto) -> None:
    array = numpy_helper.to_array(tensor)
    if array.dtype in (np.float16, np.float32):
        tensor.CopyFrom(numpy_helper.from_array(array.astype(np.float64), tensor.name))
