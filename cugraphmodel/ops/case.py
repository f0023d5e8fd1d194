"""A test case of an operator, as plain data. Each family lists its cases in ``*_cases.py``.

Used by tests only; nothing in the library imports the lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import kind_of

__all__ = ["OpCase"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class OpCase:
    """One node with its input data and the right answer.

    Attributes:
        name: unique within the operator, e.g. ``"negative_axis"``.
        op_type: operator.
        inputs: arrays, None where an optional input is left out.
        attributes: as in :class:`cugraphmodel.ir.Node`.
        opset: version of the domain the node lives in.
        constant_inputs: positions of inputs that are initializers rather than graph inputs.
        num_outputs: outputs the node declares.
        expected: ``(*inputs) -> outputs`` in NumPy, written from the operator's definition, best
            in float64. None: the test takes ``onnx.reference``, which must then be right here.
        rtol, atol: bounds on ``|got - expected|`` as in ``numpy.allclose``, ``atol`` scaled by
            the largest magnitude of the expected output. Integer and bool outputs must be equal.
            None: 1e-5 and 1e-6; 1e-13 and 1e-14 for a float64 output.
        slow: left out unless slow tests are asked for.
    """

    name: str
    op_type: str
    inputs: Sequence[Array | None]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    opset: int = 17
    constant_inputs: frozenset[int] = frozenset()
    num_outputs: int = 1
    expected: Callable[..., Sequence[Array]] | None = None
    rtol: float | None = None
    atol: float | None = None
    domain: str = ""
    slow: bool = False

    def __str__(self) -> str:
        return f"{self.op_type}-{self.name}-{self.opset}"

    @staticmethod
    def random(seed: int, *shape: int, dtype: str = "float32") -> Array:
        """Normal data (rounded for integers, a coin for bool), the same for one seed."""
        data = np.random.default_rng(seed).standard_normal(shape)
        if kind_of(np.dtype(dtype)) == "b":
            return data > 0
        return (data * (10 if kind_of(np.dtype(dtype)) in "iu" else 1)).astype(dtype)
