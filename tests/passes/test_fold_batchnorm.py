"""fold_batchnorm: one Conv in the place of Conv, BatchNormalization and constant arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from cugraphmodel.executors.base import Device
from cugraphmodel.ir import Parameters
from cugraphmodel.passes.fold_batchnorm import fold_batchnorm
from tests.api.builders import build, normal
from tests.passes.graphs import Array, assert_same_results, graph_of, ops_of, parameters_of

CONV = "c = Conv<pads=[1,1,1,1]>(x, w) "
BATCHNORM = "y = BatchNormalization<epsilon=0.01>(c, s, b, m, v)"
SIGNATURE = "(float[2,3,6,5] x) => (float[2,4,6,5] y)"


def _weights(channels: int = 4, **more: Array) -> dict[str, Any]:
    return {
        "w": normal(1, channels, 3, 3, 3),
        "s": normal(2, channels),
        "b": normal(3, channels),
        "m": normal(4, channels),
        "v": np.abs(normal(5, channels)) + 0.1,
        **more,
    }


def _model(body: str, signature: str = SIGNATURE, **more: Any) -> onnx.ModelProto:
    return build(signature, body, **_weights(**more))


@pytest.mark.parametrize(
    "body",
    [
        CONV + BATCHNORM,
        "c = Conv<pads=[1,1,1,1]>(x, w, k) " + BATCHNORM,
        CONV + "y = Mul(c, k3)",
        CONV + "y = Mul(k3, c)",
        CONV + "y = Add(c, k3)",
        CONV + "y = Add(k3, c)",
        CONV + "y = Sub(c, k3)",
        CONV + "y = Sub(k3, c)",
        CONV + "y = Div(c, k3)",
        CONV + "y = Mul(c, k4)",
        CONV + "y = Add(c, one)",
        CONV + "n = BatchNormalization(c, s, b, m, v) t = Mul(n, k3) y = Add(t, one)",
        CONV + "n = BatchNormalization(c, s, b, m, v) y = BatchNormalization(n, b, s, m, v)",
    ],
)
def test_folds_into_one_conv_with_the_same_result(body: str, opened_device: Device) -> None:
    constants: dict[str, Any] = {
        "k": normal(6, 4),
        "k3": normal(7, 4, 1, 1),
        "k4": normal(8, 1, 4, 1, 1),
        "one": np.array(0.7, np.float32),
    }
    used: dict[str, Any] = {
        name: array for name, array in constants.items() if name in body.replace("(", " ")
    }
    model = _model(body, **used)
    graph = assert_same_results(model, fold_batchnorm, opened_device)
    assert ops_of(graph) == ["Conv"]
    assert graph.nodes[0].index == 0
    assert "c" not in graph.values


def test_folds_grouped_and_one_dimensional_convolutions(opened_device: Device) -> None:
    grouped = build(
        "(float[1,6,4,4] x) => (float[1,4,2,2] y)",
        "c = Conv<group=2>(x, w) " + BATCHNORM,
        **_weights(),
    )
    assert ops_of(assert_same_results(grouped, fold_batchnorm, opened_device)) == ["Conv"]
    line = build(
        "(float[1,3,9] x) => (float[1,4,7] y)",
        "c = Conv(x, w) " + BATCHNORM,
        **{**_weights(), "w": normal(1, 4, 3, 3)},
    )
    assert ops_of(assert_same_results(line, fold_batchnorm, opened_device)) == ["Conv"]


@pytest.mark.parametrize(("group", "weights"), [(1, (6, 4, 2, 2)), (2, (6, 2, 3, 3))])
@pytest.mark.parametrize("bias", ["", ", k"])
def test_folds_into_transposed_convolutions(
    bias: str, group: int, weights: tuple[int, ...], opened_device: Device
) -> None:
    more: dict[str, Any] = {"k": normal(6, 4)} if bias else {}
    model = build(
        "(float[2,6,4,3] x) => (float[2,4,A,B] y)",
        f"c = ConvTranspose<group={group}, strides=[2,2]>(x, w{bias}) "
        "n = BatchNormalization(c, s, b, m, v) y = Mul(n, k3)",
        **_weights(w=normal(1, *weights), k3=normal(7, 4, 1, 1), **more),
    )
    graph = assert_same_results(model, fold_batchnorm, opened_device)
    assert ops_of(graph) == ["ConvTranspose"]


def test_what_follows_the_chain_stays(opened_device: Device) -> None:
    model = _model(CONV + "n = BatchNormalization(c, s, b, m, v) r = Relu(n) y = Add(r, k)", k=K3)
    graph = assert_same_results(model, fold_batchnorm, opened_device)
    assert ops_of(graph) == ["Conv", "Relu", "Add"]
    assert [node.index for node in graph.nodes] == [0, 2, 3]


K3 = normal(7, 4, 1, 1)


@pytest.mark.parametrize(
    ("body", "outputs"),
    [
        (CONV + BATCHNORM, ("y", "c")),
        (CONV + "n = BatchNormalization(c, s, b, m, v) y = Add(n, c)", ("y",)),
        (CONV + "y = Mul(c, c)", ("y",)),
        (CONV + "y = Div(k, c)", ("y",)),
        (CONV + "y = Mul(c, row)", ("y",)),
        (CONV + "y = Mul(c, image)", ("y",)),
        (CONV + "y = Add(c, more_axes)", ("y",)),
        (CONV + "y = Relu(c)", ("y",)),
        ("y = BatchNormalization(x, s3, s3, s3, s3)", ("y",)),
    ],
)
def test_leaves_alone(body: str, outputs: tuple[str, ...]) -> None:
    constants: dict[str, Any] = {
        "k": K3,
        "row": normal(1, 5),
        "image": normal(1, 2, 1, 1, 1),
        "more_axes": normal(1, 1, 1, 1, 1, 1),
        "s3": np.ones(3, np.float32),
    }
    graph = graph_of(_model(body, **constants), outputs)
    assert ops_of(fold_batchnorm(graph)) == ops_of(graph)


@pytest.mark.parametrize("computed", ["w", "s", "v"])
def test_leaves_alone_what_is_computed_at_run_time(computed: str) -> None:
    weights = _weights()
    shape = ",".join(map(str, weights.pop(computed).shape))
    signature = f"(float[2,3,6,5] x, float[{shape}] {computed}) => (float[2,4,6,5] y)"
    graph = graph_of(build(signature, CONV + BATCHNORM, **weights))
    assert ops_of(fold_batchnorm(graph)) == ["Conv", "BatchNormalization"]


def test_leaves_half_precision_alone() -> None:
    weights: dict[str, Any] = {name: array.astype(np.float16) for name, array in _weights().items()}
    signature = "(float16[2,3,6,5] x) => (float16[2,4,6,5] y)"
    graph = graph_of(build(signature, CONV + BATCHNORM, **weights))
    assert ops_of(fold_batchnorm(graph)) == ["Conv", "BatchNormalization"]


def test_a_value_between_that_is_asked_for_survives(opened_device: Device) -> None:
    body = CONV + "n = BatchNormalization(c, s, b, m, v) y = Mul(n, k)"
    graph = assert_same_results(_model(body, k=K3), fold_batchnorm, opened_device, ("y", "n"))
    assert ops_of(graph) == ["Conv", "Mul"]


def test_a_batchnorm_without_convolution_takes_in_what_follows(opened_device: Device) -> None:
    body = (
        "r = Relu(x) n = BatchNormalization<epsilon=0.01>(r, s, b, m, v) "
        "t = Mul(n, k) a = Add(t, k) y = BatchNormalization(a, s, b, m, v)"
    )
    weights = _weights(3, k=normal(7, 3, 1, 1))
    del weights["w"]
    model = build("(float[2,3,6,5] x) => (float[2,3,6,5] y)", body, **weights)
    graph = assert_same_results(model, fold_batchnorm, opened_device)
    assert ops_of(graph) == ["Relu", "BatchNormalization"]
    assert graph.nodes[1].index == 1


def test_two_convolutions_may_share_weights(opened_device: Device) -> None:
    body = (
        CONV + "n = BatchNormalization(c, s, b, m, v) "
        "d = Conv<pads=[1,1,1,1]>(x, w) t = Mul(d, k) y = Sub(n, t)"
    )
    graph = assert_same_results(_model(body, k=K3), fold_batchnorm, opened_device)
    assert ops_of(graph) == ["Conv", "Conv", "Sub"]


def test_derived_constants_follow_the_parameters() -> None:
    model = _model(CONV + BATCHNORM)
    graph = fold_batchnorm(graph_of(model))
    _, weights, bias = graph.nodes[0].inputs
    assert graph.constants[weights].params == {"w", "s", "b", "m", "v"}
    assert graph.constants[bias].params == {"s", "b", "m", "v"}
    parameters = parameters_of(model)
    _assert_folded(graph.constants[weights].compute(parameters), parameters)
    parameters.set("w", normal(11, 4, 3, 3, 3))
    parameters.set("v", np.full(4, 2.5, np.float32))
    _assert_folded(graph.constants[weights].compute(parameters), parameters)


def _assert_folded(folded: Array, parameters: Parameters) -> None:
    """Float64 arithmetic, rounded once."""
    factor = parameters["s"] / np.sqrt(parameters["v"].astype(np.float64) + np.float32(0.01))
    exact = parameters["w"].astype(np.float64) * factor.reshape(4, 1, 1, 1)
    np.testing.assert_array_equal(folded, exact.astype(np.float32))


def test_keys_are_stable_and_tell_constants_apart() -> None:
    def keys(body: str) -> list[str]:
        graph = fold_batchnorm(graph_of(_model(body)))
        return [graph.constants[name].key for name in graph.nodes[0].inputs[1:]]

    plain, again = keys(CONV + BATCHNORM), keys(CONV + BATCHNORM)
    assert plain == again
    assert len(set(plain)) == 2
    other = keys(CONV + BATCHNORM.replace("0.01", "0.02"))
    assert not set(plain) & set(other)
