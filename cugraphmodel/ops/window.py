"""Windows that slide over spatial axes: the arithmetic that convolutions and pools share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.launch import ceil_div
from cugraphmodel.ops.spec import Unsupported

__all__ = ["MAX_SPATIAL_AXES", "Window", "axis_numbers", "checked_window", "output_window"]

MAX_SPATIAL_AXES = 3


@dataclass(frozen=True)
class Window:
    """Where a window stands for each output, one number per spatial axis in every attribute.

    Output ``o`` reads inputs ``o * stride - pad + k * dilation`` for ``0 <= k < kernel``; those
    outside ``[0, input)`` are padding.
    """

    input: tuple[int, ...]
    kernel: tuple[int, ...]
    output: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    pads_end: tuple[int, ...]

    @property
    def num_inputs(self) -> int:
        """Input positions of one channel."""
        return math.prod(self.input)

    @property
    def num_outputs(self) -> int:
        """Output positions of one channel."""
        return math.prod(self.output)

    @property
    def num_taps(self) -> int:
        """Positions in the window."""
        return math.prod(self.kernel)

    @property
    def is_identity(self) -> bool:
        """Whether output ``o`` reads input ``o`` alone."""
        in_step = all(
            size == 1 or stride == 1 for size, stride in zip(self.output, self.strides, strict=True)
        )
        return self.num_taps == 1 and self.input == self.output and in_step and not any(self.pads)

    @property
    def first_axis(self) -> int:
        """Axis of :meth:`struct` before which output 0 reads input 0, and there is no other."""
        axes = zip(self.input, self.kernel, self.output, self.pads, strict=True)
        ones = [max(sizes) == 1 and pad == 0 for *sizes, pad in axes]
        leading = ones.index(False) if False in ones else len(ones)
        return min(MAX_SPATIAL_AXES - len(ones) + leading, MAX_SPATIAL_AXES - 1)

    def grid_and_block(self, num_planes: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """Geometry of a thread for each output: blocks of one plane's, then planes."""
        threads = min(256, 32 * ceil_div(self.num_outputs, 32))
        return (ceil_div(self.num_outputs, threads) * num_planes, 1, 1), (threads, 1, 1)

    def struct(self, *more: int) -> npt.NDArray[np.int32]:
        """``struct Window`` of ``window.cuh``, with three axes, followed by more integers."""
        fill = MAX_SPATIAL_AXES - len(self.input)
        fields = (
            (self.input, 1),
            (self.kernel, 1),
            (self.output, 1),
            (self.strides, 1),
            (self.dilations, 1),
            (self.pads, 0),
            (self.pads_end, 0),
        )
        numbers = [size for field, one in fields for size in (*[one] * fill, *field)]
        return np.array([*numbers, *more], np.int32)


def output_window(
    attributes: Mapping[str, Any], spatial: Sequence[int], kernel: Sequence[int]
) -> Window:
    """The window of a Conv or pool node over an input of the given spatial shape.

    Reads ``strides``, ``dilations``, ``pads``, ``auto_pad`` and ``ceil_mode`` as the ONNX operator
    list defines them. VALID in ceil mode is padding of zero in ceil mode, as in ONNX's shape
    inference and ONNX Runtime; the operator's text can be read otherwise.
    """
    rank = len(spatial)
    kernel = axis_numbers("kernel_shape", kernel, rank, least=1)
    strides = axis_numbers("strides", attributes.get("strides", [1] * rank), rank, least=1)
    dilations = axis_numbers("dilations", attributes.get("dilations", [1] * rank), rank, least=1)
    extent = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
    auto_pad = attributes.get("auto_pad", "NOTSET")
    pads = [0] * (2 * rank)
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        output = tuple(map(ceil_div, spatial, strides))
        for axis in range(rank):
            total = (output[axis] - 1) * strides[axis] + extent[axis] - spatial[axis]
            less, more = max(total, 0) // 2, ceil_div(max(total, 0), 2)
            upper = auto_pad == "SAME_UPPER"
            pads[axis], pads[axis + rank] = (less, more) if upper else (more, less)
    elif auto_pad in ("NOTSET", "VALID", ""):
        if auto_pad != "VALID":
            pads = list(axis_numbers("pads", attributes.get("pads", pads), 2 * rank, least=0))
        ceil_mode = bool(attributes.get("ceil_mode", 0))
        output = tuple(
            _num_windows(
                spatial[axis], pads[axis], pads[axis + rank], extent[axis], strides[axis], ceil_mode
            )
            for axis in range(rank)
        )
    else:
        raise Unsupported(
            f"auto_pad={auto_pad!r} is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID."
        )
    begin, end = tuple(pads[:rank]), tuple(pads[rank:])
    return checked_window(Window(tuple(spatial), kernel, output, strides, dilations, begin, end))


def checked_window(window: Window) -> Window:
    """The window, if the kernels' 32-bit positions can express it."""
    rank = len(window.input)
    if not 1 <= rank <= MAX_SPATIAL_AXES:
        raise Unsupported(f"It has {rank} spatial axes; 1 to {MAX_SPATIAL_AXES} are supported.")
    extent = max(k * d for k, d in zip(window.kernel, window.dilations, strict=True))
    sizes = max(*window.input, *window.output) * max(window.strides)
    reach = extent + max(window.pads) + sizes
    if max(window.num_inputs, window.num_outputs, window.num_taps, reach) >= 2**30:
        raise Unsupported(
            "One channel of it, or the reach of its window, is 2^30 or more elements."
        )
    return window


def axis_numbers(name: str, values: Sequence[int], count: int, least: int) -> tuple[int, ...]:
    """An attribute with one number (or two) an axis, none below ``least``."""
    numbers = tuple(int(value) for value in values)
    if len(numbers) != count or min(numbers, default=least) < least:
        raise Unsupported(f"{name}={list(numbers)} is not {count} numbers from {least} up.")
    return numbers


def _num_windows(
    size: int, pad: int, pad_end: int, extent: int, stride: int, ceil_mode: bool
) -> int:
    """Windows along one axis. In ceil mode, those that start in the end padding are dropped."""
    room = size + pad + pad_end - extent
    if room < 0:
        raise Unsupported(
            f"A window of {extent} does not fit into {size} positions padded by {pad} + {pad_end}."
        )
    if not ceil_mode:
        return room // stride + 1
    return min(ceil_div(room, stride) + 1, ceil_div(size + pad, stride))
