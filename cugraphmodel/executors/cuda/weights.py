"""The constants of one model on one GPU, shared by its graphs."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.arena import align
from cugraphmodel.errors import ParameterError
from cugraphmodel.executors.cuda.memory import DeviceBlock
from cugraphmodel.ir import Constant, Parameters

if TYPE_CHECKING:
    from cugraphmodel.executors.cuda.device import CudaDevice

__all__ = ["CudaWeightStore", "Weight"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Weight:
    """One constant on the device. Whoever uses it holds it; its block lives until none is held."""

    constant: Constant
    block: DeviceBlock
    address: int


class CudaWeightStore:
    """Holds each constant (by ``Constant.key``) once, as long as some executable uses it."""

    def __init__(self, device: CudaDevice) -> None:
        self.device = device
        self._weights: weakref.WeakValueDictionary[str, Weight] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    @property
    def num_bytes(self) -> int:
        """Bytes held on the device now."""
        blocks = {id(weight.block): weight.block for weight in self._weights.values()}
        return sum(block.num_bytes for block in blocks.values())

    def missing_bytes(self, constants: Iterable[Constant]) -> int:
        """Bytes that :meth:`acquire` would allocate."""
        wanted = {constant.key: constant for constant in constants}
        return sum(
            align(constant.type.num_bytes)
            for key, constant in wanted.items()
            if key not in self._weights
        )

    def acquire(
        self, constants: Iterable[Constant], parameters: Parameters, stream: Any
    ) -> dict[str, Weight]:
        """Weights by key, those that are missing uploaded; the device has them on return.

        Args:
            constants: what is needed; one key may occur several times.
            parameters: what the constants are computed from.
            stream: CuPy stream to copy on.

        Raises:
            DeviceMemoryError: the missing ones do not fit.
        """
        wanted = {constant.key: constant for constant in constants}
        with self._lock:
            found = {key: self._weights.get(key) for key in wanted}
            held = {key: weight for key, weight in found.items() if weight is not None}
            missing = [wanted[key] for key in wanted if key not in held]
            block = DeviceBlock(sum(align(constant.type.num_bytes) for constant in missing))
            try:
                fresh = _upload(missing, parameters, block, stream)
            except BaseException:
                block.free()
                raise
            self._weights.update(fresh)
            return held | fresh

    def update(self, constants: Mapping[str, Array]) -> None:
        """Overwrite constants in place; returns when the device has them.

        Args:
            constants: key -> array of the constant's dtype and shape. Keys that are not on the
                device are left out.

        Raises:
            ParameterError: an array does not have the constant's dtype and size; the constants
                before it are already replaced.
        """
        from cupy.cuda import Stream

        with self.device.current(), self._lock:
            stream = Stream(non_blocking=True)
            for key, array in constants.items():
                weight = self._weights.get(key)
                if weight is not None:
                    _copy(weight, array, stream)


def _upload(
    constants: list[Constant], parameters: Parameters, block: DeviceBlock, stream: Any
) -> dict[str, Weight]:
    """Place constants one after the other in a block. At most one is in host memory at a time."""
    weights: dict[str, Weight] = {}
    address = block.address
    for constant in constants:
        weight = Weight(constant, block, address)
        _copy(weight, constant.compute(parameters), stream)
        weights[constant.key] = weight
        address += align(constant.type.num_bytes)
    return weights


def _copy(weight: Weight, array: Array, stream: Any) -> None:
    """Copy to the device and wait, so that the caller may drop the array."""
    from cupy.cuda import runtime

    expected = weight.constant.type
    if array.dtype != expected.dtype or array.nbytes != expected.num_bytes:
        raise ParameterError(
            f"Constant {weight.constant.key!r} is {expected}, but what replaces it is "
            f"{array.dtype.name}{list(array.shape)}."
        )
    if array.nbytes == 0:
        return
    source = np.ascontiguousarray(array)
    runtime.memcpyAsync(
        weight.address,
        source.ctypes.data,
        source.nbytes,
        runtime.memcpyHostToDevice,
        stream.ptr,
    )
    stream.synchronize()
