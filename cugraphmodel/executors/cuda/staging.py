"""Moving inputs and outputs between pinned host memory and the GPU, as part of the graph.

A copy node of a graph costs several microseconds however little it moves. Small tensors therefore
go through one kernel, which reads or writes pinned memory itself; large ones through copy nodes,
which leave the multiprocessors alone. On an H200, a graph of two tiny kernels with 4 KiB in and
4 KiB out took 20.3 us from launch to wait with copy nodes and 10.2 us when the kernels did the
copying; with 256 KiB, 27.2 and 20.5 us; with 8 MiB, 331 and 335 us.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cugraphmodel.executors.cuda.work import BoundLaunch, Command, pack
from cugraphmodel.ops.launch import Launch, ceil_div

__all__ = ["COPY_KERNEL", "Copy", "bind_copies"]

MAX_KERNEL_COPY_BYTES = 256 * 1024
COPIES_PER_LAUNCH = 8
THREADS_PER_BLOCK = 256
BYTES_PER_THREAD = 16

COPY_KERNEL = Launch(
    "executors/cuda/staging.cu",
    "copy_blocks",
    (1, 1, 1),
    (THREADS_PER_BLOCK, 1, 1),
    (np.zeros((3, COPIES_PER_LAUNCH), np.int64),),
)
"""The kernel of all small copies, as it would be launched to copy nothing."""


@dataclass(frozen=True)
class Copy:
    """Bytes to move between pinned memory and the GPU.

    Attributes:
        target, source: addresses, multiples of 16 unless fewer than 16 bytes are moved.
        num_bytes: how many.
    """

    target: int
    source: int
    num_bytes: int


@dataclass(frozen=True)
class CopyNode:
    """A copy by the GPU's copy engine."""

    copy: Copy
    to_device: bool

    def issue(self, stream: Any) -> None:
        """Put the copy on a stream."""
        from cupy.cuda import runtime

        kind = runtime.memcpyHostToDevice if self.to_device else runtime.memcpyDeviceToHost
        copy = self.copy
        runtime.memcpyAsync(copy.target, copy.source, copy.num_bytes, kind, stream.ptr)


def bind_copies(copies: Sequence[Copy], kernel: Any, *, to_device: bool) -> Iterator[Command]:
    """Commands that make all copies; the order among them does not matter.

    Args:
        copies: copies of 0 bytes are left out.
        kernel: the ``cupy.RawKernel`` of :data:`COPY_KERNEL`.
        to_device: whether they go from the host to the GPU, or back.
    """
    small = [copy for copy in copies if 0 < copy.num_bytes <= MAX_KERNEL_COPY_BYTES]
    for start in range(0, len(small), COPIES_PER_LAUNCH):
        yield _launch(small[start : start + COPIES_PER_LAUNCH], kernel, to_device)
    for copy in copies:
        if copy.num_bytes > MAX_KERNEL_COPY_BYTES:
            yield CopyNode(copy, to_device)


def _launch(copies: Sequence[Copy], kernel: Any, to_device: bool) -> BoundLaunch:
    table = np.zeros((3, COPIES_PER_LAUNCH), np.int64)
    for column, copy in enumerate(copies):
        table[:, column] = copy.target, copy.source, copy.num_bytes
    largest = max(copy.num_bytes for copy in copies)
    launch = Launch(
        COPY_KERNEL.source,
        COPY_KERNEL.entry,
        (ceil_div(largest, BYTES_PER_THREAD * THREADS_PER_BLOCK), len(copies), 1),
        COPY_KERNEL.block,
        (table,),
    )
    label = "copying the inputs" if to_device else "copying the outputs"
    return BoundLaunch(label, launch, kernel, (pack(table.tobytes()),))
