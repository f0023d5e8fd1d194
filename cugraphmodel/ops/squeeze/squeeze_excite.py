"""Squeeze-and-excite of channels-last images, which only the pass ``fuse_squeeze`` makes.

``SqueezeExcite`` takes x [N, *spatial, C], weights [S, 1.., C], bias [S] or none, weights
[M, 1.., S] and bias [M] or none. With the mean of x over the spatial axes it gives
``excite(weights @ squeeze(weights @ mean + bias) + bias)`` [N, 1.., M], or [N, M] if ``keepdims``
is 0.

The activations are functions of ``activations.cuh`` in the attributes ``squeeze_activation`` and
``excite_activation``, each with its parameters ``..._alpha`` and ``..._beta``.

Reference: Hu et al., "Squeeze-and-Excitation Networks", CVPR 2018.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cugraphmodel.dtypes import c_type
from cugraphmodel.ir import Node, TensorType, Value
from cugraphmodel.ops.arguments import FLOATS, check_dtype, optional, required
from cugraphmodel.ops.launch import Argument, Launch, Workspace, ceil_div, index_type
from cugraphmodel.ops.matmul.product import WAVE_BLOCKS, vector_width
from cugraphmodel.ops.spec import OpSpec, Unsupported, register

__all__ = ["squeeze_fits"]

THREADS = 256
CHANNEL_GROUP = 32
"""Channels of a block, in both kernels."""
MAX_SQUEEZED = THREADS
SMALL_THREADS = 512
MAX_SMALL_BYTES = 48 << 10
MAX_SMALL_WEIGHT_BYTES = 64 << 10
"""Of an image and of both weights: what one block reads in the time of a launch. Doubles never go
that way: a thread would want too many registers."""
MAX_WEIGHT_BYTES = 32 << 20
"""Each image reads all weights again: what a GPU's cache gives in the time of a few launches."""


@dataclass(frozen=True)
class _Squeeze:
    """A node's operands, and the sizes that follow from their shapes."""

    x: Value
    weights: tuple[Value, Value]
    biases: tuple[Value | None, Value | None]

    @staticmethod
    def of(inputs: Sequence[Value | None]) -> _Squeeze:
        """The operands of a node, if they fit together."""
        x = required(inputs)
        check_dtype(x, FLOATS)
        first, second = required(inputs, 1), required(inputs, 3)
        found = _Squeeze(x, (first, second), (optional(inputs, 2), optional(inputs, 4)))
        if len(x.shape) < 3 or 0 in x.shape[1:]:
            raise Unsupported(f"An input of shape {x.shape} has no positions or no channels.")
        sizes = (x.shape[-1], found.squeezed, found.scales)
        for weights, bias, depth, rows in zip(
            found.weights, found.biases, sizes[:2], sizes[1:], strict=True
        ):
            check_dtype(weights, (x.dtype,))
            if weights.shape[-1] != depth or weights.size != rows * depth:
                raise Unsupported(
                    f"Weights of shape {weights.shape} do not multiply {depth} elements."
                )
            if bias is not None:
                check_dtype(bias, (x.dtype,))
                if bias.shape != (rows,):
                    raise Unsupported(f"A bias of shape {bias.shape} does not fit {rows} elements.")
        if not 1 <= found.squeezed <= MAX_SQUEEZED:
            raise Unsupported(f"{found.squeezed} elements are not 1 to {MAX_SQUEEZED}.")
        return found

    @property
    def images(self) -> int:
        return self.x.shape[0]

    @property
    def positions(self) -> int:
        return math.prod(self.x.shape[1:-1])

    @property
    def squeezed(self) -> int:
        return self.weights[0].shape[0]

    @property
    def scales(self) -> int:
        return self.weights[1].shape[0]

    @property
    def is_small(self) -> bool:
        """Whether one block makes all of an image's scale."""
        channels = self.x.shape[-1]
        return (
            self.x.dtype.itemsize <= 4
            and self.x.num_bytes <= self.images * MAX_SMALL_BYTES
            and sum(weights.num_bytes for weights in self.weights) <= MAX_SMALL_WEIGHT_BYTES
            and channels <= SMALL_THREADS * int(vector_width(channels))
        )


def squeeze_fits(images: int, squeezed: int, first: Value, second: Value) -> bool:
    """Whether SqueezeExcite covers weights that give so many elements, and gains by it."""
    num_bytes = images * (first.num_bytes + second.num_bytes)
    return 1 <= squeezed <= MAX_SQUEEZED and 0 < num_bytes <= MAX_WEIGHT_BYTES


