"""ONNX file in, a NumPy function on an NVIDIA GPU out, replayed as one CUDA-graph launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cugraphmodel.graph_model import CudaGraphModel
    from cugraphmodel.model import LoadedModel, load

__all__ = ["CudaGraphModel", "LoadedModel", "__version__", "errors", "load"]

__version__ = "0.1.0"

_HOMES = {
    "CudaGraphModel": "cugraphmodel.graph_model",
    "LoadedModel": "cugraphmodel.model",
    "errors": "cugraphmodel.errors",
    "load": "cugraphmodel.model",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import cugraphmodel`` costs little."""
    from importlib import import_module

    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'cugraphmodel' has no attribute {name!r}")
    module = import_module(home)
    value = module if name == "errors" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
