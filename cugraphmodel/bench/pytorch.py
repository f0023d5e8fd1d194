"""PyTorch as a contender: a program of ``torch.export`` that computes what the model does.

It takes the model's inputs in the file's order, and its tensors are the model's outputs in order.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from cugraphmodel.bench.task import Array, Task

__all__ = ["TorchCompiled", "TorchEager", "TorchGraph"]

REPLAYS = 10


class TorchEager:
    """The program operator by operator, from NumPy arrays and back."""

    def __init__(self, task: Task) -> None:
        import torch

        start = time.perf_counter()
        self._call = _loaded(task)
        self._device = task.device
        self._inputs = [torch.from_numpy(array) for array in task.inputs.values()]
        self.run()
        self.facts: dict[str, Any] = {"prepare_seconds": time.perf_counter() - start}

    def run(self) -> list[Array]:
        """Copies in, the program, copies out."""
        import torch

        with torch.inference_mode():
            outputs = _tensors(self._call(*[x.to(self._device) for x in self._inputs]))
            return [y.cpu().numpy() for y in outputs]

    def kernels_ms(self) -> float | None:
        """Its launches leave gaps that are no kernel's."""
        return None


class TorchGraph:
    """One CUDA graph of the program with its copies from and to pinned memory."""

    def __init__(self, task: Task) -> None:
        import torch

        if task.gpu is None:
            raise RuntimeError("a CUDA graph needs a GPU")
        start = time.perf_counter()
        call = self.compiled(_loaded(task))
        self._arrays = [torch.from_numpy(array) for array in task.inputs.values()]
        self._pinned = [x.pin_memory() for x in self._arrays]
        device = self._on_device = [x.to(task.device) for x in self._arrays]
        with torch.inference_mode():
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                for _ in range(3):
                    outputs = _tensors(call(*device))
            torch.cuda.synchronize()
            self._results = [torch.empty(y.shape, dtype=y.dtype).pin_memory() for y in outputs]
            self._graph, self._kernels = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                for target, source in zip(device, self._pinned, strict=True):
                    target.copy_(source, non_blocking=True)
                for target, source in zip(self._results, _tensors(call(*device)), strict=True):
                    target.copy_(source, non_blocking=True)
            with torch.cuda.graph(self._kernels):
                self._kept = call(*device)
        self.run()
        self.facts: dict[str, Any] = {
            "prepare_seconds": time.perf_counter() - start,
            "device_bytes": torch.cuda.memory_allocated(),
        }

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """What is captured."""
        return call

    def run(self) -> list[Array]:
        """Into pinned memory, one launch, one wait, and out of it."""
        import torch

        for pinned, array in zip(self._pinned, self._arrays, strict=True):
            pinned.copy_(array)
        self._graph.replay()
        torch.cuda.current_stream().synchronize()
        return [result.numpy().copy() for result in self._results]

    def kernels_ms(self) -> float:
        """Of a graph without the copies, the mean of some replays one after the other."""
        import torch

        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(REPLAYS):
            self._kernels.replay()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / REPLAYS


class TorchCompiled(TorchGraph):
    """The same of what ``torch.compile`` makes of the program."""

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Tuned as far as it goes."""
        import torch

        tuned: Callable[..., Any] = torch.compile(call, mode="max-autotune-no-cudagraphs")
        return tuned


def _loaded(task: Task) -> Callable[..., Any]:
    """The program on the task's device, in its precision."""
    import torch
    from torch.export.passes import move_to_device_pass

    allow = task.precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allow
    torch.backends.cudnn.benchmark = True
    if task.gpu is not None:
        torch.cuda.set_device(task.gpu)
    program = move_to_device_pass(torch.export.load(task.program), task.device)
    call: Callable[..., Any] = program.module()
    return call


def _tensors(result: Any) -> list[Any]:
    from torch.utils import _pytree

    leaves: list[Any] = _pytree.tree_leaves(result)
    return leaves
