"""What is measured, and what something that is measured can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy.typing as npt

from cugraphmodel.ir import TensorType
from cugraphmodel.passes import Precision

__all__ = ["Contender", "Maker", "Task"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Task:
    """One model on one set of inputs.

    Attributes:
        model: path of an ONNX file.
        device: ``"cpu"``, ``"cuda:0"``, ...
        inputs: by name, in the file's order.
        outputs: name -> type of what is given back, in the file's order.
        precision: how exact products are.
        program: path of the same model as ``torch.export.save`` wrote it, or None.
    """

    model: str
    device: str
    inputs: Mapping[str, Array]
    outputs: Mapping[str, TensorType] = field(default_factory=dict)
    precision: Precision = "fp32"
    program: str | None = None

    @property
    def gpu(self) -> int | None:
        """Ordinal of the GPU, None for the CPU."""
        return int(self.device.removeprefix("cuda:")) if self.device.startswith("cuda") else None


class Contender(Protocol):
    """A model that is ready to run on the inputs of its task."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What else there is to tell: seconds, bytes, counts. Ready for JSON."""
        ...

    def run(self) -> list[Array]:
        """From the task's arrays to fresh arrays, one for each output."""
        ...

    def kernels_ms(self) -> float | None:
        """Milliseconds of the kernels of one run, None if it cannot tell."""
        ...


Maker = Callable[[Task], Contender]
"""Gets a model ready. Defined in a module, so that another process finds it."""
