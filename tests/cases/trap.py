"""What a trap is, and how the modules beside this one list theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx

Array = npt.NDArray[Any]
Made: TypeAlias = "tuple[onnx.ModelProto, dict[str, Array], Sequence[Array]]"
"""A model, its inputs by name, and its outputs."""


@dataclass(frozen=True, eq=False)
class Trap:
    """A model that is easily got wrong.

    Attributes:
        name: of the function that makes it; its docstring says what goes wrong.
        reports: issues that report it, as ``owner/repository#number``.
        make: the model with its data and the right answer, written out or computed in NumPy from
            the operator's definition.
    """

    name: str
    reports: tuple[str, ...]
    make: Callable[[], Made]


TRAPS: list[Trap] = []


def trap(*reports: str) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    """Adds the function to :data:`TRAPS`."""

    def add(make: Callable[[], Made]) -> Callable[[], Made]:
        TRAPS.append(Trap(make.__name__, reports, make))
        return make

    return add


def floats(*values: Any) -> Array:
    """A float32 array of numbers or nested lists."""
    return np.array(values, np.float32)


def counting(*shape: int) -> Array:
    """0, 1, 2, ... in float32, in that shape."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
