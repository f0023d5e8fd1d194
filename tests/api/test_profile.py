"""``graph.profile``: which rows, which times, and what it leaves alone."""

from __future__ import annotations

import html
import json
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

import cugraphmodel
from cugraphmodel.cost import Rates
from cugraphmodel.errors import ArgumentError, DataIndexError, GraphClosedError
from cugraphmodel.executors import open_device
from tests.api.builders import affine, build, normal

X = normal(3, 2, 4)


@pytest.fixture
def chain() -> Any:
    """A product with bias and activation, a view, a copy of some rows, and a softmax."""
    return build(
        "(float[N,6] x) => (float[M,5,2] y)",
        "p = MatMul(x, w) q = Add(p, b) r = Relu(q) s = Reshape(r, shape) "
        "t = Gather<axis=1>(s, rows) y = Softmax<axis=2>(t)",
        w=normal(1, 6, 8),
        b=normal(2, 8),
        shape=np.array([-1, 4, 2]),
        rows=np.array([0, 1, 2, 3, 0]),
    )


def test_rows_are_the_kernels_of_the_graph(chain: Any, device: str) -> None:
    with cugraphmodel.load(chain, device=device).capture_graph(3) as graph:
        profile = graph.profile(repeats=3)
        assert profile.device == open_device(device).description
        assert [node.op_type for node in profile.nodes] == ["FusedMatMul", "Gather", "Softmax"]
        assert [node.index for node in profile.nodes] == [0, 4, 5]
        kernels = [kernel for node in profile.nodes for kernel in node.kernels]
        assert [k.kernel for k in kernels] == [step.launch.entry for step in graph.plan.steps]
        assert all(kernel.us > 0 for kernel in kernels)
    assert profile.us == pytest.approx(sum(kernel.us for kernel in kernels))
    product, gather, softmax = profile.nodes
    assert [node.output for node in profile.nodes] == [
        "float32[3,8]", "float32[3,5,2]", "float32[3,5,2]"
    ]  # fmt: skip
    assert (product.flops, product.num_bytes) == (2 * 3 * 6 * 8, 4 * (18 + 48 + 8 + 24))
    # Gather reads at most the 3 x 4 x 2 numbers that there are, and five indices.
    assert (gather.flops, gather.num_bytes) == (0, 4 * (24 + 30) + 5 * 8)
    assert softmax.num_bytes == 4 * 60
    times = [node.us for node in profile.by_time().nodes]
    assert times == sorted(times, reverse=True)
    assert json.loads(json.dumps([asdict(node) for node in profile.nodes]))[0]["index"] == 0


def test_values_known_at_capture_are_not_read() -> None:
    model = build(
        "(float[2,6] x) => (float[2,2] y)",
        "y = Slice(x, begin, end, axes)",
        begin=np.array([1]),
        end=np.array([3]),
        axes=np.array([1]),
    )
    with cugraphmodel.load(model, device="cpu").capture_graph() as graph:
        [node] = graph.profile(1).nodes
    assert (node.op_type, node.num_bytes) == ("Slice", 4 * (4 + 4))


def test_floor_needs_rates(chain: Any) -> None:
    with cugraphmodel.load(chain, device="cpu").capture_graph(3) as graph:
        bare = graph.profile(1)
        rated = graph.profile(1, Rates(bandwidth=1e-3, tflops={"fma": 1e-6}))
    assert bare.floor_us is None
    assert "floor" not in str(bare)
    product, gather, softmax = rated.nodes
    assert product.floor_us == pytest.approx(2 * 3 * 6 * 8)
    assert gather.floor_us == pytest.approx(256e-3)
    assert softmax.floor_us == pytest.approx(150)
    assert product.share_of_floor == pytest.approx(288 / product.us)
    assert rated.floor_us == pytest.approx(288 + 0.256 + 150)
    assert "of floor" in str(rated)


def test_it_prints_and_shows_a_table(chain: Any) -> None:
    with cugraphmodel.load(chain, device="cpu").capture_graph(3) as graph:
        profile = graph.profile(1)
    text, page = repr(profile), profile._repr_html_()
    assert len(text.splitlines()) == 2 + 3 + 1
    for row in profile.rows():
        for cell in row:
            assert cell in text
            assert html.escape(cell) in page
    assert page.count("<tr>") == 1 + 3 + 1


def test_outputs_and_state_stay(device: str) -> None:
    model = cugraphmodel.load(
        build(
            "(float[2] x, float[2] s) => (float[2] y, float[2] t)",
            "t = Add(s, x) y = Mul(t, t)",
        ),
        device=device,
    )
    one = np.ones(2, np.float32)
    with model.capture_graph(state={"s": "t"}) as graph:
        graph.run([one])
        graph.run([one])
        graph.input_slice_mut(0)[:] = 100
        before = graph.output_slice(0).copy()
        profile = graph.profile(repeats=4)
        assert profile.nodes[-1].op_type == "Carry"
        assert profile.nodes[-1].num_bytes == 2 * 8
        np.testing.assert_array_equal(graph.output_slice(0), before)
        [y] = graph.run([one])
        np.testing.assert_array_equal(y, np.full(2, 9, np.float32))


def test_data_that_is_no_index_does_no_harm(device: str) -> None:
    model = cugraphmodel.load(
        build("(float[4] x, int64[2] i) => (float[2] y)", "y = Gather(x, i)"), device=device
    )
    x = np.arange(4, dtype=np.float32)
    with model.capture_graph() as graph:
        with pytest.raises(DataIndexError):
            graph.run([x, np.array([0, 9])])
        assert graph.profile(2).us > 0
        np.testing.assert_array_equal(graph.run([x, np.array([3, 1])])[0], [3, 1])


def test_nothing_to_time(device: str) -> None:
    model = cugraphmodel.load(
        build("(float[N,4] x) => (float[N,4] y)", "y = Identity(x)"), device=device
    )
    with model.capture_graph(2) as graph:
        assert graph.num_kernels == 0
        profile = graph.profile()
    assert (profile.nodes, profile.us) == ((), 0)
    assert "0 kernels" in str(profile)


def test_wrong_calls() -> None:
    graph = cugraphmodel.load(affine(), device="cpu").capture_graph(2)
    with pytest.raises(ArgumentError, match="repeats is 0"):
        graph.profile(0)
    graph.close()
    with pytest.raises(GraphClosedError):
        graph.profile()


@pytest.mark.gpu
def test_kernels_on_a_gpu_take_about_as_long_as_a_run() -> None:
    model = cugraphmodel.load(
        build(
            "(float[N,2048] x) => (float[N,2048] y)",
            "p = MatMul(x, w) y = Softmax<axis=1>(p)",
            w=normal(1, 2048, 2048),
        ),
        device="cuda",
    )
    with model.capture_graph(1024) as graph:
        graph.input_slice_mut(0)[...] = normal(2, 1024, 2048)
        graph.run_timed_inplace()
        run_us = min(graph.run_timed_inplace() for _ in range(20)) * 1e3
        profile = graph.profile()
    assert profile.us == pytest.approx(run_us, rel=0.5)
    assert profile.nodes[0].us > profile.nodes[1].us > 0
