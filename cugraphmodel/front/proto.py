"""Nodes and tensors between onnx's protobufs and this library's own form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import plain_bools
from cugraphmodel.errors import ModelLoadError
from cugraphmodel.front.source import Subgraph
from cugraphmodel.ir import Node

__all__ = ["domain_name", "read_node", "read_parameters", "to_proto"]

Array = npt.NDArray[Any]


def domain_name(domain: str) -> str:
    """The domain as this library writes it: ``""`` for the standard one."""
    return "" if domain == "ai.onnx" else domain


def read_node(proto: Any, index: int, versions: Mapping[str, int], model: str) -> Node:
    """A ``NodeProto`` and all that its subgraphs hold.

    Args:
        proto: the node.
        index: of the node in the file that it belongs to.
        versions: domain -> opset version.
        model: what messages call the model.
    """

    def value(attribute: Any) -> Any:
        if attribute.HasField("g"):
            return _subgraph(attribute.g, index, versions, model)
        return _attribute(attribute)

    return Node(
        op_type=proto.op_type,
        domain=domain_name(proto.domain),
        version=versions.get(domain_name(proto.domain), 1),
        inputs=tuple(proto.input),
        outputs=tuple(proto.output),
        attributes={attribute.name: value(attribute) for attribute in proto.attribute},
        name=proto.name,
        index=index,
    )


def _subgraph(graph: Any, index: int, versions: Mapping[str, int], model: str) -> Subgraph:
    return Subgraph(
        nodes=tuple(read_node(proto, index, versions, model) for proto in graph.node),
        inputs=tuple(v.name for v in graph.input),
        outputs=tuple(v.name for v in graph.output),
        parameters=read_parameters(graph, model),
    )


def _attribute(attribute: Any) -> Any:
    from onnx import AttributeProto, helper, numpy_helper

    if attribute.type == AttributeProto.TENSOR:
        return plain_bools(numpy_helper.to_array(attribute.t))
    if attribute.type == AttributeProto.SPARSE_TENSOR:
        return _dense(attribute.sparse_tensor)
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if attribute.type == AttributeProto.STRINGS:
        return [text.decode("utf-8", "replace") for text in value]
    return list(value) if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS) else value


def read_parameters(graph: Any, name: str) -> dict[str, Array]:
    """The initializers of a ``GraphProto``, dense ones and sparse ones, by name.

    Raises:
        ModelLoadError: one is damaged; ``name`` is what the message calls the model.
    """
    from onnx import numpy_helper

    parameters: dict[str, Array] = {}
    for tensor in graph.initializer:
        try:
            array = plain_bools(numpy_helper.to_array(tensor))
        except Exception as error:  # damaged tensors raise many kinds
            raise ModelLoadError(
                f"{name}: initializer {tensor.name!r} is damaged: {error}"
            ) from error
        parameters[tensor.name] = np.ascontiguousarray(array).reshape(array.shape)
    for sparse in graph.sparse_initializer:
        parameters[sparse.values.name] = _dense(sparse)
    return parameters


def _dense(sparse: Any) -> Array:
    """A sparse initializer as an ordinary array (onnx.proto, "SparseTensorProto")."""
    from onnx import numpy_helper

    values = numpy_helper.to_array(sparse.values)
    indices = numpy_helper.to_array(sparse.indices)
    dense = np.zeros(tuple(sparse.dims), values.dtype)
    if indices.ndim == 1:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    return dense


def to_proto(node: Node, inputs: Sequence[str]) -> Any:
    """A ``NodeProto`` with the given input names, and ``o0``, ``o1``, ... for its outputs."""
    return _node_proto(node, inputs, [name and f"o{i}" for i, name in enumerate(node.outputs)])


def _node_proto(node: Node, inputs: Sequence[str], outputs: Sequence[str]) -> Any:
    from onnx import helper, numpy_helper

    proto = helper.make_node(node.op_type, inputs, outputs, domain=node.domain)
    for name, value in node.attributes.items():
        if isinstance(value, np.ndarray):
            value = numpy_helper.from_array(value)
        elif isinstance(value, Subgraph):
            value = _graph_proto(value)
        proto.attribute.append(helper.make_attribute(name, value))
    return proto


def _graph_proto(body: Subgraph) -> Any:
    from onnx import helper, numpy_helper

    return helper.make_graph(
        [_node_proto(node, node.inputs, node.outputs) for node in body.nodes],
        "body",
        [helper.make_empty_tensor_value_info(name) for name in body.inputs],
        [helper.make_empty_tensor_value_info(name) for name in body.outputs],
        [numpy_helper.from_array(array, name) for name, array in body.parameters.items()],
    )
