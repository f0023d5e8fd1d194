"""BatchNormalization, and LRN: one thread an element, or four.

ChannelsLastBatchNormalization, in the domain ``cugraphmodel``, is that of inference for a tensor
whose channels are its last axis: an elementwise operator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, check_dtype, float_attributes, required
from cugraphmodel.ops.elementwise.elementwise import Operand, elementwise_launch, operand
from cugraphmodel.ops.launch import Launch, ceil_div
from cugraphmodel.ops.norm.batch_norm_training import batch_statistics, running_statistics
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

THREADS = 128


def _batch_norm_infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    x = required(inputs)
    if any(node.outputs[1:]) and not _is_training(node):
        raise Unsupported(
            "Outputs beside the first are for training; before opset 14 that is not supported."
        )
    check_dtype(x, FLOATS)
    if _is_training(node) and not x.size:
        raise Unsupported(f"A batch {x} that is empty has no mean.")
    num_channels, _ = _channels(node, x)
    for position in range(1, 5):
        parameter = required(inputs, position)
        check_dtype(parameter, FLOATS)
        if parameter.size != num_channels:
            raise Unsupported(
                f"{parameter.name!r} has {parameter.size} elements for {num_channels} channels."
            )
    types = [TensorType(x.dtype, x.shape)]
    types += [TensorType(required(inputs, k).dtype, required(inputs, k).shape) for k in (3, 4)]
    return types[: len(node.outputs)]


def _is_training(node: Node) -> bool:
    return node.version >= 14 and bool(node.attributes.get("training_mode", 0))


def _channels(node: Node, x: Value) -> tuple[int, int]:
    """Number of channels, and of elements in a row that share one.

    With ``spatial`` 0 (before version 9) every position of a sample is a channel of its own.
    """
    if len(x.shape) < 2:
        return 1, math.prod(x.shape)
    if not node.attributes.get("spatial", 1):
        return math.prod(x.shape[1:]), 1
    return x.shape[1], math.prod(x.shape[2:])


def _batch_norm_lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    x = required(inputs)
    if not _is_training(node):
        statistics = [operand(required(inputs, position)) for position in (3, 4)]
        return [_normalize(node, inputs, required(outputs), *statistics)]
    launches, *statistics = batch_statistics(x, *_channels(node, x))
    launches += running_statistics(node, inputs, outputs, statistics)
    if outputs[0] is not None:
        launches.append(_normalize(node, inputs, outputs[0], *statistics))
    return launches


def _normalize(
    node: Node, inputs: Sequence[Value | None], out: Value, mean: Operand, variance: Operand
) -> Launch:
    x, scale, bias = (required(inputs, position) for position in range(3))
    num_channels, inner = _channels(node, x)
    vector = 4 if inner % 4 == 0 else 1
    wide = np.float64 in (x.dtype, scale.dtype, mean.dtype)
    (epsilon,) = float_attributes(node, [("epsilon", 1e-5)])
    return Launch(
        source="ops/norm/batch_norm.cu",
        entry="batch_norm",
        grid=(ceil_div(x.size, THREADS * vector), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            *(out, x, scale, bias, mean.source, variance.source),
            *(np.int64(x.size), np.int64(num_channels), np.int64(inner), np.float32(epsilon)),
        ),
        macros=(
            ("SCALAR", c_type(x.dtype)),
            ("PARAM", c_type(scale.dtype)),
            ("STAT", c_type(mean.dtype)),
            ("COMPUTE", "double" if wide else "float"),
            ("VECTOR", str(vector)),
        ),
    )


def _channels_last_infer(_node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    x = required(inputs)
    check_dtype(x, FLOATS)
    for position in range(1, 5):
        parameter = required(inputs, position)
        check_dtype(parameter, FLOATS)
        if parameter.shape != x.shape[-1:]:
            raise Unsupported(f"{parameter} is no parameter of the channels of {x}.")
    return [TensorType(x.dtype, x.shape)]


def _channels_last_lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    operands = [operand(required(inputs, position)) for position in range(5)]
    compute = "double" if np.float64 in [item.dtype for item in operands] else "float"
    x, scale, bias, mean, variance = (f"cg_cast<{compute}>(x{k})" for k in range(5))
    normalized = f"({x} - {mean}) / cg_sqrt({variance} + {compute}(a))"
    expression = f"cg_fma({normalized}, {scale}, {bias})"
    epsilon = float_attributes(node, [("epsilon", 1e-5)])
    return [elementwise_launch(expression, operands, operand(required(outputs)), epsilon)]


def _lrn_infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    x = required(inputs)
    check_dtype(x, FLOATS)
    if len(x.shape) < 2:
        raise Unsupported(f"The input {x} has no channels.")
    if int(node.attributes["size"]) < 1:
        raise Unsupported(f"size={node.attributes['size']} is not a window.")
    return [TensorType(x.dtype, x.shape)]


def _lrn_lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    x, out = required(inputs), required(outputs)
    scalars = float_attributes(node, [("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)])
    return [
        Launch(
            source="ops/norm/local_response.cu",
            entry="local_response",
            grid=(ceil_div(x.size, THREADS), 1, 1),
            block=(THREADS, 1, 1),
            args=(
                *(out, x, np.int64(x.size)),
                *(np.int64(x.shape[1]), np.int64(math.prod(x.shape[2:]))),
                np.int32(node.attributes["size"]),
                *map(np.float32, scalars),
            ),
            macros=(("SCALAR", c_type(x.dtype)),),
        )
    ]


register(
    OpSpec("BatchNormalization", 7, _batch_norm_infer, _batch_norm_lower),
    OpSpec(
        "ChannelsLastBatchNormalization",
        1,
        _channels_last_infer,
        _channels_last_lower,
        domain="cugraphmodel",
    ),
    OpSpec("LRN", 1, _lrn_infer, _lrn_lower),
)
