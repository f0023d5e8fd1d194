"""ConvTranspose."""

from __future__ import annotations

from collections.abc import Sequence

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import required
from cugraphmodel.ops.conv.conv import conv_operands
from cugraphmodel.ops.launch import Launch
from cugraphmodel.ops.spec import OpSpec, Unsupported, register
from cugraphmodel.ops.window import Window, axis_numbers, checked_window


def _window(node: Node, x: Value, weights: Value) -> Window:
    """Where each input goes. ``input`` and ``output`` are those of this operator."""
    attributes, spatial, kernel = node.attributes, x.shape[2:], weights.shape[2:]
    rank = len(spatial)
    ones, zeros = [1] * rank, [0] * rank
    strides = axis_numbers("strides", attributes.get("strides", ones), rank, least=1)
    dilations = axis_numbers("dilations", attributes.get("dilations", ones), rank, least=1)
    more = axis_numbers("output_padding", attributes.get("output_padding", zeros), rank, least=0)
    pads = axis_numbers("pads", attributes.get("pads", 2 * zeros), 2 * rank, least=0)
    auto_pad = attributes.get("auto_pad", "NOTSET")
    if auto_pad not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", ""):
        raise Unsupported(
            f"auto_pad={auto_pad!r} is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID."
        )
    # Outputs that anything at all reaches, before padding takes some away.
    reached = [
        strides[axis] * (spatial[axis] - 1) + more[axis] + (kernel[axis] - 1) * dilations[axis] + 1
        for axis in range(rank)
    ]
    same = auto_pad.startswith("SAME")
    if same or "output_shape" in attributes:
        scaled = [size * stride for size, stride in zip(spatial, strides, strict=True)]
        given = attributes.get("output_shape", scaled)
        output = axis_numbers("output_shape", given[-rank:], rank, least=1)
        totals = [max(all_ - size, 0) for all_, size in zip(reached, output, strict=True)]
        begin = [t // 2 if auto_pad == "SAME_UPPER" else t - t // 2 for t in totals]
    else:
        begin = [0] * rank if auto_pad == "VALID" else list(pads[:rank])
        end = [0] * rank if auto_pad == "VALID" else list(pads[rank:])
        output = tuple(
            all_ - before - after for all_, before, after in zip(reached, begin, end, strict=True)
        )
    if min(output) < 0:
        raise Unsupported(f"Its padding is larger than its output of {reached}.")
    return checked_window(
        Window(spatial, kernel, output, strides, dilations, tuple(begin), tuple(zeros))
    )


def _infer_conv_transpose(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    """[N, M, *output] for an input [N, C, *input] and weights [C, M / group, *kernel]."""
    x, weights, bias = conv_operands(node, inputs)
    window = _window(node, x, weights)
    groups = node.attributes.get("group", 1)
    if groups < 1 or weights.shape[0] != x.shape[1] or weights.shape[0] % groups:
        raise Unsupported(
            f"Weights of shape {weights.shape} and group={groups} do not fit {x.shape[1]} channels."
        )
    filters = weights.shape[1] * groups
    if bias is not None and bias.shape != (filters,):
        raise Unsupported(f"A bias of shape {bias.shape} does not fit {filters} filters.")
    return [TensorType(x.dtype, (x.shape[0], filters, *window.output))]


def _lower_conv_transpose(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """One thread an output."""
    x, weights, bias = conv_operands(node, inputs)
    y = required(outputs)
    window = _window(node, x, weights)
    groups = node.attributes.get("group", 1)
    grid, block = window.grid_and_block(y.shape[0] * y.shape[1])
    shape = window.struct(x.shape[1] // groups, weights.shape[1], groups, x.shape[0])
    return [
        Launch(
            "ops/conv/conv_transpose.cu",
            "conv_transpose",
            grid,
            block,
            (x, weights, bias, y, shape),
            (("SCALAR", c_type(x.dtype)),),
        )
    ]


register(OpSpec("ConvTranspose", 1, _infer_conv_transpose, _lower_conv_transpose))
