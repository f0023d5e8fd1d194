"""Layer normalisations that a file spells out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cugraphmodel.dtypes import kind_of
from cugraphmodel.front.fold import literal
from cugraphmodel.ir import Graph, Node
from cugraphmodel.ops.arguments import ints_of
from cugraphmodel.passes.pattern import Makers
from cugraphmodel.passes.rewrite import add_constant, replace_nodes

__all__ = ["recognize_norms"]


@dataclass(frozen=True)
class _Mean:
    """The mean of ``x`` over its axes from ``axis`` on."""

    x: str
    axis: int
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class _Norm:
    """``x / sqrt(mean of squares + epsilon) * scale + bias``, of ``x`` less its mean if centered.

    Attributes:
        scale, bias: names, or ``""``.
        nodes: all nodes of the match, the last one first.
    """

    x: str
    axis: int
    epsilon: float
    is_centered: bool
    scale: str
    bias: str
    nodes: tuple[Node, ...]


def recognize_norms(graph: Graph) -> Graph:
    """Put one node in the place of a Layer- or RMSNormalization that is spelled out.

    Takes: the mean over the last axes (ReduceMean or GlobalAveragePool), Sub, the mean of the
    squares, Add of an epsilon that depends on no parameter, Sqrt, Div, and then, if they are there,
    Mul and Add of a tensor whose elements belong to the positions in a row, or to the axis before
    the row (a channel). Without Sub, and without Add at the end, it is an RMSNormalization. Also
    ``x * t + (bias - mean * t)`` with ``t = scale / sqrt(...)``, as TensorFlow writes it. Nothing
    else may read what is between, and none of it be an output of the graph.

    Gives: one LayerNormalization or RMSNormalization in the place and with the index of the last
    node. Where there is no scale it reads a constant of ones.
    """
    makers = Makers(graph)
    replacements: dict[int, tuple[Sequence[Node], Node]] = {}
    taken: set[int] = set()
    for node in reversed(graph.nodes):
        if node.domain or node.op_type not in ("Add", "Mul", "Div") or id(node) in taken:
            continue
        if kind_of(graph.values[node.outputs[0]].dtype) != "f":
            continue
        norm = next(_norms_ending_in(makers, node), None)
        if norm is None:
            continue
        scale = norm.scale
        if not scale:
            x = graph.values[norm.x]
            ones = literal(np.ones(x.shape[norm.axis :], x.dtype))
            graph, scale = add_constant(graph, f"{node.outputs[0]}/ones", ones)
        replacements[id(node)] = (
            norm.nodes[::-1],
            replace(
                node,
                op_type="LayerNormalization" if norm.is_centered else "RMSNormalization",
                version=17 if norm.is_centered else 23,
                inputs=(norm.x, scale, norm.bias)[: 3 if norm.bias else 2],
                attributes={"axis": norm.axis, "epsilon": norm.epsilon},
                host_values={},
            ),
        )
        taken.update(map(id, norm.nodes))
    return replace_nodes(graph, replacements)


def _norms_ending_in(makers: Makers, last: Node) -> Iterator[_Norm]:
    """The ways to read a node's result as a normalisation, the fullest first."""
    y = makers.graph.values[last.outputs[0]]
    adding = (last,) if last.op_type == "Add" else ()
    left, right = last.inputs
    ways = [(left, right), (right, left)] if adding else [(last.outputs[0], "")]
    spelled = (_scaled_norms(makers, product, bias, adding) for product, bias in ways)
    shifted = (_shifted_norms(makers, product, shift, adding) for product, shift in ways if shift)
    for norm in itertools.chain.from_iterable((*spelled, *shifted)):
        x = makers.graph.values[norm.x]
        affine = [name for name in (norm.scale, norm.bias) if name]
        fits = (x.dtype, x.shape) == (y.dtype, y.shape) and _are_affine(
            [makers.graph.values[name].shape for name in affine], x.shape, norm.axis
        )
        if fits and makers.can_become_one(norm.nodes, (norm.x, *affine)):
            yield norm


def _scaled_norms(makers: Makers, name: str, bias: str, nodes: tuple[Node, ...]) -> Iterator[_Norm]:
    product = makers.product(name)
    if product.coefficient != 1 or len(product.divisors) != 1:
        return
    if not 1 <= len(product.factors) <= 2:
        return
    root = _root_mean_square(makers, product.divisors[0])
    if root is None:
        return
    squared, axis, epsilon, root_nodes = root
    for factors in itertools.permutations(product.factors):
        numerator, scale = (*factors, "")[:2]
        inside = (*nodes, *product.nodes, *root_nodes)
        first, second = _centered(makers, numerator), _centered(makers, squared)
        if first and second and (first.x, first.axis) == (second.x, second.axis) == (first.x, axis):
            both = tuple({id(node): node for node in (*first.nodes, *second.nodes)}.values())
            yield _Norm(first.x, axis, epsilon, True, scale, bias, (*inside, *both))
        if numerator == squared and not bias:
            yield _Norm(squared, axis, epsilon, False, scale, "", inside)


