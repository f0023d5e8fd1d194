"""If, Loop, Scan, sequences, optionals and operators that the standard defines by others."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest

import cugraphmodel
from cugraphmodel.errors import UnsupportedModelError
from tests.api.builders import normal

Array = npt.NDArray[Any]


def parse(signature: str, body: str, opset: int = 18) -> onnx.ModelProto:
    text = f'<ir_version: 8, opset_import: ["": {opset}]> m {signature} {{ {body} }}'
    return onnx.parser.parse_model(text)


def outputs(model: onnx.ModelProto, device: str, *inputs: Array, **constants: Array) -> list[Array]:
    """Of two replays, which must agree."""
    loaded = cugraphmodel.load(model, device=device)
    with loaded.capture_graph(constant_inputs=constants) as graph:
        first, second = graph.run(inputs), graph.run(inputs)
        for one, other in zip(first, second, strict=True):
            np.testing.assert_array_equal(one, other)
        return second


IF = (
    "(float[3] x, bool c) => (float[3] y)",
    """two = Constant <value = float {2}> ()
    y = If (c) <then_branch = t () => (float[3] a) { a = Mul (x, two) },
                else_branch = e () => (float[3] b) { b = Sub (x, two) }>""",
)


@pytest.mark.parametrize("flag", [True, False])
def test_a_computed_condition_selects(device: str, flag: bool) -> None:
    x = normal(1, 3)
    (y,) = outputs(parse(*IF), device, x, np.array(flag))
    np.testing.assert_array_equal(y, x * 2 if flag else x - 2)


@pytest.mark.parametrize("flag", [True, False])
def test_a_known_condition_leaves_one_branch(device: str, flag: bool) -> None:
    x = normal(2, 3)
    model = cugraphmodel.load(parse(*IF), device=device)
    with model.capture_graph(constant_inputs={"c": np.array(flag)}) as graph:
        assert [step.node.op_type for step in graph.plan.steps] == ["Mul" if flag else "Sub"]
        np.testing.assert_array_equal(graph.run([x])[0], x * 2 if flag else x - 2)


def test_a_condition_of_one_element_does_not_add_a_dimension(device: str) -> None:
    model = parse(
        "(float x, bool[1] c) => (float y)",
        """y = If (c) <then_branch = t () => (float a) { a = Neg (x) },
                      else_branch = e () => (float b) { b = Abs (x) }>""",
    )
    (y,) = outputs(model, device, np.array(3, np.float32), np.array([True]))
    assert y.shape == ()
    assert y.item() == -3


def test_branches_of_two_shapes_need_a_known_condition() -> None:
    model = parse(
        "(float[3] x, bool c) => (float[n] y)",
        """y = If (c) <then_branch = t () => (float[6] a) { a = Concat <axis = 0> (x, x) },
                      else_branch = e () => (float[3] b) { b = Neg (x) }>""",
    )
    loaded = cugraphmodel.load(model, device="cpu")
    with pytest.raises(UnsupportedModelError, match=r"float32\[6\] and float32\[3\].*constant_in"):
        loaded.capture_graph()
    (y,) = outputs(model, "cpu", normal(3, 3), c=np.array(True))
    assert y.shape == (6,)


def test_an_intermediate_and_a_branch_may_share_a_name(device: str) -> None:
    model = parse(
        "(float[3] x, bool c) => (float[3] y, float[3] a)",
        """a = Neg (x)
        y = If (c) <then_branch = t () => (float[3] z) { b = Abs (x) z = Add (a, b) },
                    else_branch = e () => (float[3] z) { b = Mul (x, x) z = Add (a, b) }>""",
    )
    x = normal(4, 3)
    y, a = outputs(model, device, x, np.array(False))
    np.testing.assert_array_equal(y, x * x - x)
    np.testing.assert_array_equal(a, -x)


LOOP = (
    "(int64 n, float[2] x) => (float[2] last, float[k, 2] all)",
    """last, all = Loop (n, , x) <body = b (int64 i, bool c, float[2] v) =>
        (bool d, float[2] w, float[2] s) {
        d = Identity (c) f = Cast <to = 1> (i) w = Add (v, f) s = Mul (w, x) }>""",
)


def test_a_loop_with_a_known_trip_count(device: str) -> None:
    x = normal(5, 2)
    last, all_ = outputs(parse(*LOOP), device, x, n=np.array(4))
    steps = [x + np.float32(k) for k in (0, 1, 3, 6)]
    np.testing.assert_allclose(last, steps[-1], rtol=1e-6)
    np.testing.assert_allclose(all_, np.stack(steps) * x, rtol=1e-6)


def test_a_loop_with_a_computed_trip_count_is_refused_and_told_why() -> None:
    loaded = cugraphmodel.load(parse(*LOOP), device="cpu")
    with pytest.raises(UnsupportedModelError, match="trip count 'n' is computed in the run"):
        loaded.capture_graph()


def test_a_loop_that_unrolls_too_far_is_refused() -> None:
    loaded = cugraphmodel.load(parse(*LOOP), device="cpu")
    with pytest.raises(UnsupportedModelError, match="unroll to more than"):
        loaded.capture_graph(constant_inputs={"n": np.array(10**12)})


@pytest.mark.parametrize("size", [3, 10**6])
def test_a_body_without_nodes_counts_too(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cugraphmodel.front.tracer.MAX_UNROLLED_NODES", 100)
    loop = parse(
        "(int64 n, float[2] x) => (float[2] y)",
        "y = Loop (n, , x) <body = b (int64 i, bool c, float[2] v) => (bool c, float[2] v) {}>",
    )
    scan = parse(
        "(float[2] x, float[n] s) => (float[2] y, float[m] t)",
        """y, t = Scan <num_scan_inputs = 1,
            body = b (float[2] v, float w) => (float[2] v, float w) {}> (x, s)""",
    )
    split = parse(
        "(float[n] s) => (float[1] y)",
        "p = Constant <value = int64 {-1}> () q = SplitToSequence (s) y = SequenceAt (q, p)",
    )
    x, s = normal(21, 2), np.arange(size, dtype=np.float32)
    if size > 3:
        for model in (loop, scan, split):
            loaded = cugraphmodel.load(model, device="cpu")
            constants = {"n": np.array(size)} if model is loop else {}
            shapes = {} if model is loop else {"s": (size,)}
            with pytest.raises(UnsupportedModelError, match="unroll to more than"):
                loaded.capture_graph(constant_inputs=constants, input_shapes=shapes)
        return
    np.testing.assert_array_equal(outputs(loop, "cpu", x, n=np.array(size))[0], x)
    shape = {"s": (size,)}
    with cugraphmodel.load(scan, device="cpu").capture_graph(input_shapes=shape) as graph:
        for got, right in zip(graph.run([x, s]), (x, s), strict=True):
            np.testing.assert_array_equal(got, right)
    with cugraphmodel.load(split, device="cpu").capture_graph(input_shapes=shape) as graph:
        np.testing.assert_array_equal(graph.run([s])[0], s[-1:])


@pytest.mark.parametrize(
    ("signature", "body", "reason"),
    [
        (
            "(float[3] x) => (float[3] y, float[3] z)",
            """n = Constant <value = int64 {2}> ()
            y, z = Loop (n, , x) <body = b (int64 i, bool c, float[3] v) => (bool c, float[3] w)
                { w = Neg (v) }>""",
            "gives nothing for its output 'z'",
        ),
        (
            "(float[3] x) => (float[3] y, float[3] z)",
            """c = Constant <value = bool {1}> ()
            y, z = If (c) <then_branch = t () => (float[3] a) { a = Neg (x) },
                           else_branch = e () => (float[3] b) { b = Abs (x) }>""",
            "gives nothing for its output 'z'",
        ),
        (
            "(float[3] x) => (float[3] y, float[3] z, float[3] t)",
            """y, z, t = Scan <num_scan_inputs = 1,
                body = b (float[3] v, float w) => (float[3] v, float w) {}> (x, x)""",
            "gives nothing for its output 't'",
        ),
        (
            "(float[3] x) => (float[3] y, float[3] z)",
            """y, z = Scan <num_scan_inputs = 3,
                body = b (float[3] v, float w) => (float[3] v, float w) {}> (x, x)""",
            "num_scan_inputs is 3, and it has 2 inputs",
        ),
        (
            "(float[3] x) => (float[3] y)",
            """n = Constant <value = float {2.7}> ()
            y = Loop (n, , x) <body = b (int64 i, bool c, float[3] v) => (bool c, float[3] w)
                { w = Neg (v) }>""",
            "trip count 'n' is float32, expected int64",
        ),
        (
            "(float[3] x) => (float[3] y)",
            """p = Constant <value = float {0.7}> () q = SequenceConstruct (x, x)
            y = SequenceAt (q, p)""",
            "position 'p' is float32",
        ),
        (
            "(float[3] x) => (float[6] y)",
            "q = SequenceConstruct (x, x) y = ConcatFromSequence <axis = 2, new_axis = 1> (q)",
            "Axis 2 is outside a tensor of rank 2",
        ),
        (
            "(float[3] x) => (float[1] y)",
            """p = Constant <value = int64 {0}> () q = SplitToSequence <axis = 1> (x)
            y = SequenceAt (q, p)""",
            "Axis 1 is outside a tensor of rank 1",
        ),
        (
            "(float[3] x) => (float[1] y)",
            """p = Constant <value = int64 {0}> () m = Constant <value = int64 {-1}> ()
            q = SplitToSequence (x, m) y = SequenceAt (q, p)""",
            "parts of size -1",
        ),
    ],
)
def test_what_does_not_fit_its_body_is_refused(signature: str, body: str, reason: str) -> None:
    loaded = cugraphmodel.load(parse(signature, body), device="cpu")
    with pytest.raises(UnsupportedModelError, match=reason):
        loaded.capture_graph()


@pytest.mark.parametrize("start", [0.5, 3.0, 100.0])
def test_a_loop_whose_condition_is_computed_stops_where_it_should(
    device: str, start: float
) -> None:
    """Doubles until the value passes 10, for 6 iterations at most."""
    model = parse(
        "(float x) => (float y)",
        """n = Constant <value = int64 {6}> ()  ten = Constant <value = float {10}> ()
        two = Constant <value = float {2}> ()  first = Less (x, ten)
        y = Loop (n, first, x) <body = b (int64 i, bool c, float v) => (bool d, float w) {
            w = Mul (v, two) d = Less (w, ten) }>""",
    )
    expected, count = start, 0
    while expected < 10 and count < 6:
        expected, count = expected * 2, count + 1
    (y,) = outputs(model, device, np.array(start, np.float32))
    assert y == expected


def test_a_loop_that_a_known_condition_ends(device: str) -> None:
    model = parse(
        "(float[2] x) => (float[2] y)",
        """go = Constant <value = bool {1}> ()  three = Constant <value = int64 {3}> ()
        y = Loop (, go, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) {
            w = Add (v, v) d = Less (i, three) }>""",
    )
    x = normal(6, 2)
    np.testing.assert_array_equal(outputs(model, device, x)[0], x * 16)


@pytest.mark.parametrize("backward", [False, True])
def test_scan_along_another_axis(device: str, backward: bool) -> None:
    model = parse(
        "(float[2] s, float[2, 5] x) => (float[2] last, float[2, 5] y)",
        f"""last, y = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [-1],
            scan_input_directions = [{int(backward)}], scan_output_directions = [{int(backward)}],
            body = b (float[2] v, float[2] e) => (float[2] w, float[2] o) {{
                w = Add (v, e) o = Identity (w) }}> (s, x)""",
    )
    s, x = normal(7, 2), normal(8, 2, 5)
    last, y = outputs(model, device, s, x)
    order = x[:, ::-1] if backward else x
    sums = s[:, None] + np.cumsum(order, axis=1, dtype=np.float64)
    np.testing.assert_allclose(y, sums[:, ::-1] if backward else sums, rtol=1e-5)
    np.testing.assert_allclose(last, sums[:, -1], rtol=1e-5)


def test_sequences_are_followed(device: str) -> None:
    model = parse(
        "(float[5, 3] x) => (float[7, 3] y, int64 n, float[3] row)",
        """two = Constant <value = int64 {2}> ()  one = Constant <value = int64 {1}> ()
        minus = Constant <value = int64 {-1}> ()
        parts = SplitToSequence <axis = 0> (x, two)
        first = SequenceAt (parts, minus)
        more = SequenceInsert (parts, first, one)
        longer = SequenceInsert (more, first)
        n = SequenceLength (longer)
        y = ConcatFromSequence <axis = 0> (longer)
        rows = SplitToSequence <axis = 0, keepdims = 0> (x)
        fewer = SequenceErase (rows, minus)
        row = SequenceAt (fewer, minus)""",
    )
    x = normal(9, 5, 3)
    y, n, row = outputs(model, device, x)
    np.testing.assert_array_equal(y, np.concatenate([x[:2], x[4:], x[2:4], x[4:], x[4:]]))
    assert n == 5
    np.testing.assert_array_equal(row, x[3])


def test_a_sequence_as_output_is_refused() -> None:
    model = parse("(float[4] x) => (seq(float[n]) y)", "y = SplitToSequence <axis = 0> (x)")
    with pytest.raises(UnsupportedModelError, match="output 'y' is a sequence"):
        cugraphmodel.load(model, device="cpu").capture_graph()


def test_a_problem_inside_a_body_is_told_once() -> None:
    model = parse(
        "(float[2] x) => (float[2] y)",
        """n = Constant <value = int64 {50}> ()
        y = Loop (n, , x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) {
            d = Identity (c) w = RandomNormalLike (v) }>""",
    )
    with pytest.raises(UnsupportedModelError, match=r"1 problem:\n.*RandomNormalLike"):
        cugraphmodel.load(model, device="cpu").capture_graph()


def test_the_output_of_control_flow_is_found_by_name_and_index(device: str) -> None:
    x = normal(10, 3)
    loaded = cugraphmodel.load(parse(*IF), device=device)
    constants = {"c": np.array(True)}
    with loaded.capture_graph(None, ["y", 1], constant_inputs=constants) as graph:
        assert graph.output_names == ("y", "y")
        for y in graph.run([x]):
            np.testing.assert_array_equal(y, 2 * x)


def test_attention_runs_through_its_function_body(device: str) -> None:
    model = parse(
        "(float[2, 3, 4, 8] q, float[2, 3, 6, 8] k, float[2, 3, 6, 5] v) => (float[2, 3, 4, 5] y)",
        "y = Attention <is_causal = 1> (q, k, v)",
        opset=23,
    )
    q, k, v = normal(11, 2, 3, 4, 8), normal(12, 2, 3, 6, 8), normal(13, 2, 3, 6, 5)
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / np.sqrt(8)
    scores[..., np.triu(np.ones((4, 6), bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(outputs(model, device, q, k, v)[0], expected, rtol=1e-5, atol=1e-6)
