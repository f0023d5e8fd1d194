"""drop_identity: nodes that rename a value are gone."""

from __future__ import annotations

import numpy as np
import pytest

from cugraphmodel.executors.base import Device
from cugraphmodel.passes.drop_identity import drop_identity
from tests.api.builders import build
from tests.passes.graphs import assert_same_results, graph_of, ops_of


def test_drops_what_stands_between(opened_device: Device) -> None:
    model = build(
        "(float[2,5] x) => (float[2,5] y)",
        "a = Identity(x) b = Identity(a) c = Dropout(b) d = Relu(c) e = Identity(d) y = Add(e, c)",
    )
    graph = assert_same_results(model, drop_identity, opened_device)
    assert ops_of(graph) == ["Relu", "Add"]
    assert set(graph.values) == {"x", "d", "y"}


def test_what_reads_a_shape_still_knows_it(opened_device: Device) -> None:
    model = build(
        "(float[2,6] x) => (float[3,4] y)",
        "a = Identity(x) y = Reshape(a, s)",
        s=np.array([3, 4]),
    )
    assert ops_of(assert_same_results(model, drop_identity, opened_device)) == ["Reshape"]


@pytest.mark.parametrize("outputs", [("y",), ("y", "x"), ("y", "r"), ("y", "r", "x")])
def test_keeps_an_output(outputs: tuple[str, ...], opened_device: Device) -> None:
    model = build("(float[2,5] x) => (float[2,5] y)", "r = Relu(x) y = Identity(r)")
    graph = assert_same_results(model, drop_identity, opened_device, outputs)
    assert ops_of(graph) == ["Relu", "Identity"]


def test_keeps_a_dropout_with_a_mask() -> None:
    model = build(
        "(float[2,5] x) => (float[2,5] y)", "d, m = Dropout(x) f = Cast<to=1>(m) y = Add(d, f)"
    )
    assert ops_of(drop_identity(graph_of(model))) == ["Dropout", "Cast", "Add"]
