"""Train the digits classifier in NumPy and write ``digits.onnx`` and ``digits.npz``.

    python -m cugraphmodel.demo.train [FOLDER]

The images are those of ``sklearn.datasets.load_digits`` (Alpaydin and Kaynak, "Optical Recognition
of Handwritten Digits", UCI Machine Learning Repository, 1998). A fifth of them is held out: they
take no part in training and are what the demo shows. Runs of one machine write the same bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

Floats = npt.NDArray[np.float32]
Params = dict[str, Floats]

SEED = 0
NUM_HELD_OUT = 360
NUM_EPOCHS = 30
BATCH_SIZE = 64
LEARNING_RATE = 2e-3
INK_SCALE = np.float32(1 / 16)
OPSET = 17


def initial_params(rng: np.random.Generator) -> Params:
    """He-normal weights and zero biases: conv 1-16, conv 16-32, dense 512-64, dense 64-10."""
    shapes = {"conv1": (16, 1, 3, 3), "conv2": (32, 16, 3, 3), "dense1": (512, 64)}
    shapes["dense2"] = (64, 10)
    params = {}
    for name, shape in shapes.items():
        is_conv = len(shape) == 4
        fan_in = int(np.prod(shape[1:])) if is_conv else shape[0]
        weight = rng.standard_normal(shape) * np.sqrt(2 / fan_in)
        params[f"{name}.weight"] = weight.astype(np.float32)
        params[f"{name}.bias"] = np.zeros(shape[0] if is_conv else shape[1], np.float32)
    return params


def patches(images: Floats) -> Floats:
    """3 x 3 neighbourhoods with zero padding: (N, C, H, W) -> (N, H, W, C * 9)."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    n, c, h, w = images.shape
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(n, h, w, c * 9)


