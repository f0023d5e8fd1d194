"""Cases of the normalisation operators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np

from cugraphmodel.ops.case import Array, OpCase

__all__ = ["CASES"]

FLOATS = ("float16", "bfloat16", "float32", "float64")


def _positive(seed: int, *shape: int, dtype: str = "float32") -> Array:
    return (np.abs(OpCase.random(seed, *shape)) + 0.1).astype(dtype)


def _stored(attribute: float) -> float:
    """As a model file holds it: in single precision."""
    return float(np.float32(attribute))


def _batch(x: Array, scale: Array, bias: Array, mean: Array, variance: Array) -> list[Array]:
    return _batch_epsilon(1e-5, x, scale, bias, mean, variance)


def _batch_epsilon(epsilon: float, x: Array, *parameters: Array) -> list[Array]:
    """By definition, in float64; a parameter has the channels' shape and is aligned with axis 1."""
    aligned = [
        p.astype(np.float64).reshape((*p.shape, *[1] * (x.ndim - 1 - p.ndim))) for p in parameters
    ]
    scale, bias, mean, variance = aligned
    return [(x - mean) / np.sqrt(variance + _stored(epsilon)) * scale + bias]


def _batch_norm() -> Iterator[OpCase]:
    shapes = {
        "rank_2": (5, 7),
        "rank_3": (2, 3, 5),
        "vectors": (2, 3, 4, 4),
        "odd": (2, 3, 5, 5),
        "rank_5": (1, 3, 2, 3, 2),
        "one_channel": (3, 1, 8),
        "large": (3, 19, 17, 16),
    }
    for name, shape in shapes.items():
        parameters = [OpCase.random(seed, shape[1]) for seed in (1, 2, 3)]
        inputs = [OpCase.random(4, *shape), *parameters, _positive(5, shape[1])]
        for opset in (7, 9, 14, 15) if name == "odd" else (15,):
            yield OpCase(name, "BatchNormalization", inputs, opset=opset, expected=_batch)
    for dtype in FLOATS:
        data = [OpCase.random(seed, 6, dtype=dtype) for seed in (1, 2, 3)]
        inputs = [OpCase.random(6, 2, 6, 3, 4, dtype=dtype), *data, _positive(7, 6, dtype=dtype)]
        yield OpCase(dtype, "BatchNormalization", inputs, {"epsilon": 0.01}, opset=9,
                     expected=functools.partial(_batch_epsilon, 0.01))  # fmt: skip
    x = OpCase.random(8, 2, 6, 5, dtype="float16")
    wide = [OpCase.random(seed, 6) for seed in (9, 10, 11)]
    inputs = [x, *wide, _positive(12, 6)]
    yield OpCase("mixed_types", "BatchNormalization", inputs, expected=_batch)
    each = [OpCase.random(seed, 3, 4) for seed in (13, 14, 15)]
    yield OpCase("not_spatial", "BatchNormalization",
                 [OpCase.random(16, 2, 3, 4), *each, _positive(17, 3, 4)], {"spatial": 0}, opset=7,
                 expected=_batch)  # fmt: skip


def _batch_norm_channels_last() -> Iterator[OpCase]:
    for dtype in FLOATS:
        x, *data = (OpCase.random(k, *shape, dtype=dtype) for k, shape in enumerate(LAST_SHAPES))
        yield _channels_last_case(dtype, [x, *data, _positive(7, 6, dtype=dtype)])
    x, *data = (OpCase.random(k, *shape) for k, shape in enumerate(LAST_SHAPES))
    narrow, wide = x.astype(np.float16), _positive(7, 6, dtype="float64")
    yield _channels_last_case("mixed_types", [narrow, *data, wide])


LAST_SHAPES = ((2, 3, 5, 6), (6,), (6,), (6,))


def _channels_last_case(name: str, inputs: list[Array]) -> OpCase:
    return OpCase(
        name, "ChannelsLastBatchNormalization", inputs, {"epsilon": 0.01}, opset=1,
        domain="cugraphmodel", expected=_batch_channels_last,
    )  # fmt: skip


def _batch_channels_last(x: Array, *parameters: Array) -> list[Array]:
    (y,) = _batch_epsilon(0.01, np.moveaxis(x, -1, 1).astype(np.float64), *parameters)
    return [np.moveaxis(y, 1, -1)]


