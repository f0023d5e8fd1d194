"""From a file, bytes or a ``ModelProto`` to a :class:`SourceModel`. Checks what it reads."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cugraphmodel.dtypes import from_onnx
from cugraphmodel.errors import ModelLoadError, UnsupportedModelError
from cugraphmodel.front.microsoft import COMPOSED, MICROSOFT
from cugraphmodel.front.proto import domain_name, read_node, read_parameters
from cugraphmodel.front.source import FileNode, SourceModel, TensorInfo

if TYPE_CHECKING:
    import onnx

__all__ = ["ModelSource", "read_model"]

NEWEST_OPSET = 28
"""Of the standard domain: operators may mean something else in a later one."""
MAX_INLINED_NODES = 1_000_000
ModelSource: TypeAlias = "str | os.PathLike[str] | bytes | onnx.ModelProto"


def read_model(source: ModelSource) -> SourceModel:
    """Parse, check and convert a model.

    Args:
        source: a path, the bytes of a file, or a ``ModelProto``, which is left as it is.

    Raises:
        FileNotFoundError: there is no such file.
        ModelLoadError: it is not a valid model, or its weights lie in a file that is not there.
        TypeError: ``source`` is none of these.
    """
    model, name = _parse(source)
    try:
        return _convert(model, name)
    except ModelLoadError:
        raise
    except Exception as error:  # damaged protobufs raise whatever they like
        raise ModelLoadError(f"{name} is damaged: {error}") from error


def _parse(source: ModelSource) -> tuple[Any, str]:
    import onnx
    from onnx.external_data_helper import load_external_data_for_model

    if isinstance(source, onnx.ModelProto):
        return source, "the model"
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _decode(bytes(source), "the model"), "the model"
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(
            f"load takes a path, bytes or an onnx.ModelProto, not {type(source).__name__}."
        )
    path = Path(source)
    name = repr(path.name or str(path))
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise FileNotFoundError(f"There is no model file {str(path)!r}.") from error
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        raise ModelLoadError(f"{name} cannot be read: {error}") from error
    model = _decode(data, name)
    try:
        load_external_data_for_model(model, str(path.absolute().parent))
    except Exception as error:  # onnx raises several kinds, depending on version and fault
        raise ModelLoadError(f"{name}: weights in another file cannot be read: {error}") from error
    return model, name


def _decode(data: bytes, name: str) -> Any:
    import onnx

    try:
        model = onnx.load_model_from_string(data)
    except Exception as error:  # google.protobuf's DecodeError, which onnx does not re-export
        raise ModelLoadError(f"{name} is not an ONNX file: {error}") from error
    if not model.HasField("graph"):
        raise ModelLoadError(f"{name} is not an ONNX model: it holds no graph.")
    return model


def _convert(model: Any, name: str) -> SourceModel:
    import onnx
    from onnx import inliner

    for tensor in _external_tensors(model):
        raise ModelLoadError(
            f"{name}: the weights of {tensor.name!r} lie in another file. Load the model from its "
            "path, with that file beside it."
        )
    if model.ByteSize() < onnx.checker.MAXIMUM_PROTOBUF:
        try:
            onnx.checker.check_model(_checkable(model))
        except (onnx.checker.ValidationError, ValueError) as error:
            raise ModelLoadError(f"{name} is not a valid ONNX model: {error}") from error
    parameters = read_parameters(model.graph, name)
    file_nodes = tuple(
        FileNode(i, n.name, n.op_type, domain_name(n.domain), tuple(n.input), tuple(n.output))
        for i, n in enumerate(model.graph.node)
    )
    _check_inlined_size(model, name)
    inlined = inliner.inline_local_functions(model) if model.functions else model
    versions = {domain_name(entry.domain): entry.version for entry in inlined.opset_import}
    if versions.get("", 0) > NEWEST_OPSET:
        raise UnsupportedModelError(
            name, (f"it needs opset {versions['']}; the newest known here is {NEWEST_OPSET}.",)
        )
    indices = _file_indices(inlined.graph.node, file_nodes)
    return SourceModel(
        name=name,
        file_nodes=file_nodes,
        nodes=tuple(
            read_node(proto, index, versions, name)
            for proto, index in zip(inlined.graph.node, indices, strict=True)
        ),
        versions=versions,
        inputs=tuple(_info(v) for v in model.graph.input if v.name not in parameters),
        outputs=tuple(_info(v) for v in model.graph.output),
        parameters=parameters,
    )


def _checkable(model: Any) -> Any:
    """The model, or a copy without what onnx's checker minds and this library takes.

    That is: an input or output that declares no shape, and an operator of ONNX Runtime's that its
    optimizer puts into the standard domain.
    """
    import onnx

    versions = {domain_name(entry.domain): entry.version for entry in model.opset_import}

    def shapeless(graph: Any) -> list[Any]:
        tensors = [v.type.tensor_type for v in (*graph.input, *graph.output) if v.HasField("type")]
        return [tensor for tensor in tensors if tensor.elem_type and not tensor.HasField("shape")]

    def foreign(graph: Any) -> list[Any]:
        return [
            node
            for node in _nodes(graph)
            if (domain_name(node.domain), node.op_type) in COMPOSED
            and not node.domain
            and not onnx.defs.has(node.op_type, versions.get("", 0))
        ]

    if not shapeless(model.graph) and not foreign(model.graph):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for tensor in shapeless(copy.graph):
        tensor.shape.SetInParent()
    for node in foreign(copy.graph):
        node.domain = MICROSOFT
        if MICROSOFT not in versions:
            copy.opset_import.append(onnx.helper.make_opsetid(MICROSOFT, 1))
            versions[MICROSOFT] = 1
    return copy


def _nodes(graph: Any) -> Iterable[Any]:
    """The nodes of a graph and of all graphs inside it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g)
            for subgraph in attribute.graphs:
                yield from _nodes(subgraph)


