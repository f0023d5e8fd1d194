"""Convolutions and normalisations that take in the normalisation, scale and shift that follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cugraphmodel.front.fold import digest
from cugraphmodel.ir import Constant, Graph, Node, Parameters, TensorType
from cugraphmodel.passes.rewrite import Uses, add_constant, replace_nodes

__all__ = ["fold_batchnorm"]

Float64Array = npt.NDArray[np.float64]
DTYPES = frozenset((np.dtype(np.float32), np.dtype(np.float64)))


@dataclass(frozen=True, eq=False)
class _Affine:
    """``y = scale * x + shift`` for each channel.

    Attributes:
        key: says which affine map it is.
        params: model parameters it depends on.
        compute: ``(scale, shift)``, float64 [channels] or [1].
    """

    key: str
    params: frozenset[str]
    compute: Callable[[Parameters], tuple[Float64Array, Float64Array]]


def fold_batchnorm(graph: Graph) -> Graph:
    """Fold per-channel constants that follow a convolution or BatchNormalization into its own.

    Takes: a Conv or ConvTranspose, or a BatchNormalization in inference form, of float32 or float64
    with constant parameters, followed by any number of BatchNormalization in inference form and of
    Add, Sub, Mul, Div with a constant for each channel (or one for all), where each is the only
    reader of the value before and no value between is an output of the graph.

    Gives: one node of the first one's kind and index that writes the last one's output. Its weights
    (or scale) and bias are constants derived from the same parameters, in float64 and rounded once.
    """
    uses = Uses(graph)
    replacements: dict[int, tuple[Sequence[Node], Node]] = {}
    taken: set[int] = set()
    for node in graph.nodes:
        if id(node) in taken or not _can_take_in(graph, node):
            continue
        followers: list[Node] = []
        affines: list[_Affine] = []
        last = node
        while (reader := uses.only_reader(last.outputs[0])) is not None:
            affine = _affine_of(graph, reader, last.outputs[0])
            if affine is None:
                break
            followers.append(reader)
            affines.append(affine)
            last = reader
        if affines:
            graph, folded = _fold(graph, node, last.outputs[0], affines)
            replacements[id(node)] = ((node, *followers), folded)
            taken.update(map(id, followers))
    return replace_nodes(graph, replacements)


def _can_take_in(graph: Graph, node: Node) -> bool:
    is_convolution = not node.domain and node.op_type in ("Conv", "ConvTranspose")
    return (
        (is_convolution or _is_inference_batchnorm(node))
        and graph.values[node.outputs[0]].dtype in DTYPES
        and all(name in graph.constants for name in node.inputs[1:] if name)
    )


def _is_inference_batchnorm(node: Node) -> bool:
    return (
        (node.domain, node.op_type) == ("", "BatchNormalization")
        and not node.attributes.get("training_mode", 0)
        and node.attributes.get("spatial", 1) == 1
        and not any(node.outputs[1:])
    )


def _affine_of(graph: Graph, node: Node, x: str) -> _Affine | None:
    """What a node does to each channel of ``x``, or None if it is no affine map with constants."""
    if _is_inference_batchnorm(node):
        return _affine_of_batchnorm(graph, node, x)
    if not node.domain and node.op_type in ("Add", "Sub", "Mul", "Div"):
        return _affine_of_arithmetic(graph, node, x)
    return None


def _affine_of_batchnorm(graph: Graph, node: Node, x: str) -> _Affine | None:
    constants = [graph.constants.get(name) for name in node.inputs[1:5]]
    if node.inputs[0] != x or None in constants:
        return None
    scale, bias, mean, variance = filter(None, constants)
    epsilon = float(np.float32(node.attributes.get("epsilon", 1e-5)))

    def compute(parameters: Parameters) -> tuple[Float64Array, Float64Array]:
        deviation = np.sqrt(_wide(variance, parameters) + epsilon)
        factor = _wide(scale, parameters) / deviation
        return factor, _wide(bias, parameters) - _wide(mean, parameters) * factor

    keys = [constant.key for constant in (scale, bias, mean, variance)]
    params = scale.params | bias.params | mean.params | variance.params
    return _Affine(f"BatchNormalization {epsilon} {keys}", params, compute)


def _affine_of_arithmetic(graph: Graph, node: Node, x: str) -> _Affine | None:
    left, right = node.inputs
    is_left = left == x
    constant = graph.constants.get(right if is_left else left)
    if constant is None or not _is_per_channel(constant.type.shape, graph.values[x].shape):
        return None
    if node.op_type == "Div" and not is_left:
        return None

    def compute(parameters: Parameters) -> tuple[Float64Array, Float64Array]:
        term = _wide(constant, parameters)
        one, zero = np.ones(1), np.zeros(1)
        if node.op_type == "Add":
            return one, term
        if node.op_type == "Sub":
            return (one, -term) if is_left else (-one, term)
        return (term if node.op_type == "Mul" else 1 / term), zero

    return _Affine(f"{node.op_type} {is_left} {constant.key}", constant.params, compute)


def _is_per_channel(shape: tuple[int, ...], x_shape: tuple[int, ...]) -> bool:
    """Whether a shape broadcasts over all of ``x`` but, at most, its channels."""
    if len(shape) > len(x_shape):
        return False
    padded = (1,) * (len(x_shape) - len(shape)) + shape
    return padded[1] in (1, x_shape[1]) and all(
        size == 1 for axis, size in enumerate(padded) if axis != 1
    )


def _wide(constant: Constant, parameters: Parameters) -> Float64Array:
    return constant.compute(parameters).astype(np.float64).reshape(-1)


def _fold(graph: Graph, first: Node, y: str, affines: Sequence[_Affine]) -> tuple[Graph, Node]:
    """The graph with the derived constants, and the node that reads them and writes ``y``.

    Every kind of node multiplies by its input 1 and adds its input 2.
    """
    weights = graph.constants[first.inputs[1]]
    bias = graph.constants[first.inputs[2]] if any(first.inputs[2:3]) else None
    channels = graph.values[y].shape[1]
    params = frozenset[str]().union(*(affine.params for affine in affines))
    key = digest(weights.key, bias and bias.key, *(affine.key for affine in affines))

    @np.errstate(all="ignore")  # as in the graph, Inf and NaN are results
    def folded_weights(parameters: Parameters) -> npt.NDArray[np.floating]:
        factor = np.ones(channels)
        for affine in affines:
            factor = factor * affine.compute(parameters)[0]
        array = weights.compute(parameters)
        spread = _spread_over_weights(first, factor, array.shape)
        return (array.astype(np.float64) * spread).astype(array.dtype)

    @np.errstate(all="ignore")
    def folded_bias(parameters: Parameters) -> npt.NDArray[np.floating]:
        total = np.zeros(channels) if bias is None else _wide(bias, parameters)
        for affine in affines:
            scale, shift = affine.compute(parameters)
            total = total * scale + shift
        return total.astype(weights.type.dtype)

    graph, weights_name = add_constant(
        graph,
        f"{y}/folded_weights",
        Constant(f"folded weights {key}", weights.type, params | weights.params, folded_weights),
    )
    bias_type = TensorType(weights.type.dtype, (channels,))
    bias_params = params | (bias.params if bias else frozenset())
    graph, bias_name = add_constant(
        graph,
        f"{y}/folded_bias",
        Constant(f"folded bias {key}", bias_type, bias_params, folded_bias),
    )
    inputs = (first.inputs[0], weights_name, bias_name, *first.inputs[3:])
    return graph, replace(first, inputs=inputs, outputs=(y,))


def _spread_over_weights(node: Node, factor: Float64Array, shape: tuple[int, ...]) -> Float64Array:
    """A number for each channel of the result, in a shape that broadcasts to the node's input 1.

    Weights of a Conv are [M, C / group, *kernel], those of a ConvTranspose [C, M / group, *kernel].
    """
    if node.op_type != "ConvTranspose":
        return factor.reshape(-1, *[1] * (len(shape) - 1))
    by_group = factor.reshape(-1, shape[1])
    rows = np.repeat(by_group, shape[0] // len(by_group), axis=0)
    return rows.reshape(*rows.shape, *[1] * (len(shape) - 2))