def convolve(images: Floats, weight: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """(N, C, H, W) -> (N, M, H, W), and the patches for the way back."""
    columns = patches(images)
    out = columns @ weight.reshape(len(weight), -1).T + bias
    return out.transpose(0, 3, 1, 2), columns


def pool(images: Floats) -> Floats:
    """Maximum of each 2 x 2 square, laid out as (N, C, H/2, W/2)."""
    n, c, h, w = images.shape
    squares: Floats = images.reshape(n, c, h // 2, 2, w // 2, 2)
    pooled: Floats = squares.max(axis=(3, 5))
    return pooled


class Layers(NamedTuple):
    """What each layer gave for a batch of N images; ``columns`` are the patches of a convolution.

    ReLU commutes with the maximum, so the second one is taken after pooling.
    """

    columns1: Floats
    conv1: Floats
    columns2: Floats
    conv2: Floats
    pooled: Floats
    features: Floats
    dense1: Floats
    hidden: Floats
    logits: Floats


def forward(params: Params, images: Floats) -> Layers:
    """Run the network on ``images`` (N, 1, 8, 8), ink from 0 to 16."""
    conv1, columns1 = convolve(images * INK_SCALE, params["conv1.weight"], params["conv1.bias"])
    conv2, columns2 = convolve(np.maximum(conv1, 0), params["conv2.weight"], params["conv2.bias"])
    pooled = pool(conv2)
    features = np.maximum(pooled, 0).reshape(len(images), -1)
    dense1 = features @ params["dense1.weight"] + params["dense1.bias"]
    hidden = np.maximum(dense1, 0)
    logits = hidden @ params["dense2.weight"] + params["dense2.bias"]
    return Layers(columns1, conv1, columns2, conv2, pooled, features, dense1, hidden, logits)


def gradients(params: Params, images: Floats, labels: npt.NDArray[np.int64]) -> Params:
    """Gradient of the mean cross-entropy. ``images`` (N, 1, 8, 8), ``labels`` (N,)."""
    layers = forward(params, images)
    d_logits = softmax(layers.logits)
    d_logits[np.arange(len(labels)), labels] -= 1
    d_logits /= np.float32(len(labels))
    d_dense1: Floats = (d_logits @ params["dense2.weight"].T) * (layers.dense1 > 0)
    d_features: Floats = d_dense1 @ params["dense1.weight"].T
    d_pooled: Floats = d_features.reshape(layers.pooled.shape)
    d_pooled *= layers.pooled > 0
    d_conv2 = upsample(d_pooled) * (layers.conv2 == upsample(layers.pooled))
    flipped = params["conv2.weight"][:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
    d_relu1, _ = convolve(d_conv2, flipped, np.zeros(len(flipped), np.float32))
    d_conv1 = d_relu1 * (layers.conv1 > 0)
    return {
        "conv1.weight": _conv_weight_gradient(d_conv1, layers.columns1),
        "conv1.bias": d_conv1.sum(axis=(0, 2, 3)),
        "conv2.weight": _conv_weight_gradient(d_conv2, layers.columns2),
        "conv2.bias": d_conv2.sum(axis=(0, 2, 3)),
        "dense1.weight": layers.features.T @ d_dense1,
        "dense1.bias": d_dense1.sum(axis=0),
        "dense2.weight": layers.hidden.T @ d_logits,
        "dense2.bias": d_logits.sum(axis=0),
    }


def _conv_weight_gradient(d_out: Floats, columns: Floats) -> Floats:
    """(N, M, H, W) and (N, H, W, C * 9) -> (M, C, 3, 3)."""
    num_filters = d_out.shape[1]
    by_filter: Floats = d_out.transpose(1, 0, 2, 3).reshape(num_filters, -1)
    return (by_filter @ columns.reshape(-1, columns.shape[-1])).reshape(num_filters, -1, 3, 3)


def upsample(images: Floats) -> Floats:
    """Each value as a 2 x 2 square."""
    return images.repeat(2, axis=2).repeat(2, axis=3)


def softmax(logits: Floats) -> Floats:
    """Probabilities along the last axis."""
    powers: Floats = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return probabilities


def shuffled_batches(
    rng: np.random.Generator, images: Floats, labels: npt.NDArray[np.int64]
) -> Iterator[tuple[Floats, npt.NDArray[np.int64]]]:
    """One epoch: each image once, moved by up to one pixel each way."""
    order = rng.permutation(len(images))
    for start in range(0, len(order), BATCH_SIZE):
        chosen = order[start : start + BATCH_SIZE]
        shift = rng.integers(-1, 2, size=2)
        padded = np.pad(images[chosen], ((0, 0), (0, 0), (1, 1), (1, 1)))
        top, left = 1 + shift
        yield padded[:, :, top : top + 8, left : left + 8], labels[chosen]


def train(images: Floats, labels: npt.NDArray[np.int64]) -> Params:
    """Parameters after Adam (Kingma and Ba, 2015) with a rate that falls to zero."""
    rng = np.random.default_rng(SEED)
    params = initial_params(rng)
    mean = {name: np.zeros_like(value) for name, value in params.items()}
    square = {name: np.zeros_like(value) for name, value in params.items()}
    num_steps = NUM_EPOCHS * -(-len(images) // BATCH_SIZE)
    step = 0
    for _ in range(NUM_EPOCHS):
        for batch, batch_labels in shuffled_batches(rng, images, labels):
            rate = LEARNING_RATE * (1 - step / num_steps)
            step += 1
            for name, gradient in gradients(params, batch, batch_labels).items():
                mean[name] = 0.9 * mean[name] + 0.1 * gradient
                square[name] = 0.999 * square[name] + 0.001 * gradient**2
                unbiased = mean[name] / (1 - 0.9**step)
                spread = np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8
                params[name] = (params[name] - rate * unbiased / spread).astype(np.float32)
    return params


def to_onnx(params: Params) -> onnx.ModelProto:
    """The classifier as a model with an open ``batch``."""
    conv: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    layers: list[tuple[str, list[str], str, dict[str, Any]]] = [
        ("Mul", ["image", "ink_scale"], "ink", {}),
        ("Conv", ["ink", "conv1.weight", "conv1.bias"], "conv1", conv),
        ("Relu", ["conv1"], "relu1", {}),
        ("Conv", ["relu1", "conv2.weight", "conv2.bias"], "conv2", conv),
        ("Relu", ["conv2"], "relu2", {}),
        ("MaxPool", ["relu2"], "pooled", {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("Flatten", ["pooled"], "features", {}),
        ("Gemm", ["features", "dense1.weight", "dense1.bias"], "dense1", {}),
        ("Relu", ["dense1"], "relu3", {}),
        ("Gemm", ["relu3", "dense2.weight", "dense2.bias"], "logits", {}),
        ("Softmax", ["logits"], "probabilities", {"axis": 1}),
    ]
    nodes = [
        helper.make_node(op_type, inputs, [output], name=f"{output}_node", **attributes)
        for op_type, inputs, output, attributes in layers
    ]
    weights = {"ink_scale": np.asarray(INK_SCALE), **params}
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="cugraphmodel"
    )
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model


def main(folder: Path) -> None:
    """Train, report the accuracy on held-out images, write both files into ``folder``."""
    digits = load_digits()
    images = digits.images.astype(np.float32)[:, None]
    labels = digits.target.astype(np.int64)
    order = np.random.default_rng(SEED).permutation(len(images))
    held_out, training = order[:NUM_HELD_OUT], order[NUM_HELD_OUT:]
    params = train(images[training], labels[training])
    right = forward(params, images[held_out]).logits.argmax(axis=1) == labels[held_out]
    print(f"held-out accuracy {right.mean():.4f} ({right.sum()} of {right.size})")
    (folder / "digits.onnx").write_bytes(to_onnx(params).SerializeToString(deterministic=True))
    np.savez_compressed(
        folder / "digits.npz",
        images=digits.images[held_out].astype(np.uint8),
        labels=labels[held_out].astype(np.uint8),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