def _batch_training(momentum: float, *inputs: Array) -> list[Array]:
    x, scale, bias, *running = (array.astype(np.float64) for array in inputs)
    axes = tuple(axis for axis in range(x.ndim) if axis != 1)
    current = [x.mean(axes), x.var(axes)]
    kept = _stored(momentum)
    mixed = [old * kept + new * (1 - kept) for old, new in zip(running, current, strict=True)]
    return [*_batch(x, scale, bias, *current), *mixed]


def _batch_norm_training() -> Iterator[OpCase]:
    shapes = {
        "images": (3, 4, 5, 5),
        "rank_2": (6, 3),
        "one_sample": (1, 2, 3),
        "many": (2, 2, 70, 70),
    }
    for name, shape in shapes.items():
        parameters = [OpCase.random(seed, shape[1]) for seed in (18, 19, 20)]
        x = OpCase.random(21, *shape) + np.float32(100 * (name == "images"))
        inputs = [x, *parameters, _positive(22, shape[1])]
        yield _training_case(name, inputs, 0.9)
    x = OpCase.random(23, 4, 3, 6, dtype="float16")
    inputs = [x, *[OpCase.random(seed, 3) for seed in (24, 25, 26)], _positive(27, 3)]
    yield _training_case("mixed_types", inputs, 0.25)
    wide = [array.astype(np.float64) for array in inputs]
    yield _training_case("float64", wide, 0.7, opset=14)


def _training_case(name: str, inputs: list[Array], momentum: float, opset: int = 15) -> OpCase:
    attributes = {"training_mode": 1, "momentum": _stored(momentum)}
    return OpCase(
        f"training_{name}", "BatchNormalization", inputs, attributes, opset, num_outputs=3,
        expected=functools.partial(_batch_training, momentum),
    )  # fmt: skip


def _layer(axis: int, epsilon: float, x: Array, scale: Array, bias: Array | None) -> list[Array]:
    axes = tuple(range(axis % x.ndim, x.ndim))
    wide = x.astype(np.float64)
    mean = wide.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt(wide.var(axes, keepdims=True) + _stored(epsilon))
    offset = 0 if bias is None else bias.astype(np.float64)
    return [(wide - mean) * inverse * scale + offset, mean, inverse]


def _layer_case(
    name: str, x: Array, axis: int, affine_shape: tuple[int, ...], *, num_outputs: int = 3,
    bias: bool = True, epsilon: float = 1e-5,
) -> OpCase:  # fmt: skip
    dtype = x.dtype.name
    scale = OpCase.random(20, *affine_shape, dtype=dtype)
    offset = OpCase.random(21, *affine_shape, dtype=dtype) if bias else None

    def expected(x: Array, scale: Array, offset: Array | None = None) -> list[Array]:
        return _layer(axis, epsilon, x, scale, offset)[:num_outputs]

    inputs = [x, scale] if offset is None else [x, scale, offset]
    attributes = {"axis": axis, "epsilon": epsilon}
    # The two statistics of float16 data are float32, and come from float32 arithmetic.
    return OpCase(
        name, "LayerNormalization", inputs, attributes, num_outputs=num_outputs, expected=expected
    )


