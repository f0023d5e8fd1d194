"""Give the ``light-*`` architectures weights that mean something.

Those files, which the onnx package carries, hold one constant for every weight, so their output is
the same for every input and proves nothing.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper, shape_inference

RECIPE = 1
"""Raised whenever :func:`fill` gives another model."""
LARGEST_RANDOM_WEIGHT = 8_000_000
"""Values; larger weights stay constant, so that vgg19 stays below 100 MB."""

Consumers = Mapping[str, Sequence[onnx.NodeProto]]


def fill(path: Path) -> bytes:
    """The model in ``path`` with seeded weights, serialized.

    He-normal filters, batch-norm scale and variance in 0.5..1.5, small biases. Initializers leave
    the list of inputs; the value before the last Softmax and up to three inner values become
    outputs too.
    """
    model = onnx.load(str(path))
    graph = model.graph
    _replace_constants(graph, np.random.default_rng(zlib.crc32(path.stem.encode())))
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    del graph.input[:]
    graph.input.extend(inputs)
    model.ir_version = max(model.ir_version, 4)
    _add_outputs(model)
    return bytes(model.SerializeToString())


def _replace_constants(graph: onnx.GraphProto, rng: np.random.Generator) -> None:
    """Turn each ConstantOfShape node that makes a weight into a random initializer."""
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            shapes[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    consumers: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            consumers.setdefault(name, []).append(node)
    kept = []
    for node in graph.node:
        shape = shapes.get(node.input[0]) if node.op_type == "ConstantOfShape" else None
        if shape is None or math.prod(shape.tolist()) > LARGEST_RANDOM_WEIGHT:
            kept.append(node)
            continue
        op_type, position = _first_use(node.output[0], consumers)
        values = _draw(rng, tuple(shape.tolist()), op_type, position).astype(np.float32)
        graph.initializer.append(numpy_helper.from_array(values, node.output[0]))
    del graph.node[:]
    graph.node.extend(kept)


def _first_use(name: str, consumers: Consumers) -> tuple[str, int]:
    """Operator and input position of a weight's first consumer, looking through reshapes."""
    for node in consumers.get(name, ()):
        position = list(node.input).index(name)
        if position == 0 and node.op_type in ("Unsqueeze", "Reshape", "Identity"):
            return _first_use(node.output[0], consumers)
        return node.op_type, position
    return "", 0


def _draw(
    rng: np.random.Generator, shape: tuple[int, ...], op_type: str, position: int
) -> npt.NDArray[Any]:
    if position == 1 and op_type in ("Conv", "Gemm", "MatMul"):
        fan_in = shape[0] if op_type == "MatMul" else math.prod(shape[1:])
        return rng.standard_normal(shape) * math.sqrt(2.0 / max(fan_in, 1))
    if op_type == "Mul" or (op_type == "BatchNormalization" and position in (1, 4)):
        return rng.uniform(0.5, 1.5, shape)
    return rng.standard_normal(shape) * 0.05


def _add_outputs(model: onnx.ModelProto) -> None:
    graph = model.graph
    known = {value.name: value for value in shape_inference.infer_shapes(model).graph.value_info}
    before_softmax = [node.input[0] for node in graph.node if node.op_type == "Softmax"][-1:]
    products = [node.output[0] for node in graph.node if node.op_type in ("Conv", "Gemm")]
    inner = [products[len(products) // 3], products[2 * len(products) // 3], products[-1]]
    present = {output.name for output in graph.output}
    for name in dict.fromkeys([*before_softmax, *inner]):
        if name not in present:
            untyped = helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
            graph.output.append(known.get(name, untyped))
