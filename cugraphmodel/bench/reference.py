"""The right answer: the model itself, every float widened to float64."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from cugraphmodel.bench.onnx_runtime import open_session
from cugraphmodel.bench.task import Array, Task
from cugraphmodel.dtypes import kind_of

__all__ = ["OnnxReference", "OrtReference", "error_of", "widened"]

_NARROW = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)
_TYPE_ATTRIBUTES = ("to", "dtype", "stash_type", "output_dtype")


class BatchNormalization(OpRun):
    """In inference mode. That of ``onnx.reference`` trains wherever an opset below 14 is asked for.

    ``momentum`` alone makes it do so, and that always has a value.
    """

    op_domain = ""

    def _run(self, *inputs: Array, **attributes: Any) -> tuple[Array]:
        if attributes.get("training_mode"):
            raise NotImplementedError("BatchNormalization in training mode")
        x, *parameters = inputs
        shape = (-1, *[1] * (x.ndim - 2))
        scale, bias, mean, variance = (array.reshape(shape) for array in parameters)
        result = scale * (x - mean) / np.sqrt(variance + attributes["epsilon"]) + bias
        return (result.astype(x.dtype),)


class OnnxReference:
    """The wide model by ``onnx.reference``."""

    facts: Mapping[str, Any] = {}

    def __init__(self, task: Task) -> None:
        model = widened(onnx.load(task.model))
        self._evaluator = ReferenceEvaluator(model, new_ops=[BatchNormalization])
        self._inputs = _wide(task.inputs)

    def run(self) -> list[Array]:
        """Operator by operator in NumPy."""
        with np.errstate(all="ignore"):
            return list(self._evaluator.run(None, self._inputs))

    def kernels_ms(self) -> float | None:
        """Of no interest."""
        return None


class OrtReference:
    """The wide model by ONNX Runtime on the CPU, without its optimizations."""

    facts: Mapping[str, Any] = {}

    def __init__(self, task: Task) -> None:
        model = widened(onnx.load(task.model)).SerializeToString()
        self._session = open_session(model, "CPUExecutionProvider", {}, optimize=False)
        self._inputs = _wide(task.inputs)

    def run(self) -> list[Array]:
        """One call."""
        outputs: list[Array] = self._session.run(None, self._inputs)
        return outputs

    def kernels_ms(self) -> float | None:
        """Of no interest."""
        return None


def error_of(outputs: Sequence[Array], right: Sequence[Array]) -> float | None:
    """``norm(outputs - right) / norm(right)`` over all outputs of floats; None if that is 0 / 0.

    Raises:
        ValueError: another number of outputs, or another shape.
    """
    difference = norm = 0.0
    for got, expected in zip(outputs, right, strict=True):
        if got.shape != expected.shape:
            raise ValueError(f"an output has shape {got.shape}, expected {expected.shape}")
        if kind_of(expected.dtype) == "f":
            wide = expected.astype(np.float64)
            difference += float(np.sum((got.astype(np.float64) - wide) ** 2))
            norm += float(np.sum(wide**2))
    return float(np.sqrt(difference / norm)) if norm > 0 else None


def widened(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with float64 in the place of float32, float16 and bfloat16; changes the argument.

    Types of values in between are dropped, since they follow from the rest.
    """
    _widen_graph(model.graph)
    for function in model.functions:
        _widen_nodes(function.node)
    return model


def _widen_graph(graph: onnx.GraphProto) -> None:
    del graph.value_info[:]
    for info in (*graph.input, *graph.output):
        if info.type.tensor_type.elem_type in _NARROW:
            info.type.tensor_type.elem_type = TensorProto.DOUBLE
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    _widen_nodes(graph.node)


def _widen_nodes(nodes: Iterable[onnx.NodeProto]) -> None:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.name in _TYPE_ATTRIBUTES and attribute.i in _NARROW:
                attribute.i = TensorProto.DOUBLE
            if node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
                _widen_constant(attribute)
            if attribute.type == onnx.AttributeProto.TENSOR:
                _widen_tensor(attribute.t)
            if attribute.type == onnx.AttributeProto.GRAPH:
                _widen_graph(attribute.g)


def _widen_constant(attribute: onnx.AttributeProto) -> None:
    """The attribute of a Constant of floats, as that of one of a tensor."""
    is_list = attribute.name == "value_floats"
    data = np.array(list(attribute.floats) if is_list else attribute.f, np.float64)
    wide = onnx.helper.make_attribute("value", numpy_helper.from_array(data))
    attribute.CopyFrom(wide)


def _widen_tensor(tensor: TensorProto) -> None:
    if tensor.data_type in _NARROW:
        wide = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(wide, tensor.name))


def _wide(inputs: Mapping[str, Array]) -> dict[str, Array]:
    return {
        name: array.astype(np.float64) if kind_of(array.dtype) == "f" else array
        for name, array in inputs.items()
    }
