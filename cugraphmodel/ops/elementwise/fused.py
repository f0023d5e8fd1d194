"""FusedElementwise, which passes make of elementwise nodes: one kernel for all of them.

Each node of the chain is a step: the expression of its own operator, with the values of the steps
before in the place of the operands. The value of a step is rounded to the type of its tensor.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cugraphmodel.dtypes import DTYPES, c_type, kind_of
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import required
from cugraphmodel.ops.elementwise.elementwise import (
    MAX_OPERANDS,
    SOURCE,
    Operand,
    elementwise_launch,
    operand,
)
from cugraphmodel.ops.launch import Launch
from cugraphmodel.ops.spec import OpSpec, Unsupported, find, register
from cugraphmodel.ops.strides import broadcast_shapes

__all__ = ["Chain", "compose", "is_one_step", "literal_of"]

_WORD = re.compile(r"\b(?:x\d|a|b|OUT_TYPE)\b")
"""What an operator's expression calls its operands, its attributes and its result's type."""

_STORAGE = frozenset(entry.numpy for entry in DTYPES if entry.is_storage)

MINUS_ZERO = -0.0
"""See ``stored`` in ``elementwise.cu``."""

ZERO = "(__float_as_uint(a) << 1)"
"""Added to an integer that was a float, so that no compiler makes one operation of this and the way
back: GCC takes ``float(int(x))`` for ``trunc(x)``, which has the sign of x when it is zero."""


@dataclass(frozen=True)
class Chain:
    """What a FusedElementwise computes: its attribute ``chain``.

    Attributes:
        steps: C++ statements that define ``v0``, ``v1``, ... from the operands ``x0``, ``x1``, ...
        expression: of those; its value is cast to the result's type.
        result: dtype and shape, to which all operands broadcast.
        second: which step's value is the second result, and the dtype of that, if there is one.
    """

    steps: str
    expression: str
    result: TensorType
    second: tuple[str, np.dtype] | None = None


def compose(
    nodes: Sequence[Node],
    values: Mapping[str, Value],
    literals: Mapping[tuple[int, str], str],
    second: str = "",
) -> tuple[tuple[str, ...], Chain]:
    """One chain of elementwise nodes.

    Args:
        nodes: in order of execution, each of them one step (:func:`is_one_step`); only they read
            the results of all but the last one and the one that makes ``second``.
        values: at least those that the nodes read and make.
        literals: (position of a node, name of a value it reads) -> what stands for that value.
        second: name of a value of the last one's shape that the chain gives as well; "" for none.

    Returns:
        Names of the values that the chain reads, and what it computes with them.
    """
    known: dict[str, str] = {}
    inputs: list[str] = []
    steps: list[str] = []
    for position, node in enumerate(nodes):
        result = values[node.outputs[0]]
        (launch,) = _launches_of(node, values)
        words = {"OUT_TYPE": c_type(result.dtype)}
        for name, scalar in zip("ab", launch.args[-2:], strict=True):
            assert isinstance(scalar, np.float32)  # as elementwise_launch passes them
            words[name] = _float_literal(float(scalar))
        operands = (item for item in launch.args[1 : 1 + MAX_OPERANDS] if isinstance(item, Value))
        for number, item in enumerate(operands):
            text = literals.get((position, item.name))
            if text is None and item.name not in known:
                known[item.name] = f"x{len(inputs)}"
                inputs.append(item.name)
            words[f"x{number}"] = text or known[item.name]
        expression = _substituted(dict(launch.macros)["EXPRESSION"], words)
        known[result.name] = f"v{position}"
        stored = f"stored<{c_type(result.dtype)}>({expression}, a)"
        if result.dtype.kind in "iu" and any(
            kind_of(values[name].dtype) == "f" for name in filter(None, node.inputs)
        ):
            stored = f"({c_type(result.dtype)})({stored} + {ZERO})"
        steps.append(f"const auto v{position} = {stored};")
    chain = Chain(
        " ".join(steps[:-1]),
        expression,
        TensorType(result.dtype, result.shape),
        (known[second], values[second].dtype) if second else None,
    )
    return tuple(inputs), chain


def literal_of(number: np.generic) -> str | None:
    """C++ that has exactly the value of a tensor's element, in the type that kernels compute in.

    None for a type that is only stored, and for NaN.
    """
    dtype = number.dtype
    if dtype in _STORAGE or number != number:
        return None
    if dtype == np.float64:
        value = float(number)
        return f"({value.hex()})" if math.isfinite(value) else f"double({_float_literal(value)})"
    if kind_of(dtype) == "f":
        return _float_literal(float(number))
    bits = int(number) & (2 ** (8 * dtype.itemsize) - 1)
    return f"(({c_type(dtype)}){bits:#x}ull)"


def _substituted(expression: str, words: Mapping[str, str]) -> str:
    return _WORD.sub(lambda word: words[word[0]], expression)


def _float_literal(value: float) -> str:
    if math.isnan(value):
        return "CG_NAN"
    if math.isinf(value):
        return "CG_INF" if value > 0 else "(-CG_INF)"
    return f"({value.hex()}f)"


def is_one_step(node: Node, values: Mapping[str, Value]) -> bool:
    """Whether a node of one output that is not empty is one launch of the elementwise kernel."""
    launches = _launches_of(node, values)
    return len(launches) == 1 and launches[0].source == SOURCE


def _launches_of(node: Node, values: Mapping[str, Value]) -> Sequence[Launch]:
    spec = find(node.domain, node.op_type, node.version)
    assert spec is not None  # the front let only known operators pass
    inputs = [values[name] if name else None for name in node.inputs]
    return spec.lower(node, inputs, [values[node.outputs[0]]])


def _operand(value: Value) -> Operand:
    """A value; a bound of a Clip may have more axes than the result, all of size 1."""
    return Operand(value, value.dtype, () if value.size == 1 else value.shape)


def _infer(node: Node, inputs: Sequence[Value | None]) -> list[TensorType]:
    chain: Chain = node.attributes["chain"]
    result = chain.result
    operands = [_operand(required(inputs, position)) for position in range(len(inputs))]
    shape = broadcast_shapes([item.shape for item in operands] + [result.shape])
    if shape != result.shape or len(inputs) > MAX_OPERANDS:
        raise Unsupported(
            f"Its operands do not broadcast to {list(result.shape)}, or are too many."
        )
    second = [] if chain.second is None else [TensorType(chain.second[1], result.shape)]
    return [result, *second]


def _lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Launch]:
    chain: Chain = node.attributes["chain"]
    operands = [_operand(required(inputs, position)) for position in range(len(inputs))]
    out, *more = (operand(required(outputs, position)) for position in range(len(outputs)))
    if not chain.result.size:
        return []
    second = (chain.second[0], more[0]) if chain.second is not None else None
    return [
        elementwise_launch(
            chain.expression, operands, out, [MINUS_ZERO], steps=chain.steps, second=second
        )
    ]


register(OpSpec("FusedElementwise", 1, _infer, _lower, domain="cugraphmodel"))
