"""Adagrad, Adam and Momentum: one launch for each tensor that is optimized."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import check_dtype, float_attributes, optional, required
from cugraphmodel.ops.launch import Argument, Launch, ceil_div
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__: list[str] = []

Values = Sequence[Value | None]
THREADS = 256
WIDE = (np.dtype("float32"), np.dtype("float64"))


def _tensors(inputs: Values, num_kinds: int) -> list[list[Value]]:
    """For each optimized tensor: itself, its gradient, and what is remembered of earlier steps."""
    given = [required(inputs, position) for position in range(2, len(inputs))]
    count = len(given) // num_kinds
    if count * num_kinds != len(given):
        raise Unsupported(f"{len(given)} tensors are no multiple of {num_kinds}.")
    return [given[first::count] for first in range(count)]


def _optimizer(
    op_type: str,
    num_kinds: int,
    constants: Callable[[Node], Sequence[Argument]],
) -> OpSpec:
    """The spec of an optimizer.

    Args:
        op_type: as in the ONNX operator list.
        num_kinds: tensors that come for each optimized one, itself included.
        constants: the kernel's last arguments.
    """

    def infer(node: Node, inputs: Values) -> list[TensorType]:
        rate, updates = required(inputs), required(inputs, 1)
        check_dtype(rate, WIDE)
        check_dtype(updates, (np.dtype("int64"),))
        constants(node)
        groups = _tensors(inputs, num_kinds)
        for group in groups:
            check_dtype(group[0], WIDE)
            if any(
                (value.dtype, value.shape) != (group[0].dtype, group[0].shape) for value in group
            ):
                raise Unsupported(f"The tensors {', '.join(map(str, group))} are not alike.")
        if rate.size != 1 or updates.size != 1:
            raise Unsupported(f"{rate} and {updates} are not one number each.")
        kinds = num_kinds - 1  # the gradient is not handed on
        types = [TensorType(group[0].dtype, group[0].shape) for group in groups]
        return (types * kinds)[: len(node.outputs)]

    def lower(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
        groups = _tensors(inputs, num_kinds)
        launches = []
        for number, group in enumerate(groups):
            positions = range(number, len(groups) * (num_kinds - 1), len(groups))
            results = [optional(outputs, position) for position in positions]
            if any(results) and group[0].size:
                launches.append(_launch(node, inputs, group, results, constants(node)))
        return launches

    return OpSpec(op_type, 1, infer, lower, domain="ai.onnx.preview.training")


def _launch(
    node: Node,
    inputs: Values,
    group: Sequence[Value],
    results: Values,
    constants: Sequence[Argument],
) -> Launch:
    rate, size = required(inputs), group[0].size
    return Launch(
        source="ops/training/optimizers.cu",
        entry=node.op_type.lower(),
        grid=(ceil_div(size, THREADS), 1, 1),
        block=(THREADS, 1, 1),
        args=(rate, required(inputs, 1), *group, *results, np.int64(size), *constants),
        macros=(("SCALAR", c_type(group[0].dtype)), ("RATE", c_type(rate.dtype))),
    )


def _adagrad(node: Node) -> list[Argument]:
    names = [("decay_factor", 0.0), ("epsilon", 1e-6), ("norm_coefficient", 0.0)]
    return list(map(np.float32, float_attributes(node, names)))


def _adam(node: Node) -> list[Argument]:
    names = [
        *(("alpha", 0.9), ("beta", 0.999), ("epsilon", 1e-6)),
        *(("norm_coefficient", 0.0), ("norm_coefficient_post", 0.0)),
    ]
    return list(map(np.float32, float_attributes(node, names)))


def _momentum(node: Node) -> list[Argument]:
    mode = node.attributes.get("mode")
    if mode not in ("standard", "nesterov"):
        raise Unsupported(f"mode {mode!r} is neither 'standard' nor 'nesterov'.")
    numbers = [float(node.attributes[name]) for name in ("alpha", "beta", "norm_coefficient")]
    return [*map(np.float32, numbers), np.int32(mode == "nesterov")]


register(
    _optimizer("Adagrad", 3, _adagrad),
    _optimizer("Adam", 4, _adam),
    _optimizer("Momentum", 3, _momentum),
)
