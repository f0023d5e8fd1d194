"""Attention that a model spells out as products and a softmax, as one node."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import kind_of
from cugraphmodel.front.fold import digest
from cugraphmodel.ir import Constant, Graph, Node, Parameters, TensorType
from cugraphmodel.ops.arguments import BOOL, FLOATS
from cugraphmodel.ops.attention.attention import factor_dtype
from cugraphmodel.passes.attention_layout import Operand, Placed, place_operands
from cugraphmodel.passes.attention_mask import Mask, mask_of
from cugraphmodel.passes.attention_pattern import (
    Probabilities,
    Scores,
    Search,
    probabilities_of,
    scores_of,
)
from cugraphmodel.passes.rewrite import add_constant, newly_built_in
from cugraphmodel.passes.views import Factors, View

__all__ = ["fuse_attention"]

Array = npt.NDArray[Any]


def fuse_attention(graph: Graph) -> Graph:
    """Fuse the parts of an attention into one node, which keeps no matrix of scores.

    Takes: ``MatMul(Softmax(f(MatMul(q, k))), v)`` along the last axis, of floats of one dtype,
    where f multiplies by constants of one element, applies a tanh that constants scale, masks by a
    Where whose other side is a constant, and adds up to two biases, in this order; with
    probabilities that are NaN, or those of rows whose bias is -Inf, replaced by 0. Transpose,
    Reshape, Split, Slice, Expand and multiplication by a constant on the way to q, k, v and the
    masks, and Transposes of the result, are folded in where they can be read or written in place;
    so are casts of 16-bit floats to single precision and back.
    No inner value is an output of the graph or is read by anything else, and no head is larger than
    the kernel takes.

    Gives: one FusedAttention that writes the last value and has the second MatMul's index.
    """
    for softmax in [node for node in graph.nodes if node.op_type == "Softmax" and not node.domain]:
        graph = _fused(graph, softmax) or graph
    return graph


def _fused(graph: Graph, softmax: Node) -> Graph | None:
    search = Search(graph)
    x = graph.values[softmax.inputs[0]]
    axis = int(softmax.attributes.get("axis", 1 if softmax.version < 13 else -1))
    if not x.size or axis not in (-1, len(x.shape) - 1):
        return None
    after = probabilities_of(search, softmax)
    if after is None:
        return None
    for scores in scores_of(search, x.name):
        mask = mask_of(search, scores, after)
        if mask is None:
            continue
        for last, output in _outputs(search, after.product):
            placed = _place(search, scores, after, mask, output)
            if placed is not None:
                fused = _replaced(search, scores, after.product, mask, placed, last)
                if _is_whole(fused, graph, (scores.product, softmax), output):
                    return fused
    return None


def _is_whole(fused: Graph, graph: Graph, parts: Sequence[Node], output: View) -> bool:
    """Whether the parts of an attention are gone, and with them no cast to a narrower dtype."""
    left = set(map(id, fused.nodes))
    dtypes = {graph.values[output.base].dtype, np.dtype(np.float32)}
    itemsize = graph.values[output.base].dtype.itemsize
    casts = [
        graph.values[node.outputs[0]].dtype
        for node in graph.nodes
        if id(node) not in left and node.op_type in ("Cast", "CastLike")
    ]
    floats = [dtype for dtype in casts if kind_of(dtype) == "f"]
    exact = all(dtype in dtypes and dtype.itemsize >= itemsize for dtype in floats)
    return exact and not any(id(part) in left for part in parts)


# ---- The node


def _place(
    search: Search, scores: Scores, after: Probabilities, mask: Mask, output: View
) -> Placed | None:
    values = search.graph.values
    dtype = values[output.base].dtype
    value = after.product.inputs[not after.turned]
    shapes = [values[name].shape for name in (*scores.product.inputs, value)]
    if min(map(len, shapes)) < 2 or dtype not in FLOATS:
        return None
    *lead, num_rows, num_keys = values[scores.product.outputs[0]].shape
    *out_lead, out_rows, width = values[after.product.outputs[0]].shape
    if after.turned:
        out_rows, width, output = width, out_rows, output.turned()
    depth = shapes[0][-1]

    def views(name: str, *dtypes: np.dtype, scaled: bool = False) -> list[View]:
        found = [view for view in search.views.of(name) if values[view.base].dtype in dtypes]
        return [view for view in found if scaled or not view.factors]

    def masking(name: str, shape: tuple[int, ...], dtype: np.dtype) -> Operand:
        return Operand(views(name, dtype), shape)

    return place_operands(
        Operand(views(scores.product.inputs[0], dtype, scaled=True), (*lead, num_rows, depth)),
        Operand(
            [view.turned() for view in views(scores.product.inputs[1], dtype, scaled=True)],
            (*lead, num_keys, depth),
            num_rows,
        ),
        Operand(
            [view.turned() if after.turned else view for view in views(value, dtype)],
            (*out_lead, num_keys, width),
            out_rows,
        ),
        Operand([output], (*out_lead, out_rows, width)),
        masking(scores.keep, scores.keep_shape, BOOL[0]) if scores.keep else None,
        [masking(bias.name, bias.shape, dtype) for bias in mask.biases],
    )


def _outputs(search: Search, product: Node) -> Iterator[tuple[Node, View]]:
    """What may be written instead of a product, the farthest first.

    Yields: the last node of a chain of Transposes and a Cast to 16 bits after the product, and the
    product as a view of that node's output.
    """
    chain = [product]
    while True:
        name = chain[-1].outputs[0]
        readers = search.readers[name]
        if len(readers) != 1 or name in search.graph.kept or readers[0].domain:
            break
        if readers[0].op_type != "Transpose" and not search.is_passed_on(readers[0]):
            break
        chain.append(readers[0])
    while chain:
        last = chain[-1]
        if last is product or last.op_type in ("Transpose", "Cast"):
            view = _seen_from(search, chain)
            if view is not None:
                yield last, view
        chain.pop()


def _seen_from(search: Search, chain: Sequence[Node]) -> View | None:
    """The first node's output as a view of the last one's, which permutes and reshapes it."""
    values = search.graph.values
    view: View | None = View.of(values[chain[-1].outputs[0]])
    for node in reversed(chain[1:]):
        if view is None:
            return None
        if node.op_type == "Transpose":
            rank = len(view.axes)
            order = node.attributes.get("perm") or [*range(rank)][::-1]
            view = view.transposed([*np.argsort(order)])
        else:
            view = view.reshaped(values[node.inputs[0]].shape)
    return view


def _replaced(
    search: Search, scores: Scores, second: Node, mask: Mask, placed: Placed, last: Node
) -> Graph:
    """The graph with the node in the place of the second product, and without what it replaces."""
    query, key = placed.views[:2]
    graph, factors = _with_factors(search, scores, (*query.factors, *key.factors), last)
    layout, masks = placed.layout, [view.base for view in placed.views[4:]]
    keep = masks.pop(0) if scores.keep else ""
    attributes: dict[str, Any] = {
        "shape": graph.values[last.outputs[0]].shape,
        "capped": scores.caps is not None,
        "keep_where": scores.keep_where,
        "empty": mask.empty,
    }
    for number, bias in enumerate(mask.biases):
        rows_are_queries = layout.num_rows == bias.shape[-2]
        if bias.causal_offset is not None and rows_are_queries and not scores.keep:
            attributes["causal_offset"] = bias.causal_offset
            places = layout.biases[:number] + layout.biases[number + 1 :]
            layout, masks = replace(layout, biases=places), masks[:number] + masks[number + 1 :]
            break
    node = replace(
        second,
        op_type="FusedAttention",
        domain="cugraphmodel",
        version=1,
        inputs=(*(view.base for view in placed.views[:3]), factors, keep, *masks),
        outputs=last.outputs,
        attributes={"layout": layout, **attributes},
    )
    nodes = [
        node if other is second else other
        for other in graph.nodes
        if other is second or other is not last
    ]
    graph = _without_unread(graph.replace(nodes=tuple(nodes)), search)
    left = {id(other) for other in graph.nodes}
    gone = [other for other in search.graph.nodes if id(other) not in left]
    return graph.replace(built_in=graph.built_in | newly_built_in(graph, gone, [node]))


def _with_factors(
    search: Search, scores: Scores, of_operands: Factors, last: Node
) -> tuple[Graph, str]:
    """A graph with the kernel's constant: scale, cap, and what takes the place of masked scores."""
    constants = search.graph.constants
    scale = (*scores.factors, *of_operands)
    fill: Factors = ((scores.fill, 1),) if scores.fill else ()
    parts = (scale, scores.caps or (), fill)
    dtype = factor_dtype(search.graph.values[last.outputs[0]].dtype)
    used = {name: constants[name] for part in parts for name, _ in part}

    def compute(parameters: Parameters) -> Array:
        numbers = {
            name: np.float64(constant.compute(parameters).item()) for name, constant in used.items()
        }
        with np.errstate(all="ignore"):
            products = [math.prod(numbers[name] ** power for name, power in p) for p in parts]
            return np.array(products, np.float64).astype(dtype)

    keys = [[(used[name].key, power) for name, power in part] for part in parts]
    constant = Constant(
        f"attention {digest(keys, dtype.name)}",
        TensorType(dtype, (3,)),
        frozenset().union(*(constant.params for constant in used.values())),
        compute,
    )
    return add_constant(search.graph, f"{last.outputs[0]} factors", constant)


def _without_unread(graph: Graph, before: Search) -> Graph:
    """A graph without the nodes whose outputs were read before, and are not any more."""
    wanted = set(graph.kept)
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        was_read = any(before.readers.get(name) for name in node.outputs)
        if wanted.intersection(node.outputs) or not was_read:
            wanted.update(node.inputs)
            nodes.append(node)
    made = {name for node in nodes for name in node.outputs}
    gone = {name for node in before.graph.nodes for name in node.outputs} - made
    values = {name: value for name, value in graph.values.items() if name not in gone}
    return graph.replace(nodes=tuple(reversed(nodes)), values=values)