def _layer_norm() -> Iterator[OpCase]:
    for size in (1, 2, 31, 32, 33, 96, 97, 128, 384, 512, 513, 1500, 4100, 8200, 16400):
        yield _layer_case(f"size_{size}", OpCase.random(22, 5, size), -1, (size,))
    x = OpCase.random(23, 2, 3, 4, 5)
    yield _layer_case("axis_1", x, 1, (3, 4, 5))
    yield _layer_case("axis_0", x, 0, (2, 3, 4, 5))
    yield _layer_case("axis_minus_2", x, -2, (4, 5), epsilon=0.1)
    yield _layer_case("no_bias", x, 3, (5,), bias=False, num_outputs=1)
    yield _layer_case("trailing_scale", x, 2, (5,))
    yield _layer_case("leading_scale", x, 2, (4, 1))
    yield _layer_case("scalar_scale", x, 2, ())
    yield _layer_case("scale_of_rank_4", x, 2, (1, 1, 4, 5))
    yield _layer_case("scale_of_each_row", x, 2, (3, 1, 1))
    yield _layer_case("scale_of_channels", x, 2, (1, 3, 1, 1))
    yield _layer_case("scale_of_channels_no_bias", x, 3, (4, 1), bias=False)
    square = OpCase.random(26, 3, 5, 5)
    yield _layer_case("square_rows", square, 2, (5,))
    yield _layer_case("square_channels", square, 2, (5, 1))
    for dtype in FLOATS:
        yield _layer_case(dtype, OpCase.random(24, 6, 70, dtype=dtype), -1, (70,), num_outputs=1)
    far = (OpCase.random(25, 3, 300) * 0.01 + 1000).astype(np.float32)
    yield _layer_case("large_mean", far, -1, (300,), epsilon=1e-12)
    yield _layer_case("large_mean_long", np.repeat(far, 9, axis=1), -1, (2700,), epsilon=1e-12)
    infinite = OpCase.random(26, 4, 40)
    infinite[0, 3], infinite[1, 7], infinite[2, 2:4] = np.inf, -np.inf, (np.inf, -np.inf)
    yield _layer_case("infinite_rows", infinite, -1, (40,))
    flat = np.full((2, 40), 7.25, np.float32)
    yield _layer_case("constant_rows", flat, -1, (40,))


def _rms(x: Array, scale: Array) -> list[Array]:
    wide = x.astype(np.float64)
    return [wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5) * scale]


def _rms_norm() -> Iterator[OpCase]:
    for size in (64, 700):
        inputs = [OpCase.random(26, 4, size) + np.float32(2), OpCase.random(27, size)]
        yield OpCase(f"size_{size}", "RMSNormalization", inputs, opset=23, expected=_rms)


def _sum_case(
    name: str,
    shape: tuple[int, ...],
    op_type: str = "AddLayerNormalization",
    dtype: str = "float32",
    *,
    bias: bool = True,
    num_outputs: int = 2,
    affine: tuple[int, ...] = (),
) -> OpCase:
    def expected(
        x: Array, residual: Array, scale: Array, offset: Array | None = None
    ) -> list[Array]:
        total = x.astype(np.float64) + residual
        is_centered = op_type == "AddLayerNormalization"
        of_sum = _layer(-1, 1e-5, total, scale, offset)[:1] if is_centered else _rms(total, scale)
        return [*of_sum, total][:num_outputs]

    shapes = [shape, shape, *[affine or shape[-1:]] * (2 if bias else 1)]
    inputs = [OpCase.random(36 + seed, *each, dtype=dtype) for seed, each in enumerate(shapes)]
    return OpCase(
        name, op_type, inputs, opset=1, num_outputs=num_outputs, expected=expected,
        domain="cugraphmodel",
    )  # fmt: skip


def _sums() -> Iterator[OpCase]:
    for size in (1, 33, 384, 513, 4100, 16384):
        yield _sum_case(f"size_{size}", (5, size))
    yield _sum_case("no_sum", (2, 3, 70), num_outputs=1)
    yield _sum_case("no_bias", (2, 3, 70), bias=False)
    yield _sum_case("channels", (2, 3, 7), affine=(3, 1))
    for dtype in FLOATS:
        yield _sum_case(dtype, (6, 70), dtype=dtype)
        yield _sum_case(dtype, (6, 70), "AddRMSNormalization", dtype, bias=False)


def _groups(num_groups: int, per_channel: bool) -> Callable[..., list[Array]]:
    def expected(x: Array, scale: Array, bias: Array) -> list[Array]:
        wide = x.astype(np.float64).reshape(x.shape[0], num_groups, -1)
        mean, variance = wide.mean(-1, keepdims=True), wide.var(-1, keepdims=True)
        normalized = (wide - mean) / np.sqrt(variance + 1e-5)
        rows = x.shape[1] if per_channel else num_groups
        shaped = normalized.reshape(x.shape[0], rows, -1)
        return [(shaped * scale[:, None] + bias[:, None]).reshape(x.shape)]

    return expected


