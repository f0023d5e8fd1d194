"""Einsum: any equation, lowered to copies, reductions, matrix products and contractions.

Operands are contracted two at a time, in the order that multiplies least. What lies between two
steps is held in scratch memory, 16-bit floats as float32.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import NUMBERS, check_dtype, required
from cugraphmodel.ops.launch import Launch, on_scratch
from cugraphmodel.ops.linalg.contract import (
    Labels,
    Lowering,
    Tensor,
    contract_tensors,
    held_as,
    reduce_tensor,
)
from cugraphmodel.ops.linalg.equation import Equation, read_equation
from cugraphmodel.ops.spec import OpSpec, register
from cugraphmodel.ops.strides import contiguous_strides

__all__: list[str] = []

Values = Sequence[Value | None]
MAX_TRIED = 5
"""Operands up to which all orders are tried: 180 of them."""


def _infer(node: Node, inputs: Values) -> list[TensorType]:
    values = [required(inputs, position) for position in range(len(inputs))]
    check_dtype(values[0], NUMBERS)
    for value in values:
        check_dtype(value, (values[0].dtype,))
    equation = _equation(node, values)
    shape = tuple(equation.sizes[label] for label in equation.output)
    output = TensorType(values[0].dtype, shape)
    _lower(node, inputs, [Value(output.dtype, shape, "output")])  # refuses what no kernel covers
    return [output]


def _equation(node: Node, values: Sequence[Value]) -> Equation:
    return read_equation(str(node.attributes["equation"]), [value.shape for value in values])


def _seen(value: Value, labels: Labels, sizes: dict[str, int]) -> Tensor:
    """A value through the labels of its dimensions: a diagonal adds up strides."""
    strides = dict.fromkeys(labels, 0)
    walk = zip(labels, value.shape, contiguous_strides(value.shape), strict=True)
    for label, size, stride in walk:
        strides[label] += stride if size == sizes[label] else 0
    return Tensor(value, strides)


def _lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    values = [required(inputs, position) for position in range(len(inputs))]
    y = required(outputs)
    if y.size == 0:
        return []
    equation = _equation(node, values)
    lowering = Lowering(equation.sizes, equation.output)
    tensors = [
        _seen(value, labels, equation.sizes)
        for value, labels in zip(values, equation.operands, strict=True)
    ]
    while len(tensors) > 2:
        left, right = _cheapest_pair(lowering, tensors)
        rest = [tensor for tensor in tensors if tensor is not left and tensor is not right]
        labels = _kept(lowering, left, right, rest)
        target = lowering.placeholder(held_as(y.dtype), labels)
        contract_tensors(lowering, left, right, target, labels)
        tensors = [*rest, target]
    target = lowering.contiguous(y, equation.output)
    if len(tensors) == 2:
        contract_tensors(lowering, tensors[0], tensors[1], target, equation.output)
    else:
        reduce_tensor(lowering, tensors[0], target, equation.output)
    return on_scratch(lowering.launches, lowering.scratch)


def _kept(lowering: Lowering, left: Tensor, right: Tensor, rest: Sequence[Tensor]) -> Labels:
    """Labels of a pair that something else needs: of both first, then of one."""
    needed = frozenset(lowering.output).union(*(tensor.labels for tensor in rest))
    kept = [label for label in lowering.sizes if label in (left.labels | right.labels) & needed]
    return tuple(sorted(kept, key=lambda label: (label in right.strides) - (label in left.strides)))


def _cheapest_pair(lowering: Lowering, tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The two to contract now: the first step of the order that multiplies least.

    All orders are tried for few operands; for many, each step is the cheapest one.
    """
    labels = [tensor.labels for tensor in tensors]
    _, (left, right) = _cheapest_step(lowering, labels, len(tensors) <= MAX_TRIED)
    return tensors[left], tensors[right]


def _cheapest_step(
    lowering: Lowering, operands: Sequence[frozenset[str]], look_ahead: bool
) -> tuple[int, tuple[int, int]]:
    """Multiplications from here on (of this step alone without ``look_ahead``), and which two."""
    found = []
    for pair in itertools.combinations(range(len(operands)), 2):
        labels = operands[pair[0]] | operands[pair[1]]
        cost = lowering.size(labels)
        rest = [operand for position, operand in enumerate(operands) if position not in pair]
        if look_ahead and rest:
            needed = frozenset(lowering.output).union(*rest)
            cost += _cheapest_step(lowering, [*rest, labels & needed], look_ahead)[0]
        found.append((cost, pair))
    return min(found)


register(OpSpec("Einsum", 12, _infer, _lower))
