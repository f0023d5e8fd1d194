"""Matrix products and convolutions with what is fused into them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from cugraphmodel.front.microsoft.composer import INT32, MICROSOFT, Composer
from cugraphmodel.ops.spec import Unsupported

__all__ = ["OPERATORS", "activated"]

_ATTRIBUTES = {
    "LeakyRelu": (("alpha", 0.01),),
    "Elu": (("alpha", 1.0),),
    "HardSigmoid": (("alpha", 0.2), ("beta", 0.5)),
    **dict.fromkeys(("Relu", "Sigmoid", "Tanh", "Softplus", "Softsign", "HardSwish"), ()),
}


def activated(build: Composer, x: str, parameters: Sequence[float]) -> str:
    """``x`` behind the function that the attribute ``activation`` names, if any."""
    name = build.attribute("activation", "")
    if not name:
        return x
    if name == "Clip":
        bounds = [build.constant(bound, build.value(x).dtype) for bound in parameters]
        return build.emit("Clip", x, *bounds)
    if name not in _ATTRIBUTES:
        raise Unsupported(f"the activation {name!r} is not covered.")
    given = dict(zip((key for key, _ in _ATTRIBUTES[name]), parameters, strict=False))
    return build.emit(name, x, **{**dict(_ATTRIBUTES[name]), **given})


def _product(build: Composer) -> str:
    """FusedMatMul: ``alpha * (A turned) @ (B turned)``."""
    alpha = float(build.attribute("alpha", 1.0))
    turns = [
        (
            bool(build.attribute(f"trans{which}", 0)),
            bool(build.attribute(f"transBatch{which}", 0)),
        )
        for which in "AB"
    ]
    operands = [build.required(0), build.required(1)]
    ranks = [len(build.shape(name)) for name in operands]
    if ranks == [2, 2] and not any(batch for _, batch in turns):
        (trans_a, _), (trans_b, _) = turns
        return build.emit("Gemm", *operands, alpha=alpha, transA=int(trans_a), transB=int(trans_b))
    left, right = (_turned(build, name, *turn) for name, turn in zip(operands, turns, strict=True))
    return build.scaled(build.emit("MatMul", left, right), alpha)


def _turned(build: Composer, name: str, last_two: bool, batch: bool) -> str:
    """An operand with its first axis behind the batch axes, and its last two axes swapped."""
    axes = list(range(len(build.shape(name))))
    if batch and len(axes) > 2:
        axes.insert(-1, axes.pop(0))
    if last_two and len(axes) > 1:
        axes[-2:] = axes[:-3:-1]
    return name if axes == sorted(axes) else build.transpose(name, *axes)


def _fused_matmul(build: Composer) -> list[str]:
    return [_product(build)]


def _activation_numbers(build: Composer) -> list[float]:
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    return [float(build.attribute(n, 0)) for n in names if n in build.node.attributes]


def _fused_matmul_activation(build: Composer) -> list[str]:
    return [activated(build, _product(build), _activation_numbers(build))]


def _fused_gemm(build: Composer) -> list[str]:
    names = ("alpha", "beta", "transA", "transB")
    own = {name: build.node.attributes[name] for name in names if name in build.node.attributes}
    inputs = (build.required(0), build.required(1), *filter(None, [build.optional(2)]))
    return [activated(build, build.emit("Gemm", *inputs, **own), _activation_numbers(build))]


def _gemm_fast_gelu(build: Composer) -> list[str]:
    product = build.emit("MatMul", build.required(0), build.required(1))
    return [build.emit("Gelu", build.sum(product, build.optional(2)), approximate="tanh")]


_WINDOW = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


def _conv(build: Composer, x: str, filters: str, added: str) -> str:
    """The convolution, plus ``added``, behind the activation."""
    own = {name: build.node.attributes[name] for name in _WINDOW if name in build.node.attributes}
    inputs = (x, filters, *filter(None, [build.optional(2)]))
    total = build.sum(build.emit("Conv", *inputs, **own), added)
    return activated(build, total, build.attribute("activation_params", ()))


def _fused_conv(build: Composer) -> list[str]:
    return [_conv(build, build.required(0), build.required(1), build.optional(3))]


def _planes(build: Composer, name: str) -> str:
    """NHWC as NCHW."""
    return build.transpose(name, 0, 3, 1, 2)


def _nhwc_fused_conv(build: Composer) -> list[str]:
    """The image and what is added are NHWC; the filters are as in Conv."""
    added = build.optional(3)
    result = _conv(
        build,
        _planes(build, build.required(0)),
        build.required(1),
        _planes(build, added) if added else "",
    )
    return [build.transpose(result, 0, 2, 3, 1)]


def _nhwc_conv(build: Composer) -> list[str]:
    """The filters, too, are [M, height, width, C]: so onnxruntime.transformers writes them."""
    image, filters = (_planes(build, build.required(position)) for position in (0, 1))
    return [build.transpose(_conv(build, image, filters, ""), 0, 2, 3, 1)]


def _distances(build: Composer) -> list[str]:
    """CDist: between the rows of two matrices, [M, K] and [N, K] -> [M, N]."""
    metric = build.attribute("metric", "sqeuclidean")
    reductions = {"sqeuclidean": "ReduceSumSquare", "euclidean": "ReduceL2"}
    if metric not in reductions:
        raise Unsupported(f"the metric {metric!r} is not covered.")
    left = build.unsqueeze(build.required(0), 1)
    right = build.unsqueeze(build.required(1), 0)
    difference = build.emit("Sub", left, right)
    return [build.emit(reductions[metric], difference, build.constant([2]), keepdims=0)]


def _multiply_integers(build: Composer) -> list[str]:
    """MulInteger: int32 ``(A - A_zero_point) * (B - B_zero_point)``."""
    factors = []
    for position in (0, 2):
        wide = [
            build.emit("Cast", name, to=INT32)
            for name in (build.required(position), build.optional(position + 1))
            if name
        ]
        factors.append(wide[0] if len(wide) == 1 else build.emit("Sub", *wide))
    return [build.emit("Mul", *factors)]


def _complex_product(build: Composer, sign: float) -> list[str]:
    """``A * B`` of numbers kept as [..., (real, imaginary)]; ``A * conj(B)`` with sign -1."""
    parts = []
    for name in (build.required(0), build.required(1)):
        if build.shape(name)[-1:] != (2,):
            raise Unsupported(f"{build.value(name)} does not end in a real and imaginary part.")
        parts.append(build.split(name, (1, 1)))
    (a, b), (c, d) = parts
    d = build.scaled(d, sign)
    real = build.emit("Sub", build.emit("Mul", a, c), build.emit("Mul", b, d))
    imaginary = build.sum(build.emit("Mul", a, d), build.emit("Mul", b, c))
    return [build.concat(real, imaginary, axis=-1 % max(len(build.shape(real)), 1))]


def _complex_mul(build: Composer) -> list[str]:
    return _complex_product(build, 1.0)


def _complex_mul_conj(build: Composer) -> list[str]:
    return _complex_product(build, -1.0)


def _relative_position_bias(build: Composer) -> list[str]:
    """Rows of the table [bucket, head] by distance, as [1, head, query, key]."""
    lengths = [int(build.known(i, "decides a shape").item()) for i in (1, 2)]
    num_buckets = build.shape(build.required(0))[0]
    farthest = int(build.attribute("max_distance", 0))
    both_ways = bool(build.attribute("is_bidirectional", 0))
    distance = np.arange(lengths[1]) - np.arange(lengths[0])[:, None]  # key - query
    buckets = _buckets(distance, num_buckets, farthest, both_ways)
    rows = build.emit("Gather", build.required(0), build.constant(buckets), axis=0)
    return [build.unsqueeze(build.transpose(rows, 2, 0, 1), 0)]


def _buckets(distance: np.ndarray, num_buckets: int, farthest: int, both_ways: bool) -> np.ndarray:
    """Small distances have a bucket each, larger ones share them logarithmically (T5)."""
    back = -distance
    offset = np.zeros_like(distance)
    if both_ways:
        num_buckets //= 2
        offset = np.where(back < 0, num_buckets, 0)
        back = np.abs(back)
    else:
        back = np.maximum(back, 0)
    exact = num_buckets // 2
    ratio = np.log(np.maximum(back, 1) / np.float32(exact)) / np.log(farthest / exact)
    far = np.minimum(exact + (ratio * (num_buckets - exact)).astype(np.int64), num_buckets - 1)
    return np.asarray(offset + np.where(back < exact, back, far))


OPERATORS: Mapping[tuple[str, str], Callable[[Composer], Sequence[str]]] = {
    (MICROSOFT, "CDist"): _distances,
    (MICROSOFT, "ComplexMul"): _complex_mul,
    (MICROSOFT, "ComplexMulConj"): _complex_mul_conj,
    (MICROSOFT, "FusedConv"): _fused_conv,
    (MICROSOFT, "FusedGemm"): _fused_gemm,
    (MICROSOFT, "FusedMatMul"): _fused_matmul,
    (MICROSOFT, "FusedMatMulActivation"): _fused_matmul_activation,
    (MICROSOFT, "GemmFastGelu"): _gemm_fast_gelu,
    (MICROSOFT, "MulInteger"): _multiply_integers,
    (MICROSOFT, "NhwcConv"): _nhwc_conv,
    (MICROSOFT, "NhwcFusedConv"): _nhwc_fused_conv,
    (MICROSOFT, "RelativePositionBias"): _relative_position_bias,
    (MICROSOFT, "TransposeMatMul"): _fused_matmul,
}
