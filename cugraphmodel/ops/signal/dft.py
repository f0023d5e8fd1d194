"""DFT and STFT: Fourier transforms along one axis, of any length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, check_dtype, normalize_axis, optional, required
from cugraphmodel.ops.launch import MAX_SHARED_BYTES, Launch, Workspace, ceil_div
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__ = ["radices"]

Values = Sequence[Value | None]
THREADS = 256
NUMBER_BYTES = 16
"""A complex number in double."""
BLOCK_ELEMENTS = 1024
"""Elements that a block transforms at once if lines are short."""
ENOUGH_BLOCKS = 132
"""Multiprocessors of an H200."""


@dataclass(frozen=True)
class _Layout:
    """Where lines lie, in scalars: see ``Layout`` in ``dft.cuh``."""

    outer_stride: int
    inner_stride: int
    step: int


@dataclass(frozen=True)
class _Transform:
    """Transforms of many lines: ``Lines`` in ``dft.cuh`` and the macros beside it."""

    num_lines: int
    inner_lines: int
    input: _Layout
    output: _Layout
    length: int
    input_size: int
    output_size: int
    complex_input: bool
    half_input: bool
    inverse: bool

    def struct(self) -> npt.NDArray[np.int64]:
        layouts = [
            number
            for layout in (self.input, self.output)
            for number in (layout.outer_stride, layout.inner_stride, layout.step)
        ]
        numbers = [self.num_lines, self.inner_lines, *layouts]
        return np.array([*numbers, self.length, self.input_size, self.output_size], np.int64)


# ---- DFT


def _infer_dft(node: Node, inputs: Values) -> list[TensorType]:
    x = required(inputs)
    transform = _dft(node, x)
    axis = _axis(node, x)
    shape = [*x.shape[:-1], 1 if transform.half_input else 2]
    shape[axis] = transform.output_size
    return [TensorType(x.dtype, tuple(shape))]


def _axis(node: Node, x: Value) -> int:
    default = 1 if node.version < 20 else -2
    given = node.host_values[2].item() if 2 in node.host_values else None
    axis = normalize_axis(
        int(node.attributes.get("axis", default) if given is None else given), len(x.shape)
    )
    if axis == len(x.shape) - 1:
        raise Unsupported("The last axis holds real and imaginary parts; it cannot be transformed.")
    return axis


def _dft(node: Node, x: Value) -> _Transform:
    check_dtype(x, FLOATS)
    if len(x.shape) < 2 or x.shape[-1] not in (1, 2):
        raise Unsupported(f"The last axis of {x} does not hold 1 or 2 parts of a number.")
    axis = _axis(node, x)
    inverse = bool(node.attributes.get("inverse", 0))
    onesided = bool(node.attributes.get("onesided", 0))
    is_complex = x.shape[-1] == 2
    if onesided and not inverse and is_complex:
        raise Unsupported("Half a spectrum (onesided=1) says all only of real input.")
    half_input = onesided and inverse
    length = 2 * (x.shape[axis] - 1) if half_input else x.shape[axis]
    if 1 in node.host_values:
        length = int(node.host_values[1].item())
    if length < 1:
        raise Unsupported(f"A transform of length {length} is none.")
    half = length // 2 + 1
    parts_in, parts_out = x.shape[-1], 1 if half_input else 2
    output_size = half if onesided and not inverse else length
    inner = math.prod(x.shape[axis + 1 : -1])
    return _Transform(
        num_lines=math.prod(x.shape[:axis]) * inner,
        inner_lines=inner,
        input=_Layout(x.shape[axis] * inner * parts_in, parts_in, inner * parts_in),
        output=_Layout(output_size * inner * parts_out, parts_out, inner * parts_out),
        length=length,
        input_size=min(x.shape[axis], half if half_input else length),
        output_size=output_size,
        complex_input=is_complex,
        half_input=half_input,
        inverse=inverse,
    )


def _lower_dft(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    x = required(inputs)
    return _launches(_dft(node, x), x, None, required(outputs))


# ---- STFT


def _infer_stft(node: Node, inputs: Values) -> list[TensorType]:
    """[batch, frames, bins, 2]."""
    signal = required(inputs)
    transform = _stft(node, signal, optional(inputs, 2))
    shape = (signal.shape[0], transform.inner_lines, transform.output_size, 2)
    return [TensorType(signal.dtype, shape)]


def _stft(node: Node, signal: Value, window: Value | None) -> _Transform:
    check_dtype(signal, FLOATS)
    if len(signal.shape) != 3 or signal.shape[-1] not in (1, 2):
        raise Unsupported(f"{signal} is not [batch, length, 1 or 2 parts of a number].")
    size, parts = signal.shape[1:]
    onesided = bool(node.attributes.get("onesided", 1))
    if onesided and parts == 2:
        raise Unsupported("Half a spectrum (onesided=1) says all only of a real signal.")
    length = window.shape[0] if window is not None and window.shape else size
    if 3 in node.host_values:
        length = int(node.host_values[3].item())
    if window is not None:
        check_dtype(window, (signal.dtype,))
        if window.shape != (length,):
            raise Unsupported(f"{window} does not fit frames of {length}.")
    step = int(node.host_values[1].item()) if 1 in node.host_values else 0
    if step < 1 or not 1 <= length <= size:
        raise Unsupported(f"Frames of {length} every {step} elements do not fit {signal}.")
    frames = (size - length) // step + 1
    bins = length // 2 + 1 if onesided else length
    return _Transform(
        num_lines=signal.shape[0] * frames,
        inner_lines=frames,
        input=_Layout(size * parts, step * parts, parts),
        output=_Layout(frames * bins * 2, bins * 2, 2),
        length=length,
        input_size=length,
        output_size=bins,
        complex_input=parts == 2,
        half_input=False,
        inverse=False,
    )


def _lower_stft(node: Node, inputs: Values, outputs: Values) -> list[Launch]:
    signal, window = required(inputs), optional(inputs, 2)
    return _launches(_stft(node, signal, window), signal, window, required(outputs))


# ---- Both


def radices(length: int) -> list[int]:
    """Factors of a length: odd primes, fours, then a two.

    In this order the bins 0 and length / 2 of real input are sums and differences alone, so that
    their imaginary parts are 0 and not a rounding error.
    """
    evens = []
    for radix in (4, 2):
        while length % radix == 0:
            evens.append(radix)
            length //= radix
    factors = []
    odd = 3
    while odd * odd <= length:
        while length % odd == 0:
            factors.append(odd)
            length //= odd
        odd += 2
    return [*factors, *([length] if length > 1 else []), *evens]


def _launches(transform: _Transform, x: Value, window: Value | None, y: Value) -> list[Launch]:
    if y.size == 0:
        return []
    macros = (
        ("SCALAR", c_type(x.dtype)),
        ("COMPLEX_INPUT", str(int(transform.complex_input))),
        ("HALF_INPUT", str(int(transform.half_input))),
        ("REAL_OUTPUT", str(int(transform.half_input))),
        ("INVERSE", str(int(transform.inverse))),
        ("WINDOWED", str(int(window is not None))),
    )
    if 3 * transform.length * NUMBER_BYTES <= MAX_SHARED_BYTES:
        return [_launch_lines(transform, x, window, y, macros)]
    return _launch_stages(transform, x, window, y, macros)


def _launch_lines(
    transform: _Transform,
    x: Value,
    window: Value | None,
    y: Value,
    macros: tuple[tuple[str, str], ...],
) -> Launch:
    lines = max(1, BLOCK_ELEMENTS // transform.length)
    lines = min(lines, ceil_div(transform.num_lines, ENOUGH_BLOCKS))
    factors = radices(transform.length)
    return Launch(
        source="ops/signal/dft_lines.cu",
        entry="dft_lines",
        grid=(ceil_div(transform.num_lines, lines), 1, 1),
        block=(THREADS, 1, 1),
        args=(
            *(x, window, y, transform.struct()),
            np.uint64(sum(factor << 10 * stage for stage, factor in enumerate(factors))),
            np.int32(lines),
            np.int32(transform.input.step > transform.input.inner_stride),
        ),
        macros=macros,
        shared_bytes=(2 * lines + 1) * transform.length * NUMBER_BYTES,
    )


def _launch_stages(
    transform: _Transform,
    x: Value,
    window: Value | None,
    y: Value,
    macros: tuple[tuple[str, str], ...],
) -> list[Launch]:
    length, factors = transform.length, radices(transform.length)
    roots = Workspace(length * NUMBER_BYTES)
    scratch = [Workspace(transform.num_lines * length * NUMBER_BYTES) for _ in range(2)]
    source = "ops/signal/dft_stage.cu"
    block = (THREADS, 1, 1)
    flags = (("FIRST", "0"), ("LAST", "0"), ("RADIX", "0"))
    grid = (ceil_div(length, THREADS), 1, 1)
    args = (roots, np.int64(length))
    launches = [Launch(source, "dft_roots", grid, block, args, (*macros, *flags))]
    stride = 1
    for stage, radix in enumerate(factors):
        is_first, is_last = stage == 0, stage == len(factors) - 1
        count = transform.num_lines * (length // radix if radix in (2, 4) else length)
        launches.append(
            Launch(
                source,
                "dft_stage",
                (ceil_div(count, THREADS), 1, 1),
                block,
                (
                    *(x if is_first else None, window if is_first else None),
                    *(y if is_last else None, roots),
                    *(None if is_first else scratch[stage % 2],),
                    *(None if is_last else scratch[(stage + 1) % 2],),
                    *(transform.struct(), np.int64(stride), np.int32(radix), np.int64(count)),
                ),
                (
                    *macros,
                    ("FIRST", str(int(is_first))),
                    ("LAST", str(int(is_last))),
                    ("RADIX", str(radix if radix in (2, 4) else 0)),
                ),
            )
        )
        stride *= radix
    return launches


register(
    OpSpec("DFT", 17, _infer_dft, _lower_dft, host_inputs=(1,)),
    OpSpec("DFT", 20, _infer_dft, _lower_dft, host_inputs=(1, 2)),
    OpSpec("STFT", 17, _infer_stft, _lower_stft, host_inputs=(1, 3)),
)
