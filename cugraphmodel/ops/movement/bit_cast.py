"""BitCast: the bits of a tensor as elements of another type of the same width."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from cugraphmodel.dtypes import from_onnx, kind_of
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import required
from cugraphmodel.ops.elementwise.elementwise import Operand, elementwise_launch
from cugraphmodel.ops.launch import Launch
from cugraphmodel.ops.movement.strided_copy import copy_all
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
_BYTE = np.dtype("uint8")


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    data = required(inputs)
    dtype = from_onnx(int(node.attributes["to"]))
    if dtype is None or _width(dtype) != _width(data.dtype):
        raise Unsupported(
            f"The bits of {data} cannot be those of ONNX type {node.attributes['to']}."
        )
    return [TensorType(dtype, data.shape)]


def _width(dtype: np.dtype) -> int:
    """Bits of an element; those of less than a byte are the low ones of a byte."""
    narrow = re.search(r"int(2|4)$|float(4|6)_", dtype.name)
    return int(narrow[1] or narrow[2]) if narrow else 8 * dtype.itemsize


def _lower(_node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    """A copy; but a bool is 1 for every byte but 0, and a narrow integer fills its byte."""
    data, output = required(inputs), required(outputs)
    width = _width(output.dtype)
    if output.dtype == np.bool_:
        expression = "x0 != 0"
    elif width < 8:
        low, sign = 2**width - 1, 2 ** (width - 1)
        is_signed = kind_of(output.dtype) == "i"
        expression = f"((x0 & {low}) ^ {sign}) - {sign}" if is_signed else f"x0 & {low}"
    else:
        return copy_all(data, output)
    source, target = (Operand(value, _BYTE, value.shape) for value in (data, output))
    return [elementwise_launch(expression, [source], target)]


register(OpSpec("BitCast", 26, _infer, _lower))
