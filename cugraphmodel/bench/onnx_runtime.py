"""ONNX Runtime as a contender."""

from __future__ import annotations

import time
from typing import Any

from cugraphmodel.bench.task import Array, Task

__all__ = ["OrtBound", "OrtGraph", "OrtRun", "open_session"]


class OrtRun:
    """``InferenceSession.run`` on the CPU."""

    def __init__(self, task: Task) -> None:
        start = time.perf_counter()
        self._session = open_session(task.model, "CPUExecutionProvider", {})
        self._inputs = dict(task.inputs)
        self.run()
        self.facts = {"prepare_seconds": time.perf_counter() - start}

    def run(self) -> list[Array]:
        """One call."""
        outputs: list[Array] = self._session.run(None, self._inputs)
        return outputs

    def kernels_ms(self) -> float | None:
        """It does not tell."""
        return None


class OrtBound:
    """On a GPU, with inputs and outputs bound to memory there."""

    graph = False

    def __init__(self, task: Task) -> None:
        import onnxruntime

        start = time.perf_counter()
        options = {
            "device_id": str(task.gpu),
            "use_tf32": str(int(task.precision == "tf32")),
            "cudnn_conv_algo_search": "EXHAUSTIVE",
            "enable_cuda_graph": str(int(self.graph)),
        }
        self._session = open_session(task.model, "CUDAExecutionProvider", options)
        self._binding = self._session.io_binding()
        make = onnxruntime.OrtValue
        self._inputs = []
        for name, array in task.inputs.items():
            value = make.ortvalue_from_numpy(array, "cuda", task.gpu)
            self._binding.bind_ortvalue_input(name, value)
            self._inputs.append((value, array))
        self._outputs = []
        for name, kind in task.outputs.items():
            value = make.ortvalue_from_shape_and_type(kind.shape, kind.dtype.type, "cuda", task.gpu)
            self._binding.bind_ortvalue_output(name, value)
            self._outputs.append(value)
        self.run()
        self.facts = {"prepare_seconds": time.perf_counter() - start}

    def run(self) -> list[Array]:
        """Copy in, run, copy out."""
        for value, array in self._inputs:
            value.update_inplace(array)
        self._session.run_with_iobinding(self._binding)
        return [value.numpy() for value in self._outputs]

    def kernels_ms(self) -> float | None:
        """It does not tell."""
        return None


class OrtGraph(OrtBound):
    """The same, replaying the CUDA graph that ONNX Runtime captured."""

    graph = True


def open_session(
    model: str | bytes, provider: str, options: dict[str, str], *, optimize: bool = True
) -> Any:
    """A session that runs on the provider and says so if it cannot.

    Raises:
        RuntimeError: ONNX Runtime would have taken another provider.
    """
    import onnxruntime

    if provider != "CPUExecutionProvider" and hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    if not optimize:
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, settings, providers=[(provider, options)])
    if session.get_providers()[0] != provider:
        raise RuntimeError(f"onnxruntime {onnxruntime.__version__} cannot use {provider}")
    return session
