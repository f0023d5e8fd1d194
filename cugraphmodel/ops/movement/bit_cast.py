"""BitCast: the bits of a tensor as elements of another type of the same width."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import from_onnx
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import ANY, check_dtype, required
from cugraphmodel.ops.elementwise.elementwise import Operand, elementwise_launch, operand
from cugraphmodel.ops.launch import Launch
from cugraphmodel.ops.movement.strided_copy import copy_all
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    data = required(inputs)
    check_dtype(data, ANY)
    dtype = from_onnx(int(node.attributes["to"]))
    if dtype is None or dtype not in ANY or dtype.itemsize != data.dtype.itemsize:
        raise Unsupported(
            f"The bits of {data} cannot be those of ONNX type {node.attributes['to']}."
        )
    return [TensorType(dtype, data.shape)]


def _lower(_node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    """A copy; a bool is 1 for every byte but 0, as everywhere in kernels."""
    data, output = required(inputs), required(outputs)
    if output.dtype == np.bool_:
        source = Operand(data, np.dtype("uint8"), data.shape)
        return [elementwise_launch("x0 != 0", [source], operand(output))]
    return copy_all(data, output)


register(OpSpec("BitCast", 26, _infer, _lower))