def _shifted_norms(
    makers: Makers, name: str, shift: str, nodes: tuple[Node, ...]
) -> Iterator[_Norm]:
    """``x * t + (bias - mean * t)`` with ``t = scale / sqrt(...)``."""
    difference = makers.maker(shift, "Sub")
    if difference is None:
        return
    bias, shifted = difference.inputs
    products = makers.product(name), makers.product(shifted)
    if any(p.coefficient != 1 or p.divisors or len(p.factors) != 2 for p in products):
        return
    orders = (itertools.permutations(product.factors) for product in products)
    for (x, factor), (mean_name, again) in itertools.product(*orders):
        mean, scaling = _mean(makers, mean_name), makers.product(factor)
        if mean is None or mean.x != x or factor != again:
            continue
        if scaling.coefficient != 1 or len(scaling.divisors) != 1:
            continue
        root = _root_mean_square(makers, scaling.divisors[0])
        centered = None if root is None else _centered(makers, root[0])
        if root is None or centered is None or len(scaling.factors) > 1:
            continue
        _, axis, epsilon, root_nodes = root
        if (centered.x, centered.axis) == (x, axis):
            inside = (*nodes, difference, *products[0].nodes, *products[1].nodes)
            inside += (*scaling.nodes, *root_nodes, *centered.nodes, *mean.nodes)
            unique = tuple({id(node): node for node in inside}.values())
            yield _Norm(x, axis, epsilon, True, (*scaling.factors, "")[0], bias, unique)


def _root_mean_square(makers: Makers, name: str) -> tuple[str, int, float, tuple[Node, ...]] | None:
    """``(x, axis, epsilon, nodes)`` of a value that is ``sqrt(mean(x * x) + epsilon)``."""
    root = makers.maker(name, "Sqrt")
    if root is None:
        return None
    epsilon, terms, adding = makers.sum(root.inputs[0])
    if len(terms) != 1 or not 0 <= epsilon < math.inf or float(np.float32(epsilon)) != epsilon:
        return None
    mean = _mean(makers, terms[0])
    if mean is None:
        return None
    square = makers.product(mean.x)
    if square.coefficient != 1 or square.divisors or len(square.factors) != 2:
        return None
    x, again = square.factors
    if x != again:
        return None
    return x, mean.axis, epsilon, (root, *adding, *mean.nodes, *square.nodes)


def _centered(makers: Makers, name: str) -> _Mean | None:
    """``x`` of a value that is ``x - mean(x)``."""
    difference = makers.maker(name, "Sub")
    if difference is None:
        return None
    mean = _mean(makers, difference.inputs[1])
    if mean is None or mean.x != difference.inputs[0]:
        return None
    return _Mean(mean.x, mean.axis, (difference, *mean.nodes))


def _mean(makers: Makers, name: str) -> _Mean | None:
    """Of a value that is a mean over all axes from one on, which stay with size 1."""
    node = makers.maker(name, "ReduceMean", "GlobalAveragePool")
    if node is None:
        return None
    rank = len(makers.graph.values[node.inputs[0]].shape)
    if node.op_type == "GlobalAveragePool":
        return _Mean(node.inputs[0], 2, (node,)) if rank > 2 else None
    axes = sorted(axis % rank for axis in ints_of(node, "axes", 1) or ())
    if not axes or axes != list(range(axes[0], rank)) or not node.attributes.get("keepdims", 1):
        return None
    return _Mean(node.inputs[0], axes[0], (node,))


def _are_affine(shapes: Sequence[tuple[int, ...]], x: tuple[int, ...], axis: int) -> bool:
    """Whether tensors belong all to the positions in a row, or all to the axis before the row."""
    if any(len(shape) > len(x) for shape in shapes):
        return False
    padded = [(1,) * (len(x) - len(shape)) + shape for shape in shapes]
    of_rows = all(math.prod(shape[:axis]) == 1 for shape in padded)
    of_channels = all(math.prod(shape) == shape[axis - 1] == x[axis - 1] for shape in padded)
    return of_rows or (axis > 0 and of_channels)
