"""Operators that the standard defines by a graph of others, for those without a kernel of ours.

The bodies come with onnx (``OpSchema``, "function body"); some depend on the types of the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cugraphmodel.front.proto import domain_name, read_node, to_proto
from cugraphmodel.front.source import Subgraph
from cugraphmodel.ir import Node, TensorType

__all__ = ["function_body", "is_function"]


def is_function(node: Node) -> bool:
    """Whether :func:`function_body` has one for a node."""
    schema = _schema(node)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def function_body(
    node: Node, inputs: Sequence[TensorType | None], versions: Mapping[str, int]
) -> Subgraph | None:
    """What a node stands for.

    Args:
        node: an operator that :func:`is_function`.
        inputs: their types; None where an optional input is left out.
        versions: opset versions that the model imports, for domains that the body names none of.

    Returns:
        A graph whose inputs and outputs are the operator's formal ones, those a node leaves out at
        the end included; None if the standard has no body for these types.
    """
    from onnx import FunctionProto

    schema = _schema(node)
    if schema is None:
        return None
    if schema.has_function:
        fitting = [since for since in schema.function_opset_versions if since <= node.version]
        text = schema.get_function_with_opset_version(max(fitting)) if fitting else b""
    else:
        since_all = schema.context_dependent_function_opset_versions
        fitting = [since for since in since_all if since <= node.version]
        types = [_type_proto(type_) for type_ in inputs]
        proto = to_proto(node, [f"i{i}" if type_ else "" for i, type_ in enumerate(inputs)])
        text = (
            schema.get_context_dependent_function_with_opset_version(
                max(fitting), proto.SerializeToString(), types
            )
            if fitting
            else b""
        )
    if not text:
        return None
    function = FunctionProto.FromString(text)
    attributes = {a.name: a for a in to_proto(node, node.inputs).attribute}
    for name, formal in schema.attributes.items():
        if name not in attributes and formal.default_value.name:
            attributes[name] = formal.default_value
    _bind_attributes(function.node, attributes)
    own = {domain_name(entry.domain): entry.version for entry in function.opset_import}
    return Subgraph(
        nodes=tuple(
            read_node(proto, node.index, {**versions, **own}, node.label) for proto in function.node
        ),
        inputs=tuple(function.input),
        outputs=tuple(function.output),
    )


def _schema(node: Node) -> Any:
    import onnx

    try:
        return onnx.defs.get_schema(node.op_type, node.version, node.domain)
    except onnx.defs.SchemaError:
        return None


def _type_proto(type_: TensorType | None) -> bytes:
    from onnx import TypeProto, helper

    if type_ is None:
        return bytes(TypeProto().SerializeToString())
    code = helper.np_dtype_to_tensor_dtype(type_.dtype)
    return bytes(helper.make_tensor_type_proto(code, type_.shape).SerializeToString())


def _bind_attributes(nodes: Any, attributes: Mapping[str, Any]) -> None:
    """Put the call's attributes where a body refers to them by name."""
    for node in nodes:
        for position in range(len(node.attribute) - 1, -1, -1):
            attribute = node.attribute[position]
            if attribute.HasField("g"):
                _bind_attributes(attribute.g.node, attributes)
            if not attribute.ref_attr_name:
                continue
            given = attributes.get(attribute.ref_attr_name)
            if given is None:
                del node.attribute[position]
            else:
                name = attribute.name
                attribute.CopyFrom(given)
                attribute.name = name
