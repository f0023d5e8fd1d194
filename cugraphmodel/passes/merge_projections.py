"""Projections of one tensor to queries, keys and values, as one product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from cugraphmodel.front.fold import digest
from cugraphmodel.ir import Array, Constant, Graph, Node, Parameters, TensorType, Value
from cugraphmodel.ops.attention.layout import AttentionLayout, Place
from cugraphmodel.passes.rewrite import Uses, add_constant

__all__ = ["merge_projections"]

PROJECTIONS = (("", "MatMul"), ("cugraphmodel", "FusedMatMul"))


def merge_projections(graph: Graph) -> Graph:
    """Merge the products that make the queries, keys and values of an attention.

    Takes: MatMul or FusedMatMul nodes of one left operand, with constant matrices, and all or none
    with a constant bias, whose results only one FusedAttention reads, each as one of its first
    three inputs.

    Gives: one node of the kind of the first, with the weights side by side, whose result the
    FusedAttention reads in the place of theirs.
    """
    uses = Uses(graph)
    makers = {name: node for node in graph.nodes for name in node.outputs if name}
    for attention in graph.nodes:
        if (attention.domain, attention.op_type) != ("cugraphmodel", "FusedAttention"):
            continue
        groups: dict[object, list[int]] = {}
        for position, name in enumerate(attention.inputs[:3]):
            maker = makers.get(name)
            if maker is not None and uses.only_reader(name) is attention:
                kind = _kind(graph, maker)
                if kind is not None and _is_by_rows(graph, attention, position):
                    groups.setdefault(kind, []).append(position)
        for positions in groups.values():
            products = [makers[attention.inputs[position]] for position in positions]
            if len({id(product) for product in products}) == len(products) > 1:
                graph = _merged(graph, attention, positions, products)
    return graph


def _kind(graph: Graph, node: Node) -> object | None:
    """Equal for products that can be one; None for other nodes."""
    if (node.domain, node.op_type) not in PROJECTIONS:
        return None
    left, right, *more = node.inputs
    bias, *residual = [*more, ""][:2] if len(more) < 2 else more
    weights = graph.constants.get(right)
    if any(residual) or weights is None or len(weights.type.shape) != 2:
        return None
    if bias and bias not in graph.constants:
        return None
    attributes = tuple(sorted(node.attributes.items()))
    return left, weights.type.shape[_depth_axis(node)], bool(bias), node.op_type, attributes


def _depth_axis(node: Node) -> int:
    return 1 if node.attributes.get("transB") else 0


def _places(layout: AttentionLayout) -> tuple[tuple[Place, tuple[int, ...]], ...]:
    """Of queries, keys and values, with the sizes that their strides go along."""
    keys = (*layout.lead, layout.num_keys)
    return (
        (layout.query, (*layout.lead, layout.num_rows, layout.depth)),
        (layout.key, (*keys, layout.depth)),
        (layout.value, (*keys, layout.width)),
    )


def _with_place(layout: AttentionLayout, position: int, place: Place) -> AttentionLayout:
    if position == 0:
        return replace(layout, query=place)
    return replace(layout, key=place) if position == 1 else replace(layout, value=place)


def _is_by_rows(graph: Graph, attention: Node, position: int) -> bool:
    """Whether each stride of an operand stays in a row of its tensor, or goes over whole rows."""
    width = graph.values[attention.inputs[position]].shape[-1]
    place, sizes = _places(attention.attributes["layout"])[position]
    strides = (*place.lead, place.row, place.column)
    inside = [(size, stride) for size, stride in zip(sizes, strides, strict=True) if stride < width]
    reach = place.offset % width + sum((size - 1) * stride for size, stride in inside)
    return reach < width and all(s < width or s % width == 0 for s in strides)


def _moved(place: Place, width: int, new_width: int, shift: int) -> Place:
    """A place in rows of ``width`` elements as one in longer rows, that many elements further."""

    def stride(old: int) -> int:
        return old if old < width else old // width * new_width

    offset = place.offset // width * new_width + place.offset % width + shift
    lead = tuple(stride(old) for old in place.lead)
    return Place(lead, stride(place.row), stride(place.column), offset)


def _merged(
    graph: Graph, attention: Node, positions: Sequence[int], products: Sequence[Node]
) -> Graph:
    first = products[0]
    results = [graph.values[product.outputs[0]] for product in products]
    widths = [result.shape[-1] for result in results]
    axis = 1 - _depth_axis(first)
    weights = [graph.constants[product.inputs[1]] for product in products]
    name = results[0].name
    graph, right = add_constant(graph, f"{name}/merged_weights", _joined(weights, axis))
    inputs = [first.inputs[0], right]
    if len(first.inputs) > 2 and first.inputs[2]:
        rows = [graph.constants[product.inputs[2]] for product in products]
        graph, bias = add_constant(graph, f"{name}/merged_bias", _joined(rows, None))
        inputs.append(bias)
    merged = Value(results[0].dtype, (*results[0].shape[:-1], sum(widths)), f"{name}/merged")
    layout: AttentionLayout = attention.attributes["layout"]
    reads = list(attention.inputs)
    shift = 0
    for position, width in zip(positions, widths, strict=True):
        place = _moved(_places(layout)[position][0], width, sum(widths), shift)
        layout = _with_place(layout, position, place)
        reads[position] = merged.name
        shift += width
    changed: Mapping[int, Node | None] = {
        **{id(product): None for product in products},
        id(min(products, key=graph.nodes.index)): replace(
            first, inputs=tuple(inputs), outputs=(merged.name,)
        ),
        id(attention): replace(
            attention,
            inputs=tuple(reads),
            attributes={**attention.attributes, "layout": layout},
        ),
    }
    nodes = (changed.get(id(node), node) for node in graph.nodes)
    values = {n: v for n, v in graph.values.items() if n not in {r.name for r in results}}
    return graph.replace(
        nodes=tuple(node for node in nodes if node is not None),
        values={**values, merged.name: merged},
    )


def _joined(parts: Sequence[Constant], axis: int | None) -> Constant:
    """Constants side by side along an axis; with None, all their elements in a row."""

    def compute(parameters: Parameters) -> Array:
        arrays = [part.compute(parameters) for part in parts]
        return np.concatenate([a.ravel() for a in arrays] if axis is None else arrays, axis or 0)

    if axis is None:
        shape: tuple[int, ...] = (sum(part.type.size for part in parts),)
    else:
        sizes = list(parts[0].type.shape)
        sizes[axis] = sum(part.type.shape[axis] for part in parts)
        shape = tuple(sizes)
    params = frozenset[str]().union(*(part.params for part in parts))
    key = digest(axis, *(part.key for part in parts))
    return Constant(f"joined {key}", TensorType(parts[0].type.dtype, shape), params, compute)
