"""Blocks of device memory and pinned host memory that are given back at once.

CuPy's pools are not used. The device pool rounds sizes up and keeps freed blocks from other
libraries; the pinned pool, which ``cupyx.empty_pinned`` takes from, never returns memory at all.
``cupy.cuda.Memory`` and ``cupy.cuda.PinnedMemory`` are plain ``cudaMalloc`` and ``cudaHostAlloc``,
freed when their last reference goes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.errors import DeviceMemoryError
from cugraphmodel.ir import TensorType

__all__ = ["DeviceBlock", "require_free", "zeroed_pinned"]

OUT_OF_MEMORY = 2
"""``cudaErrorMemoryAllocation``; CuPy has no name for it."""


class DeviceBlock:
    """Memory of the current device, exactly as large as asked for, undefined at first.

    Attributes:
        address: device address of the first byte, aligned to 256; 0 for an empty block.
        num_bytes: size.
    """

    def __init__(self, num_bytes: int) -> None:
        from cupy.cuda import Memory
        from cupy.cuda.runtime import CUDARuntimeError

        try:
            self._memory: Any = Memory(num_bytes)
        except CUDARuntimeError as error:
            if error.status != OUT_OF_MEMORY:
                raise
            raise _out_of_memory("GPU memory", num_bytes, _free_bytes()) from error
        self.address: int = self._memory.ptr
        self.num_bytes = num_bytes

    def free(self) -> None:
        """Give the memory back; nothing may use it any more."""
        self._memory = None


def require_free(num_bytes: int) -> None:
    """Check that the current device has ``num_bytes`` free.

    Raises:
        DeviceMemoryError: it has less.
    """
    free_bytes = _free_bytes()
    if free_bytes < num_bytes:
        raise _out_of_memory("GPU memory", num_bytes, free_bytes)


def zeroed_pinned(tensor_type: TensorType) -> npt.NDArray[Any]:
    """A writable array of zeros in pinned host memory, which lives as long as any view of it.

    Raises:
        DeviceMemoryError: the system cannot pin that much.
    """
    from cupy.cuda import PinnedMemory, PinnedMemoryPointer
    from cupy.cuda.runtime import CUDARuntimeError, hostAllocPortable

    if tensor_type.num_bytes == 0:
        return np.zeros(tensor_type.shape, tensor_type.dtype)
    try:
        memory = PinnedMemory(tensor_type.num_bytes, hostAllocPortable)
    except CUDARuntimeError as error:
        if error.status != OUT_OF_MEMORY:
            raise
        raise _out_of_memory("pinned host memory", tensor_type.num_bytes, None) from error
    pinned = np.frombuffer(PinnedMemoryPointer(memory, 0), tensor_type.dtype, tensor_type.size)
    pinned.fill(0)
    return pinned.reshape(tensor_type.shape)


def _free_bytes() -> int:
    from cupy.cuda import runtime

    free_bytes: int = runtime.memGetInfo()[0]
    return free_bytes


def _out_of_memory(kind: str, need_bytes: int, have_bytes: int | None) -> DeviceMemoryError:
    have = "" if have_bytes is None else f", {have_bytes:,} bytes are free"
    hint = (
        "Close graphs that are no longer needed, choose a smaller batch, or call "
        "cupy.get_default_memory_pool().free_all_blocks() if CuPy's pool holds memory."
        if kind == "GPU memory"
        else "Close graphs that are no longer needed, or choose a smaller batch."
    )
    return DeviceMemoryError(
        f"{need_bytes:,} bytes of {kind} are needed{have}. {hint}",
        need_bytes=need_bytes,
        have_bytes=have_bytes,
    )