def _channel_norms() -> Iterator[OpCase]:
    for name, shape in (
        ("rank_4", (2, 6, 4, 5)),
        ("rank_3", (2, 6, 700)),
        ("rank_5", (1, 4, 2, 3, 5)),
    ):
        x, channels = OpCase.random(28, *shape), shape[1]
        affine = [OpCase.random(29, channels), OpCase.random(30, channels)]
        yield OpCase(
            name, "InstanceNormalization", [x, *affine], opset=6, expected=_groups(channels, True)
        )
        for num_groups in (1, 2, channels):
            attributes = {"num_groups": num_groups}
            for opset, per_channel in ((18, False), (21, True)):
                size = channels if per_channel else num_groups
                yield OpCase(
                    f"{name}_groups_{num_groups}", "GroupNormalization",
                    [x, OpCase.random(31, size), OpCase.random(32, size)], attributes, opset,
                    expected=_groups(num_groups, per_channel),
                )  # fmt: skip


def _lrn(size: int, alpha: float, beta: float, bias: float) -> Callable[[Array], list[Array]]:
    def expected(x: Array) -> list[Array]:
        squares = x.astype(np.float64) ** 2
        total = np.zeros_like(squares)
        for channel in range(x.shape[1]):
            first, last = max(0, channel - (size - 1) // 2), channel + size // 2
            total[:, channel] = squares[:, first : last + 1].sum(1)
        return [x / (bias + _stored(alpha) / size * total) ** _stored(beta)]

    return expected


def _local_response() -> Iterator[OpCase]:
    for name, shape in (("rank_4", (2, 7, 3, 5)), ("rank_2", (3, 9)), ("few_channels", (1, 2, 4))):
        for size in (1, 3, 4, 5):
            x = OpCase.random(33, *shape)
            expected = _lrn(size, 1e-4, 0.75, 1.0)
            yield OpCase(f"{name}_window_{size}", "LRN", [x], {"size": size}, 13, expected=expected)
    attributes = {"size": 5, "alpha": 0.5, "beta": 0.6, "bias": 2.0}
    for dtype in FLOATS:
        x = OpCase.random(34, 1, 9, 4, 4, dtype=dtype)
        yield OpCase(dtype, "LRN", [x], attributes, opset=1, expected=_lrn(5, 0.5, 0.6, 2.0))


def _lp(order: int, axis: int) -> Callable[[Array], list[Array]]:
    def expected(x: Array) -> list[Array]:
        wide = x.astype(np.float64)
        norm = (np.abs(wide) ** order).sum(axis, keepdims=True) ** (1 / order)
        return [np.divide(wide, norm, out=np.zeros_like(wide), where=norm != 0)]

    return expected


def _mean_variance(axes: tuple[int, ...], x: Array) -> list[Array]:
    centered = x.astype(np.float64) - x.mean(axes, np.float64, keepdims=True)
    return [centered / (np.sqrt((centered**2).mean(axes, keepdims=True)) + 1e-9)]


def _composed() -> Iterator[OpCase]:
    x = OpCase.random(35, 3, 4, 5, 6)
    x[1, :, 2, :] = 0
    for axis in (1, 2, -1):
        for order in (1, 2):
            yield OpCase(f"axis_{axis}_p_{order}", "LpNormalization", [x],
                         {"axis": axis, "p": order}, expected=_lp(order, axis))  # fmt: skip
    for dtype in FLOATS:
        yield OpCase(dtype, "LpNormalization", [x.astype(dtype)], expected=_lp(2, -1))
        yield OpCase(
            dtype, "MeanVarianceNormalization", [x.astype(dtype)],
            expected=functools.partial(_mean_variance, (0, 2, 3)),
        )  # fmt: skip
    for axes in ((1,), (2, 3), (0, 1, 2, 3)):
        yield OpCase(
            f"axes_{axes}", "MeanVarianceNormalization", [x + np.float32(9)], {"axes": list(axes)},
            opset=9, expected=functools.partial(_mean_variance, axes),
        )  # fmt: skip


CASES = [
    *_composed(),
    *_batch_norm(),
    *_batch_norm_channels_last(),
    *_batch_norm_training(),
    *_layer_norm(),
    *_rms_norm(),
    *_sums(),
    *_channel_norms(),
    *_local_response(),
]
