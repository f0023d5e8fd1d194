"""How each operator looks when its tensors are channels-last: the rules of ``channels_last``.

A rule takes a node and gives nodes that read and make twins, or None where it does not hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ir import Constant, Node, TensorType
from cugraphmodel.ops.arguments import ints_of, normalize_axis
from cugraphmodel.ops.conv.conv import MAX_DIRECT_FILTERS
from cugraphmodel.passes.twins import Conversion, Rule, Twins, from_last, reshape, to_last

__all__ = ["ELEMENTWISE", "REDUCTIONS", "RULES"]

MAX_STEM_CHANNELS = 7
"""An input of up to so many channels is an image: its planes are read as they are."""
MIN_CHANNELS = 4
"""Of a group: with fewer, a convolution gains nothing from neighbouring channels."""

ELEMENTWISE = frozenset(
    """
    Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor
    Cast Ceil Celu Clip Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid
    HardSwish IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu
    Pow Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish
    Tan Tanh ThresholdedRelu Where Xor
    """.split()  # noqa: SIM905 - one name a line would fill a screen
)
REDUCTIONS = frozenset(
    """
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum ReduceSumSquare
    """.split()  # noqa: SIM905
)
VIEWS = frozenset(("Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"))


def _conv(twins: Twins, node: Node) -> Conversion | None:
    """Conv and FusedConv with constant weights; of floats."""
    x, weights, *_ = node.inputs
    if weights not in twins.graph.constants or 0 in twins.shape(weights):
        return None
    rank, y = len(twins.shape(x)), node.outputs[0]
    if not 3 <= rank <= 5 or len(twins.shape(weights)) != rank:
        return None
    bias, residual = (*node.inputs[2:], "", "")[:2]
    all_filters, channels = twins.shape(weights)[:2]
    groups = int(node.attributes.get("group", 1))
    attributes = {name: value for name, value in node.attributes.items() if name != "kernel_shape"}
    fused = replace(node, domain="cugraphmodel", version=1, attributes=attributes)
    twin = twins.name(y)
    if groups == 1 and channels <= MAX_STEM_CHANNELS and not residual and not twins.is_at_hand(x):
        return Conversion((replace(fused, op_type="StemConv", outputs=(twin,)),), (), (y,))
    is_direct = groups > 1 and all_filters // groups <= MAX_DIRECT_FILTERS
    taps_first = (*range(2, rank), 1, 0)
    packed_name, packed = twins.moved(weights, taps_first if is_direct else to_last(range(rank)))
    constants, reads, moved_residual = {packed_name: packed}, [x], ""
    if residual in twins.graph.constants:
        moved_residual, constants[moved_residual] = twins.moved(residual, to_last(range(rank)))
    elif residual:
        moved_residual = twins.name(residual)
        reads.append(residual)
    inputs = (twins.name(x), packed_name, bias, moved_residual)
    op_type = "ChannelsLastDirectConv" if is_direct else "ChannelsLastConv"
    converted = replace(fused, op_type=op_type, inputs=inputs, outputs=(twin,))
    num_bytes = twins.graph.values[x].num_bytes + twins.graph.values[y].num_bytes
    conv_bytes = num_bytes if channels >= MIN_CHANNELS else 0
    return Conversion((converted,), tuple(reads), (y,), constants, conv_bytes=conv_bytes)


def _of_twin(rule: Rule) -> Rule:
    """The rule, for nodes whose first input has a twin."""

    def guarded(twins: Twins, node: Node) -> Conversion | None:
        return rule(twins, node) if twins.has(node.inputs[0]) else None

    return guarded


def _one_to_one(
    twins: Twins,
    node: Node,
    attributes: Mapping[str, Any] | None = None,
    host_values: Mapping[int, npt.NDArray[Any]] | None = None,
) -> Conversion | None:
    """The same operator on the twin of its first input, with other attributes."""
    x, outputs = node.inputs[0], [name for name in node.outputs if name]
    if any(len(twins.shape(name)) < 3 for name in outputs):
        return None
    converted = replace(
        node,
        inputs=(twins.name(x), *node.inputs[1:]),
        outputs=tuple(name and twins.name(name) for name in node.outputs),
        attributes={**node.attributes, **(attributes or {})},
        host_values={**node.host_values, **(host_values or {})},
    )
    return Conversion((converted,), (x,), tuple(outputs))


def _moved_axis(axis: int, rank: int) -> int:
    """Where an axis of a tensor is in its twin."""
    return to_last(range(rank)).index(normalize_axis(axis, rank))


def _moved_axes(twins: Twins, x: str, axes: Sequence[int] | None, count: int) -> list[int]:
    """Likewise several axes; without, the first ``count``."""
    rank = len(twins.shape(x))
    return [_moved_axis(axis, rank) for axis in (range(count) if axes is None else axes)]


def _elementwise(twins: Twins, node: Node) -> Conversion | None:
    """Operands with twins, and constants; what has one element is the same in both forms."""
    y = node.outputs[0]
    rank = len(twins.shape(y))
    if rank < 3:
        return None
    inputs: list[str] = []
    reads: list[str] = []
    constants: dict[str, Constant] = {}
    for name in node.inputs:
        if not name or (math.prod(twins.shape(name)) == 1 and not twins.has(name)):
            inputs.append(name)
        elif name in twins.graph.constants:
            moved_name, constants[moved_name] = twins.moved(name, to_last(range(rank)), rank)
            inputs.append(moved_name)
        elif len(twins.shape(name)) == rank and twins.is_at_hand(name):
            inputs.append(twins.name(name))
            reads.append(name)
        else:
            return None
    if not any(map(twins.has, reads)):
        return None
    converted = replace(node, inputs=tuple(inputs), outputs=(twins.name(y),))
    return Conversion((converted,), tuple(reads), (y,), constants)


def _quantization(twins: Twins, node: Node) -> Conversion | None:
    """With one scale for all."""
    is_whole = all(math.prod(twins.shape(name)) == 1 for name in filter(None, node.inputs[1:]))
    return _elementwise(twins, node) if is_whole else None


@_of_twin
def _pool(twins: Twins, node: Node) -> Conversion | None:
    """MaxPool without indices, AveragePool."""
    if any(node.outputs[1:]):
        return None
    conversion = _one_to_one(twins, replace(node, outputs=node.outputs[:1]))
    if conversion is None:
        return None
    (converted,) = conversion.nodes
    op_type = f"ChannelsLast{node.op_type}"
    named = replace(converted, op_type=op_type, domain="cugraphmodel", version=1)
    return replace(conversion, nodes=(named,))


@_of_twin
def _global_pool(twins: Twins, node: Node) -> Conversion | None:
    """A reduction over the axes between the first and the last."""
    op_type = {"GlobalAveragePool": "ReduceMean", "GlobalMaxPool": "ReduceMax"}[node.op_type]
    axes = list(range(1, len(twins.shape(node.inputs[0])) - 1))
    reduction = replace(node, op_type=op_type, version=13, attributes={"axes": axes, "keepdims": 1})
    return _one_to_one(twins, reduction)


@_of_twin
def _reduction(twins: Twins, node: Node) -> Conversion | None:
    """Over named axes that are kept, or over all spatial ones: then the result has no twin."""
    x, axes = node.inputs[0], ints_of(node, "axes", 1)
    rank = len(twins.shape(x))
    if not axes:
        return None
    moved = [_moved_axis(axis, rank) for axis in axes]
    plain = replace(
        node, inputs=(x,), host_values={}, attributes={**node.attributes, "axes": moved}
    )
    if node.attributes.get("keepdims", 1):
        return _one_to_one(twins, plain)
    if sorted(moved) != list(range(1, rank - 1)):
        return None
    return Conversion((replace(plain, inputs=(twins.name(x),)),), (x,), ())


def _concat(twins: Twins, node: Node) -> Conversion | None:
    """Parts with twins, and constants."""
    conversion = _elementwise(twins, node)
    rank = len(twins.shape(node.outputs[0]))
    if conversion is None or any(len(twins.shape(name)) != rank for name in node.inputs):
        return None
    (converted,) = conversion.nodes
    axis = _moved_axis(int(node.attributes["axis"]), rank)
    named = replace(converted, attributes={**node.attributes, "axis": axis})
    return replace(conversion, nodes=(named,))


def _along_axis(twins: Twins, node: Node, default: int) -> Conversion | None:
    axis = int(node.attributes.get("axis", default))
    moved = _moved_axis(axis, len(twins.shape(node.inputs[0])))
    return _one_to_one(twins, node, {"axis": moved})


@_of_twin
def _softmax(twins: Twins, node: Node) -> Conversion | None:
    """From opset 13 on, where it is along one axis."""
    return _along_axis(twins, node, -1) if node.version >= 13 else None


@_of_twin
def _split(twins: Twins, node: Node) -> Conversion | None:
    return _along_axis(twins, node, 0)


@_of_twin
def _pad(twins: Twins, node: Node) -> Conversion | None:
    x = node.inputs[0]
    moved = _moved_axes(twins, x, ints_of(node, "axes", 3), len(twins.shape(x)))
    return _one_to_one(twins, node, host_values={3: np.array(moved, np.int64)})


@_of_twin
def _slice(twins: Twins, node: Node) -> Conversion | None:
    x = node.inputs[0]
    starts = ints_of(node, "starts", 1) or []
    moved = _moved_axes(twins, x, ints_of(node, "axes", 3), len(starts))
    return _one_to_one(twins, node, host_values={3: np.array(moved, np.int64)})


@_of_twin
def _resize(twins: Twins, node: Node) -> Conversion | None:
    x = node.inputs[0]
    moved = _moved_axes(twins, x, ints_of(node, "axes", -1), len(twins.shape(x)))
    return _one_to_one(twins, node, {"axes": moved})


def _view(twins: Twins, node: Node) -> Conversion | None:
    """Views that leave images and channels as they are, and the last of a channel shuffle."""
    x, y = node.inputs[0], node.outputs[0]
    before, after = twins.shape(x), twins.shape(y)
    if len(after) < 3 or any(node.outputs[1:]):
        return None
    if not twins.has(x):
        return _channel_shuffle(twins, node)
    if after[:2] != before[:2]:
        return None
    view = reshape(twins.name(x), twins.name(y), to_last(after))
    return Conversion((replace(view, name=node.name, index=node.index),), (x,), (y,))


def _channel_shuffle(twins: Twins, node: Node) -> Conversion | None:
    """The channels seen as a matrix, which is transposed: Reshape, Transpose and Reshape."""
    y, transpose = node.outputs[0], twins.makers.get(node.inputs[0])
    if transpose is None or (transpose.domain, transpose.op_type) != ("", "Transpose"):
        return None
    split = twins.makers.get(transpose.inputs[0])
    if split is None or (split.domain, split.op_type) != ("", "Reshape"):
        return None
    x = split.inputs[0]
    images, *positions, channels = to_last(twins.shape(y))
    rank = len(positions) + 2
    permutation = transpose.attributes.get("perm")
    if not twins.has(x) or twins.shape(x) != twins.shape(y):
        return None
    shape = twins.shape(split.outputs[0])
    if permutation != [0, 2, 1, *range(3, rank + 1)] or shape[3:] != tuple(positions):
        return None
    rows, columns = shape[1:3]
    if shape[0] != images or rows * columns != channels:
        return None
    dtype = twins.graph.values[x].dtype
    before, after = twins.name(y, " before"), twins.name(y, " after")
    nodes = (
        reshape(twins.name(x), before, (images, *positions, rows, columns)),
        replace(
            transpose,
            inputs=(before,),
            outputs=(after,),
            attributes={"perm": [*range(rank - 1), rank, rank - 1]},
        ),
        reshape(after, twins.name(y), (images, *positions, channels)),
    )
    inner = {
        before: TensorType(dtype, (images, *positions, rows, columns)),
        after: TensorType(dtype, (images, *positions, columns, rows)),
    }
    return Conversion(nodes, (x,), (y,), inner=inner)


@_of_twin
def _transpose(twins: Twins, node: Node) -> Conversion | None:
    """One transpose of the twin, or none where that has the axes in the order asked for."""
    x = node.inputs[0]
    rank = len(twins.shape(x))
    places = from_last(range(rank))
    permutation = [places[axis] for axis in node.attributes.get("perm", range(rank)[::-1])]
    read = replace(node, inputs=(twins.name(x),))
    if permutation == list(range(rank)):
        return Conversion((replace(read, op_type="Identity", attributes={}),), (x,), ())
    return Conversion((replace(read, attributes={"perm": permutation}),), (x,), ())


@_of_twin
def _batch_normalization(twins: Twins, node: Node) -> Conversion | None:
    """In inference form, with one mean, variance, scale and bias a channel."""
    x, y = node.inputs[0], node.outputs[0]
    is_training = node.version >= 14 and node.attributes.get("training_mode", 0)
    if is_training or any(node.outputs[1:]):
        return None
    if any(twins.shape(name) != twins.shape(x)[1:2] for name in node.inputs[1:]):
        return None
    named = replace(
        node, op_type="ChannelsLastBatchNormalization", domain="cugraphmodel", version=1
    )
    converted = replace(named, inputs=(twins.name(x), *node.inputs[1:]), outputs=(twins.name(y),))
    return Conversion((converted,), (x,), (y,))


RULES: Mapping[tuple[str, str], Rule] = {
    ("", "Conv"): _conv,
    ("cugraphmodel", "FusedConv"): _conv,
    **{("", op_type): _elementwise for op_type in ELEMENTWISE},
    **{("", op_type): _pool for op_type in ("AveragePool", "MaxPool")},
    **{("", op_type): _global_pool for op_type in ("GlobalAveragePool", "GlobalMaxPool")},
    **{("", op_type): _reduction for op_type in REDUCTIONS},
    **{("", op_type): _softmax for op_type in ("LogSoftmax", "Softmax")},
    **{("", op_type): _resize for op_type in ("Resize", "Upsample")},
    **{("", op_type): _view for op_type in VIEWS},
    **{("", op_type): _quantization for op_type in ("DequantizeLinear", "QuantizeLinear")},
    ("", "BatchNormalization"): _batch_normalization,
    ("", "Concat"): _concat,
    ("", "Pad"): _pad,
    ("", "Slice"): _slice,
    ("", "Split"): _split,
    ("", "Transpose"): _transpose,
}
