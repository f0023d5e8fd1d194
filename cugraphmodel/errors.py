"""Every exception that cugraphmodel raises on purpose.

    CuGraphModelError
    ├── ModelLoadError (ValueError)            the file is not a model that can be read
    │   └── UnsupportedModelError              readable, but some nodes cannot run; all are listed
    ├── ArgumentError (ValueError)             names something that does not exist, or conflicts
    │   ├── ShapeError                         a shape is wrong, or a dimension stayed open
    │   └── PositionError (IndexError)         an index outside the nodes, inputs or outputs
    ├── DtypeError (TypeError)                 an array of another dtype, or not an array
    ├── DataIndexError (IndexError)            a run met index data outside the tensor it indexes
    ├── DeviceUnavailableError (RuntimeError)  the device is absent or cannot be used
    ├── CompilerNotFoundError (RuntimeError)   no C++ compiler for the CPU device
    ├── KernelCompileError (RuntimeError)      a kernel does not compile; carries source and log
    ├── KernelError (RuntimeError)             a kernel was launched wrongly, or hung or trapped
    │   └── KernelCheckError                   the check mode found a fault in a kernel
    ├── DeviceMemoryError (MemoryError)        a graph needs more memory than the device has free
    ├── CaptureError (RuntimeError)            warm-up or capture failed; names the step
    ├── GraphClosedError (RuntimeError)        a graph was used after close()
    ├── ParameterError (ValueError)            no such parameter, or shapes depend on it
    └── SettingsError (ValueError)             an environment variable that means nothing

Each is also the built-in exception a caller would expect, and carries its facts as attributes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "ArgumentError",
    "CaptureError",
    "CompilerNotFoundError",
    "CuGraphModelError",
    "DataIndexError",
    "DeviceMemoryError",
    "DeviceUnavailableError",
    "DtypeError",
    "GraphClosedError",
    "KernelCheckError",
    "KernelCompileError",
    "KernelError",
    "ModelLoadError",
    "NodeProblem",
    "ParameterError",
    "PositionError",
    "SettingsError",
    "ShapeError",
    "UnsupportedModelError",
]


class CuGraphModelError(Exception):
    """Base of all errors of this library.

    Keyword arguments become attributes, so that a program need not read the text.
    """

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        for name, value in facts.items():
            setattr(self, name, value)


class ModelLoadError(CuGraphModelError, ValueError):
    """The bytes are not an ONNX model that can be read and checked."""


@dataclass(frozen=True)
class NodeProblem:
    """Why one node cannot run.

    Attributes:
        index: position in the file's ``graph.node``.
        name: the node's name, possibly empty.
        op_type: operator.
        domain: operator domain, ``""`` for the standard one.
        opset: version of that domain which the model imports.
        reason: what is at fault, and what would help.
    """

    index: int
    name: str
    op_type: str
    domain: str
    opset: int
    reason: str

    def __str__(self) -> str:
        op = f"{self.domain}.{self.op_type}" if self.domain else self.op_type
        label = f"{self.name!r} " if self.name else ""
        return f"node {self.index} {label}({op}, opset {self.opset}): {self.reason}"


class UnsupportedModelError(ModelLoadError):
    """The model is readable, but parts of it cannot run. ``problems`` lists all of them."""

    def __init__(self, model_name: str, problems: tuple[NodeProblem | str, ...]) -> None:
        noun = "problem" if len(problems) == 1 else "problems"
        lines = "\n".join(f"  {problem}" for problem in problems)
        super().__init__(f"{model_name} cannot run, {len(problems)} {noun}:\n{lines}")
        self.model_name = model_name
        self.problems = problems

    def __reduce__(self) -> tuple[type, tuple[str, tuple[NodeProblem | str, ...]]]:
        return type(self), (self.model_name, self.problems)


class ArgumentError(CuGraphModelError, ValueError):
    """An argument names something that does not exist, or contradicts another."""


class ShapeError(ArgumentError):
    """A shape differs from what is needed, or a dimension of the model stayed open."""


class PositionError(ArgumentError, IndexError):
    """An index lies outside the nodes of a model, or the inputs or outputs of a graph."""


class DtypeError(CuGraphModelError, TypeError):
    """A value is not an array, or an array of another dtype. Nothing is converted silently."""


class DataIndexError(CuGraphModelError, IndexError):
    """Index data of a run (Gather and kin) lay outside the tensor. The graph stays usable."""


class DeviceUnavailableError(CuGraphModelError, RuntimeError):
    """The device asked for is absent, broken, or not usable in this process."""


class CompilerNotFoundError(CuGraphModelError, RuntimeError):
    """The CPU device needs a C++ compiler and found none."""


class KernelCompileError(CuGraphModelError, RuntimeError):
    """A kernel does not compile. Attributes: ``source``, ``options``, ``log``."""


class KernelError(CuGraphModelError, RuntimeError):
    """A kernel's arguments do not fit its signature, or its threads deadlocked or trapped."""


class KernelCheckError(KernelError):
    """The check mode of the CPU device found a fault in a kernel. The graph stays usable.

    What a finding is not about is None.

    Attributes:
        kind: ``"memcheck"`` (out of bounds, misaligned), ``"racecheck"``, ``"initcheck"`` (memory
            that nobody wrote), ``"synccheck"`` (barriers, warp operations) or ``"ubcheck"``
            (undefined behaviour of C++).
        kernel: entry point.
        block, thread: their indices, as in CUDA.
        memory: the argument or shared array.
        file, line: in the kernel's source.
    """


class DeviceMemoryError(CuGraphModelError, MemoryError):
    """A graph needs more memory than is free. Attributes: ``need_bytes``, ``have_bytes``."""


class CaptureError(CuGraphModelError, RuntimeError):
    """Warm-up or capture failed. The device stays usable."""


class GraphClosedError(CuGraphModelError, RuntimeError):
    """The graph was closed; capture it again."""


class ParameterError(CuGraphModelError, ValueError):
    """A parameter that does not exist, does not fit, or that captured shapes depend on."""


class SettingsError(CuGraphModelError, ValueError):
    """An environment variable holds a value that means nothing."""