def _infer(node: Node, inputs: Sequence[Value | None]) -> Sequence[TensorType]:
    squeeze = _Squeeze.of(inputs)
    rank = len(squeeze.x.shape)
    ones = (1,) * (rank - 2) if node.attributes.get("keepdims", 1) else ()
    return [TensorType(squeeze.x.dtype, (squeeze.images, *ones, squeeze.scales))]


def _lower(
    node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> Sequence[Launch]:
    """A block for each small image; else many blocks read x and few finish what these leave."""
    squeeze, scale = _Squeeze.of(inputs), required(outputs)
    return (
        [_launch_small(node, squeeze, scale)]
        if squeeze.is_small
        else _launches(node, squeeze, scale)
    )


def _launch_small(node: Node, squeeze: _Squeeze, scale: Value) -> Launch:
    sizes = (squeeze.positions, squeeze.x.shape[-1], squeeze.squeezed, squeeze.scales)
    return Launch(
        "ops/squeeze/squeeze_excite.cu",
        "squeeze_excite",
        (squeeze.images, 1, 1),
        (SMALL_THREADS, 1, 1),
        (
            *(scale, squeeze.x, squeeze.weights[0], squeeze.biases[0]),
            *(squeeze.weights[1], squeeze.biases[1]),
            *map(np.int32, sizes),
            *_activation_arguments(node),
        ),
        (
            ("SCALAR", c_type(squeeze.x.dtype)),
            ("CHANNEL_VECTOR", vector_width(squeeze.x.shape[-1])),
            ("SQUEEZED_VECTOR", vector_width(squeeze.squeezed)),
            *_activations(node),
            ("INDEX", _index(squeeze, 0)),
        ),
    )


def _launches(node: Node, squeeze: _Squeeze, scale: Value) -> Sequence[Launch]:
    channels = squeeze.x.shape[-1]
    groups = ceil_div(channels, CHANNEL_GROUP)
    vector = vector_width(channels)
    part_size = _part_size(squeeze.images * groups, squeeze.positions, int(vector))
    parts = ceil_div(squeeze.positions, part_size)
    compute = np.promote_types(squeeze.x.dtype, np.float32)
    partial = Workspace(squeeze.images * groups * parts * squeeze.squeezed * compute.itemsize)
    types = (("SCALAR", c_type(squeeze.x.dtype)), ("INDEX", _index(squeeze, groups * parts)))
    return [
        Launch(
            "ops/squeeze/squeeze.cu",
            "squeeze",
            (squeeze.images, groups, parts),
            (THREADS, 1, 1),
            (
                *(partial, squeeze.x, squeeze.weights[0]),
                *map(np.int32, (squeeze.positions, channels, squeeze.squeezed, part_size)),
            ),
            (*types, ("VECTOR", vector)),
        ),
        Launch(
            "ops/squeeze/excite.cu",
            "excite",
            (squeeze.images, ceil_div(squeeze.scales, CHANNEL_GROUP), 1),
            (THREADS, 1, 1),
            (
                *(scale, partial, squeeze.biases[0], squeeze.weights[1], squeeze.biases[1]),
                *map(np.int32, (groups * parts, squeeze.squeezed, squeeze.scales)),
                *_activation_arguments(node),
            ),
            (*types, ("VECTOR", vector_width(squeeze.squeezed)), *_activations(node)),
        ),
    ]


def _part_size(num_blocks: int, positions: int, vector: int) -> int:
    """Positions of a block, so that all multiprocessors of a large GPU have one.

    No fewer than the threads of a block read at once.
    """
    parts = ceil_div(WAVE_BLOCKS, max(num_blocks, 1))
    return max(ceil_div(positions, parts), THREADS * vector // CHANNEL_GROUP)


def _index(squeeze: _Squeeze, num_partial: int) -> str:
    """Type of offsets into any of the tensors."""
    partial = squeeze.images * num_partial * squeeze.squeezed
    scales = squeeze.images * squeeze.scales
    weights = max(weights.size for weights in squeeze.weights)
    return index_type(max(squeeze.x.size, partial, scales, weights))


def _activations(node: Node) -> tuple[tuple[str, str], ...]:
    return tuple(
        (half.upper(), node.attributes.get(f"{half}_activation", "cg_act_none"))
        for half in ("squeeze", "excite")
    )


def _activation_arguments(node: Node) -> tuple[Argument, ...]:
    return tuple(
        np.float32(node.attributes.get(f"{half}_activation_{parameter}", 0.0))
        for half in ("squeeze", "excite")
        for parameter in ("alpha", "beta")
    )


register(OpSpec("SqueezeExcite", 1, _infer, _lower, domain="cugraphmodel"))
