"""State that stays on the device gives what feeding it by hand gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import HealthCheck, given, settings

import cugraphmodel
from cugraphmodel.errors import (
    ArgumentError,
    DataIndexError,
    DtypeError,
    GraphClosedError,
    ShapeError,
)
from tests.api.builders import build, normal

Array = npt.NDArray[Any]
SAME_DEVICE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def running_sum() -> onnx.ModelProto:
    """total[N, 3] and twice[N, 3] from x[N, 3] and what the total was before."""
    return build(
        "(float[N,3] x, float[N,3] before) => (float[N,3] total, float[N,3] twice)",
        "total = Add(x, before) twice = Add(total, total)",
    )


def recurrent() -> onnx.ModelProto:
    """An LSTM over x[T, N, 3] whose state h, c [1, N, 4] comes and goes by name."""
    return build(
        "(float[T,N,3] x, float[1,N,4] h, float[1,N,4] c)"
        " => (float[T,1,N,4] y, float[1,N,4] hn, float[1,N,4] cn)",
        "y, hn, cn = LSTM <hidden_size = 4> (x, w, r, b, , h, c)",
        w=normal(1, 1, 16, 3),
        r=normal(2, 1, 16, 4),
        b=normal(3, 1, 32),
    )


def shift_register() -> onnx.ModelProto:
    """The last three values of x[2]: each register takes what the one before it held."""
    return build(
        "(float[2] x, float[2] first, float[2] second, float[2] third) => (float[2] y)",
        "held = Identity(second) sum = Add(first, held) y = Add(sum, third)",
    )


def by_hand(
    model: cugraphmodel.LoadedModel,
    capture: Mapping[str, Any],
    state: Mapping[str, str],
    start: Mapping[str, Array],
    steps: list[dict[str, Array]],
    asked: list[str],
) -> list[list[Array]]:
    """The asked outputs of each step, with the state passed in and taken out by the caller."""
    names = [*asked, *state.values()]
    kept = dict(start)
    results = []
    with model.capture_graph(output_node_indices=names, **capture) as graph:
        for step in steps:
            got = graph.run({**step, **kept})
            kept = dict(zip(state, got[len(asked) :], strict=True))
            results.append(got[: len(asked)])
    return results


def assert_equal(got: list[list[Array]], right: list[list[Array]]) -> None:
    for step, other in zip(got, right, strict=True):
        for array, expected in zip(step, other, strict=True):
            np.testing.assert_array_equal(array, expected)


def test_a_recurrent_model_goes_on_where_it_stopped(device: str) -> None:
    model = cugraphmodel.load(recurrent(), device=device)
    state = {"h": "hn", "c": "cn"}
    sizes: dict[str, Any] = {"dims": {"T": 2, "N": 3}}
    steps = [{"x": normal(seed, 2, 3, 3)} for seed in range(4)]
    zeros = np.zeros((1, 3, 4), np.float32)
    right = by_hand(model, sizes, state, {"h": zeros, "c": zeros}, steps, ["y"])
    with model.capture_graph(**sizes, state=state) as graph:
        assert graph.input_names == ("x",)
        assert graph.output_names == ("y",)
        assert graph.state_names == ("h", "c")
        assert "keeps h, c" in repr(graph)
        assert "<td>state</td><td>h</td><td>float32</td><td>[1, 3, 4]</td>" in graph._repr_html_()
        for _ in range(2):
            assert_equal([graph.run(step) for step in steps], right)
            graph.reset_state()


def test_every_way_to_run_advances_the_state_once(device: str) -> None:
    model = cugraphmodel.load(running_sum(), device=device)
    x = normal(0, 2, 3)
    with model.capture_graph(2, ["total"], state={"before": "total"}) as graph:
        expected = np.zeros((2, 3), np.float32)
        graph.input_slice_mut(0)[:] = x
        for run in (
            lambda: graph.run([x]),
            lambda: graph.run_timed([x]),
            graph.run_inplace,
            graph.run_timed_inplace,
        ):
            run()
            expected = x + expected
            np.testing.assert_array_equal(graph.output_slice(0), expected)
        graph.reset_state()
        np.testing.assert_array_equal(graph.run([x])[0], x)


def test_two_graphs_have_states_of_their_own(device: str) -> None:
    model = cugraphmodel.load(running_sum(), device=device)
    one = np.ones((1, 3), np.float32)
    state = {"before": "total"}
    with model.capture_graph(state=state) as first, model.capture_graph(state=state) as second:
        assert [first.run([one])[0][0, 0] for _ in range(3)] == [2, 4, 6]
        assert second.run([one])[0][0, 0] == 2
        first.reset_state()
        assert second.run([one])[0][0, 0] == 4
        assert first.run([one])[0][0, 0] == 2


@pytest.mark.parametrize("asked", [None, ["total"], ["twice", "total", "before"], ["before"]])
def test_an_output_that_is_state_can_be_read_as_well(asked: list[str] | None, device: str) -> None:
    model = cugraphmodel.load(running_sum(), device=device)
    x = normal(1, 1, 3)
    with model.capture_graph(output_node_indices=asked, state={"before": "total"}) as graph:
        assert graph.output_names == tuple(asked or ["twice"])
        before = np.zeros_like(x)
        for _ in range(3):
            right = {"before": before, "total": x + before, "twice": (x + before) * 2}
            for name, got in zip(graph.output_names, graph.run([x]), strict=True):
                np.testing.assert_array_equal(got, right[name])
            before = right["total"]


REGISTERS = {
    "chain": {"second": "first", "third": "second", "first": "x"},
    "reversed_chain": {"first": "x", "third": "second", "second": "first"},
    "view_chain": {"third": "held", "second": "first", "first": "x"},
    "swap": {"first": "second", "second": "first"},
    "cycle": {"first": "second", "second": "third", "third": "first"},
    "itself": {"first": "first"},
    "two_of_one": {"first": "y", "second": "y", "third": "first"},
}


@pytest.mark.parametrize("state", REGISTERS.values(), ids=REGISTERS)
def test_states_that_feed_each_other_move_at_once(state: dict[str, str], device: str) -> None:
    model = cugraphmodel.load(shift_register(), device=device)
    free = [name for name in ("x", "first", "second", "third") if name not in state]
    steps = [{name: normal(10 * k + n, 2) for n, name in enumerate(free)} for k in range(5)]
    start = {name: normal(100 + n, 2) for n, name in enumerate(state)}
    asked = ["y", "first", "held", "third", "x"]
    right = by_hand(model, {}, state, start, steps, asked)
    with model.capture_graph(output_node_indices=asked, state=state, initial_state=start) as graph:
        assert graph.input_names == tuple(free)
        assert_equal([graph.run(step) for step in steps], right)


def test_a_constant_can_follow_a_state(device: str) -> None:
    model = cugraphmodel.load(
        build("(float[2] x, float[2] s) => (float[2] y)", "y = Add(x, s)", w=normal(1, 2)),
        device=device,
    )
    zero = np.zeros(2, np.float32)
    with model.capture_graph(state={"s": "w"}) as graph:
        np.testing.assert_array_equal(graph.run([zero])[0], zero)
        np.testing.assert_array_equal(graph.run([zero])[0], normal(1, 2))
        model.load_param("w", normal(2, 2))
        graph.run([zero])
        np.testing.assert_array_equal(graph.run([zero])[0], normal(2, 2))


def test_a_parameter_can_be_state_and_begins_with_its_value(device: str) -> None:
    model = cugraphmodel.load(
        build(
            "(float[2] x) => (float[2] y)",
            "mean = Add(x, running) y = Neg(mean)",
            running=normal(1, 2),
        ),
        device=device,
    )
    x = normal(2, 2)
    with model.capture_graph(state={"running": "mean"}) as graph:
        model.load_param("running", normal(3, 2))
        for _ in range(2):
            np.testing.assert_array_equal(graph.run([x])[0], -(x + normal(1, 2)))
            np.testing.assert_array_equal(graph.run([x])[0], -(x + (x + normal(1, 2))))
            graph.reset_state()
    np.testing.assert_array_equal(model.forward([x])[0], -(x + normal(3, 2)))


@pytest.mark.parametrize("dtype", ["int64", "bool", "float16", "double", "uint8"])
@pytest.mark.parametrize("size", [0, 1, 5, 16, 70_001])
def test_states_of_any_size_and_type_are_kept_whole(dtype: str, size: int, device: str) -> None:
    name = "float64" if dtype == "double" else dtype
    proto = build(
        f"({dtype}[2] x, {dtype}[S] s) => ({dtype}[2] y, {dtype}[T] turned)",
        "y = Identity(x) turned = Slice(s, begin, end, axes, step)",
        begin=np.array([-1]),
        end=np.array([-(2**62)]),
        axes=np.array([0]),
        step=np.array([-1]),
    )
    start = (normal(0, size) * 9).astype(name)
    x = np.zeros(2, name)
    with cugraphmodel.load(proto, device=device).capture_graph(
        dims={"S": size},
        output_node_indices=["turned"],
        state={"s": "turned"},
        initial_state={"s": start},
    ) as graph:
        for k in range(3):
            np.testing.assert_array_equal(graph.run([x])[0], start[::-1] if k % 2 == 0 else start)


def test_a_run_that_raises_leaves_the_state_as_it_was(device: str) -> None:
    proto = build(
        "(int64[1] i, float[1] s) => (float[1] y)",
        "taken = Gather(table, i) more = Add(taken, one) y = Add(more, s)",
        table=np.array([1, 9], np.float32),
        one=np.ones(1, np.float32),
    )
    good, bad = np.array([1]), np.array([2])
    with cugraphmodel.load(proto, device=device).capture_graph(
        output_node_indices=["y"], state={"s": "y"}
    ) as graph:
        assert graph.run([good])[0] == 10
        for _ in range(2):
            with pytest.raises(DataIndexError):
                graph.run([bad])
        with pytest.raises(DtypeError):
            graph.run([good.astype(np.int32)])
        assert graph.run([good])[0] == 20


def test_the_initial_state_is_copied(device: str) -> None:
    start = normal(0, 1, 3)
    kept = start.copy()
    x = np.zeros((1, 3), np.float32)
    model = cugraphmodel.load(running_sum(), device=device)
    with model.capture_graph(
        state={"before": "total"}, initial_state={"before": start}, output_node_indices=["total"]
    ) as graph:
        start[:] = 9
        graph.reset_state()
        np.testing.assert_array_equal(graph.run([x])[0], kept)


def test_a_closed_graph_has_no_state(device: str) -> None:
    graph = cugraphmodel.load(running_sum(), device=device).capture_graph(state={"before": "total"})
    graph.close()
    with pytest.raises(GraphClosedError):
        graph.reset_state()


def test_fusion_leaves_what_feeds_a_state(device: str) -> None:
    proto = build(
        "(float[2,3] x, float[2,4] s) => (float[2,4] y)",
        "product = MatMul(x, w) shifted = Add(product, b) y = Relu(shifted)",
        w=normal(1, 3, 4),
        b=normal(2, 4),
    )
    model = cugraphmodel.load(proto, device=device)
    x = normal(3, 2, 3)
    with model.capture_graph(output_node_indices=["y", "s"], state={"s": "product"}) as graph:
        graph.run([x])
        np.testing.assert_allclose(graph.run([x])[1], x @ normal(1, 3, 4), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"state": {"past": "total"}}, ArgumentError, r"state names 'past', but the inputs are"),
        ({"state": {"before": "sum"}}, ArgumentError, "no value and no node named 'sum'"),
        ({"state": ["before"]}, TypeError, "state takes a dict"),
        ({"state": {"before": 0}}, TypeError, "takes names of inputs and of outputs"),
        (
            {
                "state": {"before": "total"},
                "constant_inputs": {"before": np.zeros((1, 3), np.float32)},
            },
            ArgumentError,
            "in state and in constant_inputs",
        ),
        (
            {"state": {"before": "total", "x": "twice"}},
            ArgumentError,
            r"All outputs \['total', 'twice'\] are state",
        ),
        (
            {"state": {"before": "total"}, "initial_state": {"x": np.zeros((1, 3), np.float32)}},
            ArgumentError,
            r"initial_state names \['x'\], but the state is \['before'\]",
        ),
        (
            {"state": {"before": "total"}, "initial_state": {"before": np.zeros((1, 3))}},
            DtypeError,
            r"initial_state\['before'\] has dtype float64",
        ),
        (
            {"state": {"before": "total"}, "initial_state": {"before": np.zeros(3, np.float32)}},
            ShapeError,
            r"initial_state\['before'\] has shape \(3,\), expected \(1, 3\)",
        ),
        ({"initial_state": {"before": np.zeros(3)}}, ArgumentError, r"but the state is \[\]"),
        ({"state": {}, "initial_state": 3}, TypeError, "initial_state takes a dict, not int"),
    ],
)
def test_wrong_arguments_are_named(
    arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    model = cugraphmodel.load(running_sum(), device="cpu")
    with pytest.raises(error, match=text):
        model.capture_graph(**arguments)


def test_a_state_of_another_shape_or_dtype_is_an_error_before_anything_is_compiled() -> None:
    proto = build(
        "(float[2,3] x, float[A,B] s, int32[2,3] n) => (float[2,3] y)",
        "s2 = Add(s, s) y = Neg(x)",
    )
    model = cugraphmodel.load(proto, device="cpu")
    compiled: list[object] = []

    def progress(*done: object) -> None:
        compiled.append(done)

    with pytest.raises(
        ShapeError, match=r"state s: float32\[1,3\] cannot become output y: float32\[2,3\].*shapes"
    ):
        model.capture_graph(
            output_node_indices=["y"],
            input_shapes={"s": (1, 3)},
            state={"s": "y"},
            progress=progress,
        )
    with pytest.raises(DtypeError, match=r"state n: int32\[2,3\] cannot become output y: float32"):
        model.capture_graph(
            output_node_indices=["y"],
            input_shapes={"s": (1, 3)},
            state={"n": "y"},
            progress=progress,
        )
    assert compiled == []


@SAME_DEVICE
@given(data=st.data())
def test_any_wiring_of_states_equals_feeding_by_hand(device: str, data: st.DataObject) -> None:
    names = ("a", "b", "c", "d")
    proto = build(
        "(float[3] a, float[3] b, float[3] c, float[3] d) => (float[3] y)",
        "p = Add(a, b) q = Mul(p, c) v = Identity(d) n = Neg(v) y = Sub(q, n)",
        w=normal(7, 3),
    )
    values = [*names, "p", "q", "v", "n", "y", "w"]
    states = data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1), "states")
    state = {name: data.draw(st.sampled_from(values), name) for name in states}
    asked = data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=4), "asked")
    start = {name: normal(n, 3) for n, name in enumerate(states)}
    free = [name for name in names if name not in state]
    steps = [{name: normal(9 * k + n + 5, 3) for n, name in enumerate(free)} for k in range(3)]
    model = cugraphmodel.load(proto, device=device)
    right = by_hand(model, {}, state, start, steps, asked)
    with model.capture_graph(output_node_indices=asked, state=state, initial_state=start) as graph:
        for _ in range(2):
            assert_equal([graph.run(step) for step in steps], right)
            graph.reset_state()


def test_the_check_mode_takes_state_for_written() -> None:
    model = cugraphmodel.load(recurrent(), device="cpu:check")
    state = {"h": "hn", "c": "cn"}
    with model.capture_graph(dims={"T": 2, "N": 1}, state=state) as graph:
        first = graph.run([normal(0, 2, 1, 3)])[0]
        assert not np.array_equal(graph.run([normal(0, 2, 1, 3)])[0], first)
