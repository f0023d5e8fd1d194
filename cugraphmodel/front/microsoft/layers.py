"""Activations, normalizations, embeddings, and old names of standard operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from cugraphmodel.front.microsoft.composer import INT32, MICROSOFT, Composer
from cugraphmodel.ops.spec import Unsupported

__all__ = ["OPERATORS", "first_rows", "num_tokens"]


def _gelu(build: Composer) -> list[str]:
    return [build.emit("Gelu", build.required(0))]


def _bias_gelu(build: Composer) -> list[str]:
    return [build.emit("Gelu", build.sum(build.required(0), build.required(1)))]


def _fast_gelu(build: Composer) -> list[str]:
    total = build.sum(build.required(0), build.optional(1))
    return [build.emit("Gelu", total, approximate="tanh")]


def _quick_gelu(build: Composer) -> list[str]:
    alpha = float(build.attribute("alpha", 1.702))
    return [build.emit("Swish", build.required(0), alpha=alpha)]


def _bias_split_gelu(build: Composer) -> list[str]:
    """The left half of ``X + bias`` times the Gelu of its right half."""
    total = build.sum(build.required(0), build.required(1))
    half = build.shape(total)[-1] // 2
    left, right = build.split(total, (half, half))
    return [build.emit("Mul", left, build.emit("Gelu", right))]


def _bias_add(build: Composer) -> list[str]:
    return [build.sum(build.required(0), build.required(1), build.required(2))]


def _bias_dropout(build: Composer) -> list[str]:
    if build.optional(4) and build.known(4, "says whether this is training").any():
        raise Unsupported("BiasDropout in training mode is random; set training_mode to false.")
    total = build.sum(build.required(0), build.required(1), build.optional(2))
    mask = build.constant(np.ones(build.shape(total)), np.bool_) if build.wants(1) else ""
    return [total, mask]


def _bias_softmax(build: Composer) -> list[str]:
    """Softmax of ``data + bias`` over all dimensions from ``axis`` on."""
    total = build.sum(build.required(0), build.required(1))
    shape = build.shape(total)
    if shape != build.shape(build.required(0)):
        raise Unsupported("its bias is larger than its data.")
    axis = int(build.attribute("axis", 1)) % len(shape)
    if axis == len(shape) - 1:
        return [build.emit("Softmax", total, axis=-1)]
    flat = build.reshape(total, *shape[:axis], int(np.prod(shape[axis:])))
    return [build.reshape(build.emit("Softmax", flat, axis=-1), *shape)]


def _layer_norm(build: Composer) -> list[str]:
    """LayerNormalization before opset 17 had it."""
    inputs = (build.required(0), build.required(1), *filter(None, [build.optional(2)]))
    names = ("axis", "epsilon", "stash_type")
    own = {name: build.node.attributes[name] for name in names if name in build.node.attributes}
    count = max(i + 1 for i in range(3) if i == 0 or build.wants(i))
    return build.emit_several(count, "LayerNormalization", *inputs, **own)


def _rms_norm(build: Composer, x: str, scale: str) -> str:
    epsilon = float(build.attribute("epsilon", 1e-5))
    axis = int(build.attribute("axis", -1))
    return build.emit("RMSNormalization", x, scale, epsilon=epsilon, axis=axis)


def _simplified_layer_norm(build: Composer) -> list[str]:
    x = build.required(0)
    result = [_rms_norm(build, x, build.required(1))]
    if build.wants(1):
        rank = len(build.shape(x))
        axes = build.constant(range(int(build.attribute("axis", -1)) % rank, rank))
        squares = build.emit("ReduceMean", build.emit("Mul", x, x), axes, keepdims=1)
        epsilon = build.constant(build.attribute("epsilon", 1e-5), build.value(x).dtype)
        deviation = build.emit("Sqrt", build.sum(squares, epsilon))
        result.append(build.emit("Reciprocal", deviation))
    return result


def _skip_layer_norm(build: Composer) -> list[str]:
    """LayerNormalization of ``input + skip + bias``, and that sum."""
    total = build.sum(build.required(0), build.required(1), build.optional(4))
    epsilon = float(build.attribute("epsilon", 1e-12))
    inputs = (total, build.required(2), *filter(None, [build.optional(3)]))
    count = max(i + 1 for i in range(3) if i == 0 or build.wants(i))
    normal = build.emit_several(count, "LayerNormalization", *inputs, epsilon=epsilon)
    return [*normal, *[""] * (3 - count), total]


def _skip_rms_norm(build: Composer) -> list[str]:
    """RMSNormalization of ``input + skip + bias``, and that sum."""
    if build.wants(1) or build.wants(2):
        raise Unsupported("its outputs 1 and 2 are not covered.")
    total = build.sum(build.required(0), build.required(1), build.optional(3))
    epsilon = float(build.attribute("epsilon", 1e-12))
    normal = build.emit("RMSNormalization", total, build.required(2), epsilon=epsilon)
    return [normal, "", "", total]


def _embed_layer_norm(build: Composer) -> list[str]:
    """Sum of word, position and segment vectors, normalized."""
    words = build.emit("Gather", build.required(2), build.required(0), axis=0)
    if build.optional(8):
        places = build.emit("Gather", build.required(3), build.required(8), axis=0)
    else:
        places = first_rows(build, build.required(3), build.shape(words)[1])
    segments = ""
    if build.optional(1):
        segments = build.emit("Gather", build.required(4), build.required(1), axis=0)
    total = build.sum(words, places, segments)
    epsilon = float(build.attribute("epsilon", 1e-12))
    normal = build.emit(
        "LayerNormalization", total, build.required(5), build.required(6), epsilon=epsilon
    )
    return [normal, num_tokens(build, build.optional(7)), total]


def first_rows(build: Composer, table: str, count: int) -> str:
    """The first rows of a table."""
    return build.emit("Slice", table, *(build.constant([bound]) for bound in (0, count, 0)))


def num_tokens(build: Composer, mask: str) -> str:
    """Output 1 of the embeddings: how many tokens of every row are no padding; 0 with no mask."""
    if not build.wants(1):
        return ""
    if not mask:
        return build.constant(np.zeros(build.shape(build.required(0))[0]), np.int32)
    ones = build.emit("Equal", mask, build.constant(1, np.int32))
    return build.emit(
        "ReduceSum", build.emit("Cast", ones, to=INT32), build.constant([1]), keepdims=0
    )


def _group_norm(build: Composer, x: str) -> str:
    """GroupNormalization of x, the activation included."""
    gamma = build.required(1)
    last = bool(build.attribute("channels_last", 1))
    planes = build.transpose(x, 0, 3, 1, 2) if last else x
    normal = build.emit(
        "GroupNormalization",
        build.cast_like(planes, gamma),  # gamma and beta may be wider
        gamma,
        build.required(2),
        num_groups=int(build.attribute("groups", 1)),
        epsilon=float(build.attribute("epsilon", 1e-5)),
    )
    if build.attribute("activation", 0):
        normal = build.emit("Swish", normal, alpha=1.0)
    normal = build.cast_like(normal, x)
    return build.transpose(normal, 0, 2, 3, 1) if last else normal


def _group_norm_alone(build: Composer) -> list[str]:
    return [_group_norm(build, build.required(0))]


def _skip_group_norm(build: Composer) -> list[str]:
    """GroupNorm of ``x + skip + bias``, and that sum."""
    x, skip, bias = build.required(0), build.required(3), build.optional(4)
    batch, channels = build.shape(skip)[0], build.shape(skip)[-1]
    last = bool(build.attribute("channels_last", 1))
    if len(build.shape(skip)) == 2:
        shape = (batch, 1, 1, channels) if last else (batch, channels, 1, 1)
        skip = build.reshape(skip, *shape)
    if bias and not last:
        bias = build.reshape(bias, channels, 1, 1)
    total = build.sum(x, skip, bias)
    return [_group_norm(build, total), total]


def _expand_dims(build: Composer) -> list[str]:
    axis = int(build.known(1, "decides a shape").item())
    return [build.unsqueeze(build.required(0), axis)]


def _reduce_sum_integer(build: Composer) -> list[str]:
    """ReduceSumInteger: int32 sums over ``axes``."""
    wide = build.emit("Cast", build.required(0), to=INT32)
    keepdims = int(build.attribute("keepdims", 1))
    axes = build.constant(build.attribute("axes", ()))
    return [build.emit("ReduceSum", wide, axes, keepdims=keepdims)]


def _embedding(build: Composer) -> list[str]:
    """TorchEmbedding: rows of a table."""
    return [build.emit("Gather", build.required(0), build.required(1), axis=0)]


def _standard(op_type: str, build: Composer) -> list[str]:
    """An operator that the standard has taken over as it was."""
    return build.emit_several(
        len(build.node.outputs), op_type, *build.node.inputs, **build.node.attributes
    )


def _range(build: Composer) -> list[str]:
    first = build.required(0)
    step = build.optional(2) or build.constant(1, build.value(first).dtype)
    return [build.emit("Range", first, build.required(1), step)]


def _rfft(build: Composer) -> list[str]:
    """Half of the Fourier transform of the last dimension, as (real, imaginary) pairs."""
    build.refuse_attributes(normalized=0, onesided=1, signal_ndim=1)
    signal = build.unsqueeze(build.required(0), -1)
    axis = build.constant(len(build.shape(signal)) - 2)
    return [build.emit("DFT", signal, "", axis, onesided=1)]


def _grid_sample(build: Composer) -> list[str]:
    """GridSample as opset 16 has it; 20 calls its modes by other names."""
    modes = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}
    own = dict(build.node.attributes)
    own["mode"] = modes[own.get("mode", "bilinear")]
    return [build.emit("GridSample", build.required(0), build.required(1), **own)]


OPERATORS: Mapping[tuple[str, str], Callable[[Composer], Sequence[str]]] = {
    ("", "LayerNormalization"): _layer_norm,
    ("", "SimplifiedLayerNormalization"): _simplified_layer_norm,
    (MICROSOFT, "BiasAdd"): _bias_add,
    (MICROSOFT, "BiasDropout"): _bias_dropout,
    (MICROSOFT, "BiasGelu"): _bias_gelu,
    (MICROSOFT, "BiasSoftmax"): _bias_softmax,
    (MICROSOFT, "BiasSplitGelu"): _bias_split_gelu,
    (MICROSOFT, "EmbedLayerNormalization"): _embed_layer_norm,
    (MICROSOFT, "ExpandDims"): _expand_dims,
    (MICROSOFT, "FastGelu"): _fast_gelu,
    (MICROSOFT, "GatherND"): partial(_standard, "GatherND"),
    (MICROSOFT, "Gelu"): _gelu,
    (MICROSOFT, "GridSample"): _grid_sample,
    (MICROSOFT, "GroupNorm"): _group_norm_alone,
    (MICROSOFT, "Pad"): partial(_standard, "Pad"),
    (MICROSOFT, "QuickGelu"): _quick_gelu,
    (MICROSOFT, "Range"): _range,
    (MICROSOFT, "ReduceSumInteger"): _reduce_sum_integer,
    (MICROSOFT, "Rfft"): _rfft,
    (MICROSOFT, "SkipGroupNorm"): _skip_group_norm,
    (MICROSOFT, "SkipLayerNormalization"): _skip_layer_norm,
    (MICROSOFT, "SkipSimplifiedLayerNormalization"): _skip_rms_norm,
    (MICROSOFT, "TorchEmbedding"): _embedding,
    (MICROSOFT, "Trilu"): partial(_standard, "Trilu"),
}
