"""Cases of DFT and STFT."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.ops.case import OpCase

__all__ = ["CASES"]

Array = npt.NDArray[Any]


def _complex(x: Array) -> Array:
    wide = x.astype(np.float64)
    return wide[..., 0] + (1j * wide[..., 1] if x.shape[-1] == 2 else 0j)


def _parts(z: Array) -> Array:
    return np.stack([z.real, z.imag], -1)


def _dft(
    name: str,
    shape: tuple[int, ...],
    axis: int,
    length: int | None = None,
    *,
    opset: int = 20,
    inverse: int = 0,
    onesided: int = 0,
    dtype: str = "float32",
) -> OpCase:
    """The last dimension of ``shape`` holds the parts of a number."""

    def expected(x: Array, *_rest: Array | None) -> list[Array]:
        z, along = _complex(x), axis % x.ndim
        if onesided and inverse:
            return [np.fft.irfft(z, length, along)[..., None]]
        if inverse:
            return [_parts(np.fft.ifft(z, length, along))]
        if onesided:
            return [_parts(np.fft.rfft(z.real, length, along))]
        return [_parts(np.fft.fft(z, length, along))]

    inputs: list[Array | None] = [OpCase.random(1, *shape, dtype=dtype)]
    attributes = {"inverse": inverse, "onesided": onesided}
    inputs.append(None if length is None else np.array(length))
    if opset >= 20:
        inputs.append(np.array(axis))
    else:
        attributes["axis"] = axis
    return OpCase(name, "DFT", inputs, attributes, opset, expected=expected)


def _stft(
    name: str,
    shape: tuple[int, ...],
    step: int,
    *,
    window: bool = True,
    length: int | None = None,
    onesided: int = 1,
    dtype: str = "float32",
) -> OpCase:
    size = length or 16

    def expected(signal: Array, _step: Array, weights: Array | None, _length: Any) -> list[Array]:
        z, whole = _complex(signal), signal.shape[1]
        frame = len(weights) if weights is not None else length or whole
        begins = range(0, whole - frame + 1, step)
        frames = np.stack([z[:, begin : begin + frame] for begin in begins], 1)
        spectrum = np.fft.fft(frames * (1 if weights is None else weights.astype(np.float64)))
        return [_parts(spectrum[..., : frame // 2 + 1] if onesided else spectrum)]

    inputs = [
        OpCase.random(1, *shape, dtype=dtype),
        np.array(step),
        np.abs(OpCase.random(2, size, dtype=dtype)) if window else None,
        None if length is None else np.array(length),
    ]
    return OpCase(name, "STFT", inputs, {"onesided": onesided}, 17, expected=expected)


CASES = [
    *(
        _dft(f"length_{length}", (3, length, 2), 1)
        for length in (1, 2, 3, 4, 8, 30, 64, 77, 101, 400, 1024)
    ),
    _dft("real", (2, 20, 1), -2),
    _dft("onesided", (2, 15, 1), -2, onesided=1),
    _dft("onesided_even", (2, 16, 1), -2, onesided=1),
    _dft("inverse", (2, 12, 2), 1, inverse=1),
    _dft("inverse_real", (2, 12, 1), 1, inverse=1),
    _dft("inverse_onesided", (2, 9, 2), 1, inverse=1, onesided=1),
    _dft("inverse_onesided_odd", (2, 9, 2), 1, 15, inverse=1, onesided=1),
    _dft("inverse_onesided_padded", (2, 3, 2), 1, 12, inverse=1, onesided=1),
    _dft("first_axis", (12, 3, 5, 2), 0),
    _dft("middle_axis", (2, 18, 300, 1), 1, onesided=1),
    _dft("padded", (2, 10, 2), 1, 16),
    _dft("cut", (2, 10, 2), 1, 7),
    _dft("attribute", (2, 6, 5, 1), 2, opset=17),
    _dft("attribute_onesided", (2, 6, 5, 1), 1, 8, opset=17, onesided=1),
    _dft("vector", (32, 2), 0),
    _dft("many_lines", (401, 6, 2), 1),
    _dft("long", (2, 2048, 2), 1),
    _dft("long_odd", (2, 1155, 1), 1, onesided=1),
    _dft("long_inverse", (1, 705, 2), 1, 1408, inverse=1, onesided=1),
    _dft("long_prime", (1, 1033, 2, 2), 1, inverse=1),
    _dft("float64", (2, 360, 2), 1, dtype="float64"),
    _dft("bfloat16", (2, 36, 2), 1, dtype="bfloat16"),
    _dft("float16", (2, 36, 1), 1, dtype="float16"),
    _stft("window", (2, 100, 1), 8),
    _stft("uneven", (2, 103, 1), 7, length=16),
    _stft("no_window", (2, 50, 1), 5, window=False, length=12),
    _stft("one_frame", (2, 20, 1), 5, window=False),
    _stft("twosided", (2, 50, 1), 10, onesided=0),
    _stft("complex", (2, 50, 2), 10, onesided=0, length=16),
    _stft("whisper", (1, 1200, 1), 160, length=400),
    _stft("float64", (1, 64, 1), 16, dtype="float64"),
]
