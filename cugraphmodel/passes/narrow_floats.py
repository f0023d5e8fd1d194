"""A float32 graph that keeps its values in a type of 16 bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import ml_dtypes
import numpy as np

from cugraphmodel.dtypes import DTYPES
from cugraphmodel.ir import Array, Constant, Graph, Node, Parameters, TensorType, Value
from cugraphmodel.ops.spec import Unsupported, find

__all__ = ["narrow_floats"]

FLOAT32 = np.dtype(np.float32)
FLOAT32_CODE = 1
CAST_VERSION = 13

KEPT_WIDE = frozenset(
    """
    ConvInteger DequantizeLinear DynamicQuantizeLinear FusedConvInteger FusedMatMulInteger
    MatMulInteger QLinearConv QLinearMatMul QuantizeLinear
    """.split()  # noqa: SIM905 - one name a line would fill a screen
)
"""Operators whose floats are scales of integers, which 16 bits would change."""

WIDE_INPUTS = {"FusedAttention": (3,)}
"""Inputs that are float32 for operands of 16 bits, too."""


def narrow_floats(graph: Graph, dtype: np.dtype) -> Graph:
    """Keep float32 values in a narrower type, from one node to the next.

    Takes: a node that computes in ``dtype`` where it would in float32. All kernels of such types
    add up in single precision.

    Gives: the node on narrow twins of its float32 tensors. The graph's inputs, outputs and state
    stay float32; a Cast stands where one kind meets the other. Constants are rounded once; finite
    ones beyond the type's range become its largest number.

    Args:
        graph: after fusions that look at constants.
        dtype: float16 or bfloat16.
    """
    return _Narrowing(graph, dtype).run()


@dataclass
class _Narrowing:
    graph: Graph
    dtype: np.dtype
    nodes: list[Node] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)
    wide: set[str] = field(default_factory=set)
    """Float32 values that are there as such."""

    def run(self) -> Graph:
        self.values.update(self.graph.values)
        self.constants.update(self.graph.constants)
        self.wide.update((*self.graph.inputs, *self.graph.state, *self.graph.constants))
        for node in self.graph.nodes:
            narrow = self._narrow_form(node)
            if narrow is None:
                for name in filter(None, node.inputs):
                    self._need_wide(name)
                self.nodes.append(node)
                self.wide.update(node.outputs)
            else:
                self.nodes.append(narrow)
        for name in self.graph.kept:
            self._need_wide(name)
        read = {name for node in self.nodes for name in (*node.inputs, *node.outputs)}
        read.update(
            (*self.graph.inputs, *self.graph.kept, *self.graph.state, *self.graph.constants)
        )
        values = {name: value for name, value in self.values.items() if name in read}
        return self.graph.replace(nodes=tuple(self.nodes), values=values, constants=self.constants)

    def _narrow_form(self, node: Node) -> Node | None:
        """The node on twins, which it adds, or None if it cannot or need not be."""
        tensors = [name for name in (*node.inputs, *node.outputs) if self._is_float32(name)]
        if not tensors or node.op_type in KEPT_WIDE:
            return None
        kept_wide = WIDE_INPUTS.get(node.op_type, ())
        reads = [
            self._is_float32(name) and position not in kept_wide
            for position, name in enumerate(node.inputs)
        ]
        attributes = {**node.attributes}
        if node.op_type == "Cast" and attributes.get("to") == FLOAT32_CODE:
            attributes["to"] = _onnx_code(self.dtype)
        candidate = replace(node, attributes=attributes)
        if not self._computes(candidate, reads):
            return None
        inputs = tuple(
            self._twin(name) if is_read else name
            for name, is_read in zip(node.inputs, reads, strict=True)
        )
        return replace(candidate, inputs=inputs, outputs=tuple(map(self._make, node.outputs)))

    def _computes(self, node: Node, reads: Sequence[bool]) -> bool:
        """Whether the node gives narrow values where it gave float32."""
        spec = find(node.domain, node.op_type, node.version)
        assert spec is not None  # the front let only known operators pass
        inputs = [
            None
            if not name
            else replace(self.graph.values[name], dtype=self.dtype)
            if is_read
            else self.graph.values[name]
            for name, is_read in zip(node.inputs, reads, strict=True)
        ]
        try:
            found = spec.infer(node, inputs)
        except Unsupported:
            return False
        return all(
            result.dtype == self.dtype
            for name, result in zip(node.outputs, found, strict=False)
            if self._is_float32(name)
        )

    def _is_float32(self, name: str) -> bool:
        return bool(name) and self.graph.values[name].dtype == FLOAT32

    def _name(self, name: str) -> str:
        return f"{name} ({self.dtype.name})"

    def _make(self, name: str) -> str:
        """The twin of an output, if it has one."""
        if not self._is_float32(name):
            return name
        twin = replace(self.graph.values[name], dtype=self.dtype, name=self._name(name))
        self.values[twin.name] = twin
        return twin.name

    def _twin(self, name: str) -> str:
        """The twin of an input, cast if nothing has made it."""
        twin = self._name(name)
        if twin not in self.values:
            self._make(name)
            if name in self.graph.constants:
                self.constants[twin] = _rounded(self.graph.constants[name], self.dtype)
            else:
                self.nodes.append(_cast(name, twin, self.dtype))
        return twin

    def _need_wide(self, name: str) -> None:
        if self._is_float32(name) and name not in self.wide:
            self.wide.add(name)
            self.nodes.append(_cast(self._name(name), name, FLOAT32))


def _onnx_code(dtype: np.dtype) -> int:
    return next(entry.onnx_code for entry in DTYPES if entry.numpy == dtype)


def _cast(source: str, target: str, dtype: np.dtype) -> Node:
    attributes = {"to": _onnx_code(dtype)}
    return Node("Cast", (source,), (target,), version=CAST_VERSION, attributes=attributes)


def _rounded(constant: Constant, dtype: np.dtype) -> Constant:
    def compute(parameters: Parameters) -> Array:
        array = constant.compute(parameters)
        with np.errstate(over="ignore"):
            rounded = array.astype(dtype)
        grown = np.isfinite(array) & ~np.isfinite(rounded.astype(FLOAT32))
        limit = np.float32(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
        return np.where(grown, np.copysign(limit, array), rounded.astype(FLOAT32)).astype(dtype)

    kind = TensorType(dtype, constant.type.shape)
    return Constant(f"{constant.key} as {dtype.name}", kind, constant.params, compute)