def _external_tensors(model: Any) -> Iterable[Any]:
    """The tensors of a model, bodies of control flow and functions included, in other files."""
    from onnx import TensorProto

    nodes = [n for part in (model.graph, *model.functions) for n in _nodes(part)]
    attributes = [attribute for node in nodes for attribute in node.attribute]
    graphs = [model.graph, *(g for a in attributes for g in (a.g, *a.graphs))]
    sparse = [s for a in attributes for s in (a.sparse_tensor, *a.sparse_tensors)]
    sparse += [tensor for graph in graphs for tensor in graph.sparse_initializer]
    tensors = [tensor for graph in graphs for tensor in graph.initializer]
    tensors += [tensor for a in attributes for tensor in (a.t, *a.tensors)]
    tensors += [tensor for pair in sparse for tensor in (pair.values, pair.indices)]
    return (tensor for tensor in tensors if tensor.data_location == TensorProto.EXTERNAL)


def _check_inlined_size(model: Any, name: str) -> None:
    """See that functions that call functions do not make more nodes than anything can hold."""
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}

    @functools.cache
    def size_of(key: tuple[str, str, str]) -> int:
        return size_of_all(functions[key]) if key in functions else 1

    def size_of_all(part: Any) -> int:
        return sum(size_of((n.domain, n.op_type, n.overload)) for n in _nodes(part))

    if size_of_all(model.graph) > MAX_INLINED_NODES:
        raise ModelLoadError(f"{name}: its functions make more than {MAX_INLINED_NODES:,} nodes.")


def _info(value: Any) -> TensorInfo:
    from onnx import TensorProto

    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        return TensorInfo(value.name, None, None, (kind or "no type").removesuffix("_type"))
    tensor = value.type.tensor_type
    shape: tuple[int | str | None, ...] | None = None
    if tensor.HasField("shape"):
        # Some exporters write "open" as a size of 0 or less, or as the name "?".
        shape = tuple(
            dim.dim_value if dim.dim_value > 0 else dim.dim_param.strip("?") or None
            for dim in tensor.shape.dim
        )
    code = tensor.elem_type
    known = code in TensorProto.DataType.values()
    type_name = TensorProto.DataType.Name(code).lower() if known else f"element type {code}"
    return TensorInfo(value.name, from_onnx(code), shape, type_name)


def _file_indices(nodes: Any, file_nodes: tuple[FileNode, ...]) -> list[int]:
    """Position in the file of each node after inlining: that of the call it came from.

    The inliner puts a function's body where its call stood, so a node belongs to the call whose
    outputs are the next that appear.
    """
    owner = {name: n.index for n in file_nodes for name in n.outputs if name}
    indices = [-1] * len(nodes)
    current = len(file_nodes) - 1
    for position in range(len(nodes) - 1, -1, -1):
        known = [owner[name] for name in nodes[position].output if name in owner]
        current = known[0] if known else current
        indices[position] = current
    return indices
