"""One operator with its data, as a model, and what ONNX Runtime makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import helper, numpy_helper

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Case:
    """A node and its inputs.

    Attributes:
        name: unique within the operator.
        op_type: operator.
        inputs: arrays, None where an input is left out.
        attributes: of the node.
        outputs: the dtype of each output; True for that of the first floats, or else of the first
            input; False for an output that is not asked for.
        constant: positions of inputs that are initializers.
        expected: ``(*inputs) -> outputs asked for`` in NumPy, from the operator's documentation;
            None where ONNX Runtime has the operator on the CPU.
        opset: of the standard domain.
    """

    name: str
    op_type: str
    inputs: Sequence[Array | None]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: Sequence[str | bool] = (True,)
    constant: frozenset[int] = frozenset()
    expected: Callable[..., Sequence[Array]] | None = None
    domain: str = "com.microsoft"
    opset: int = 17

    def __str__(self) -> str:
        return f"{self.op_type}-{self.name}"

    def model(self) -> onnx.ModelProto:
        """The node as a model."""
        given = [(f"in{i}", a) for i, a in enumerate(self.inputs) if a is not None]
        node = helper.make_node(
            self.op_type,
            [f"in{i}" if a is not None else "" for i, a in enumerate(self.inputs)],
            [f"out{i}" if asked else "" for i, asked in enumerate(self.outputs)],
            domain=self.domain,
            **self.attributes,
        )
        constants = {f"in{i}" for i in self.constant}
        graph = helper.make_graph(
            [node],
            "one",
            [
                helper.make_tensor_value_info(
                    name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape
                )
                for name, a in given
                if name not in constants
            ],
            [
                helper.make_tensor_value_info(
                    name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None
                )
                for name, dtype in zip(filter(None, node.output), self.dtypes(), strict=True)
            ],
            [numpy_helper.from_array(a, name) for name, a in given if name in constants],
        )
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def dtypes(self) -> list[str]:
        """Those of the outputs asked for."""
        given = [a.dtype for a in self.inputs if a is not None]
        own = ([dtype for dtype in given if dtype.kind == "f"] or given)[0].name
        return [own if asked is True else str(asked) for asked in self.outputs if asked]

    def fed(self) -> dict[str, Array]:
        """The inputs that a run takes."""
        return {
            f"in{i}": a
            for i, a in enumerate(self.inputs)
            if a is not None and i not in self.constant
        }

    def right(self) -> Sequence[Array]:
        """What the outputs are."""
        if self.expected is not None:
            exact = [None if a is None else _wide(a) for a in self.inputs]
            return [np.asarray(a) for a in self.expected(*exact)]
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(
            self.model().SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return list(session.run(None, self.fed()))


def _wide(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def normal(seed: int, *shape: int, dtype: str = "float32") -> Array:
    """Seeded normal data."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def whole(*numbers: Any, dtype: str = "int32") -> Array:
    """Integers."""
    return np.array(numbers, dtype)
