"""Recurrent layers of random sizes, the choice of kernels, and nodes that cannot run."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper

import cugraphmodel
from cugraphmodel.errors import DataIndexError
from cugraphmodel.executors.base import Device
from cugraphmodel.ops.case import OpCase
from cugraphmodel.ops.recurrent.quantized_lstm_cases import CASES as QUANTIZED_CASES
from cugraphmodel.ops.recurrent.recurrent_cases import CASES, GATES, recurrent_layer
from cugraphmodel.ops.spec import Unsupported
from cugraphmodel.plan import build_plan
from tests.ops import harness

SAME_DEVICE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def recurrent_cases(draw: st.DrawFn) -> OpCase:
    """A layer whose sizes and optional inputs are drawn; its functions are the defaults."""
    op_type = draw(st.sampled_from(["LSTM", "GRU", "RNN"]))
    steps, batch = draw(st.sampled_from([1, 2, 3, 5])), draw(st.sampled_from([1, 3]))
    size, hidden = draw(st.integers(1, 5)), draw(st.sampled_from([1, 3, 5, 8, 12]))
    direction = draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    attributes: dict[str, Any] = {"direction": direction, "layout": draw(st.integers(0, 1))}
    if op_type == "GRU":
        attributes["linear_before_reset"] = draw(st.integers(0, 1))
    if op_type == "LSTM":
        attributes["input_forget"] = draw(st.integers(0, 1))
    if draw(st.booleans()):
        attributes["clip"] = 0.5
    directions, rows = 2 if direction == "bidirectional" else 1, GATES[op_type] * hidden
    state: tuple[int, ...] = (directions, batch, hidden)
    x: tuple[int, ...] = (steps, batch, size)
    if attributes["layout"]:
        state, x = (batch, directions, hidden), (batch, steps, size)
    lengths = draw(st.lists(st.integers(0, steps), min_size=batch, max_size=batch))
    optional = [
        OpCase.random(4, directions, 2 * rows),
        np.array(lengths, np.int32),
        OpCase.random(5, *state),
        *([OpCase.random(6, *state)] if op_type == "LSTM" else []),
        *([OpCase.random(7, directions, 3 * hidden)] if op_type == "LSTM" else []),
    ]
    return OpCase(
        "random",
        op_type,
        [
            OpCase.random(1, *x),
            OpCase.random(2, directions, rows, size),
            OpCase.random(3, directions, rows, hidden),
            *(array if draw(st.booleans()) else None for array in optional),
        ],
        attributes,
        opset=14,
        num_outputs=3 if op_type == "LSTM" else 2,
        expected=lambda *given: recurrent_layer(op_type, attributes, given)[
            : 3 if op_type == "LSTM" else 2
        ],
        atol=3e-6,
    )


@SAME_DEVICE
@given(case=recurrent_cases())
def test_layers_of_any_size_follow_their_equations(opened_device: Device, case: OpCase) -> None:
    for got, right in zip(
        harness.run(case, opened_device), harness.expected_outputs(case), strict=True
    ):
        harness.assert_close(case, got, right)


def _of_onnx_runtime(case: OpCase) -> list[harness.Array]:
    model = harness._model(case, case.inputs)
    model.ir_version = 8
    for output in model.graph.output:
        output.type.tensor_type.elem_type = 1
    feeds = {f"in{k}": array for k, array in enumerate(case.inputs) if array is not None}
    if case.domain:  # takes weights as initializers alone
        model.opset_import.append(helper.make_opsetid("", 17))
        weights = [name for name, array in feeds.items() if array.dtype.kind in "iu"]
        model.graph.initializer.extend(
            onnx.numpy_helper.from_array(feeds.pop(name), name) for name in weights
        )
        free = [info for info in model.graph.input if info.name in feeds]
        del model.graph.input[:]
        model.graph.input.extend(free)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # more would quantise rows apart
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return [np.asarray(output) for output in session.run(None, feeds)]


COMPARED = ("five_rows", "one_step", "coupled", "functions_of_each_direction", "large", "reverse")


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.name in (*COMPARED, "linear_before_reset")],
    ids=str,
)
def test_the_written_out_equations_are_those_of_onnx_runtime(case: OpCase) -> None:
    right = harness.expected_outputs(case)
    for theirs, ours in zip(_of_onnx_runtime(case), right, strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", [case for case in QUANTIZED_CASES if case.inputs[4] is None])
def test_quantised_layers_are_those_of_onnx_runtime(case: OpCase, opened_device: Device) -> None:
    ours = harness.run(case, opened_device)
    for theirs, got in zip(_of_onnx_runtime(case), ours, strict=True):
        np.testing.assert_allclose(got, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "attributes", "reason"),
    [
        ({}, {"direction": "bidirectional"}, "split it into its two directions"),
        ({8: np.ones(3, np.float32)}, {}, "neither one number nor one for each column"),
        ({1: np.zeros((6, 32), np.int8)}, {}, "W and R have 3 dimensions"),
        ({0: np.zeros((0, 1, 6), np.float32)}, {}, "Its sequences are empty"),
    ],
)
def test_a_quantised_layer_that_cannot_run_says_why(
    changes: dict[int, harness.Array], attributes: dict[str, Any], reason: str
) -> None:
    good = QUANTIZED_CASES[0]
    inputs = [changes.get(position, array) for position, array in enumerate(good.inputs)]
    case = OpCase("refused", good.op_type, inputs, attributes, 1, domain=good.domain)
    with pytest.raises(Unsupported, match=reason):
        harness.graph_of(case)


@pytest.mark.parametrize("kept", ["y", "h", "c", "yh", "hc", "yc"])
@pytest.mark.parametrize("steps", [2, 4])
def test_any_output_may_be_left_out(kept: str, steps: int, device: str) -> None:
    names = [name if name in kept else "" for name in "yhc"]
    shapes = {"y": (steps, 1, 2, 5), "h": (1, 2, 5), "c": (1, 2, 5)}
    arrays = {
        "x": OpCase.random(0, steps, 2, 3),
        "w": OpCase.random(1, 1, 20, 3),
        "r": OpCase.random(2, 1, 20, 5),
    }
    node = helper.make_node("LSTM", list(arrays), names, hidden_size=5)
    infos = [helper.make_tensor_value_info(name, 1, array.shape) for name, array in arrays.items()]
    outputs = [helper.make_tensor_value_info(name, 1, shapes[name]) for name in kept]
    graph = helper.make_graph([node], "one layer", infos, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)])
    got = cugraphmodel.load(model, device=device).capture_graph().run(arrays)
    right = dict(zip("yhc", recurrent_layer("LSTM", {}, list(arrays.values())), strict=True))
    for name, array in zip(kept, got, strict=True):
        np.testing.assert_allclose(array, right[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("steps", [2, 4])
@pytest.mark.parametrize("length", [-1, 5])
def test_a_length_outside_the_sequence_is_an_error(
    steps: int, length: int, opened_device: Device
) -> None:
    arrays = [OpCase.random(seed, *shape) for seed, shape in enumerate(_shapes(steps))]
    case = OpCase("bad", "RNN", [*arrays, None, np.array([1, length], np.int32)], num_outputs=2)
    with harness.prepared(case, opened_device) as executable:
        harness.write_inputs(case, executable, case.inputs)
        with pytest.raises(DataIndexError, match="RNN"):
            executable.replay()


def _shapes(steps: int) -> list[tuple[int, ...]]:
    return [(steps, 2, 3), (1, 4, 3), (1, 4, 4)]


def _launches(op_type: str, steps: int, hidden: int, **attributes: Any) -> list[str]:
    rows = GATES[op_type] * hidden
    inputs = [
        np.broadcast_to(np.float32(0), shape)
        for shape in ((steps, 2, 3), (1, rows, 3), (1, rows, hidden))
    ]
    case = OpCase("geometry", op_type, inputs, attributes, opset=14)
    plan = build_plan(harness.graph_of(case))
    return [step.launch.entry for step in plan.steps][1:]


def test_the_kernel_follows_from_the_size() -> None:
    assert _launches("LSTM", 100, 128) == ["recurrent_sequence"]
    assert _launches("LSTM", 2, 128) == ["recurrent_step"] * 2
    assert _launches("LSTM", 100, 256) == ["recurrent_step"] * 100
    assert _launches("GRU", 3, 256) == ["recurrent_step"] * 6
    assert _launches("GRU", 3, 256, linear_before_reset=1) == ["recurrent_step"] * 3


@pytest.mark.parametrize(
    ("changes", "attributes", "reason"),
    [
        ({0: (3, 2)}, {}, "X and R have 3 dimensions"),
        ({1: (1, 5, 3)}, {}, r"W has shape \(1, 5, 3\), expected \(1, 4, 3\)"),
        ({2: (2, 4, 4)}, {}, r"R has shape \(2, 4, 4\), expected \(1, 4, 4\)"),
        ({3: (1, 4)}, {}, r"B has shape \(1, 4\), expected \(1, 8\)"),
        ({5: (1, 1, 4)}, {}, r"initial_h has shape \(1, 1, 4\), expected \(1, 2, 4\)"),
        ({}, {"hidden_size": 3}, "hidden_size=3, but R has 4 units"),
        ({}, {"clip": -1.0}, "clip=-1.0; a threshold is not negative"),
        ({}, {"direction": "backward"}, "direction='backward'"),
        ({}, {"activations": ["Tanh", "Tanh"]}, "2 entries; RNN takes 1 a direction"),
        ({}, {"activations": ["Gelu"]}, "Activation 'Gelu' is not one that the operator defines"),
    ],
)
def test_a_node_that_cannot_run_says_why(
    changes: dict[int, tuple[int, ...]], attributes: dict[str, Any], reason: str
) -> None:
    inputs: list[Any] = [np.zeros(shape, np.float32) for shape in _shapes(3)] + [None] * 3
    for position, shape in changes.items():
        inputs[position] = np.zeros(shape, np.float32)
    case = OpCase("refused", "RNN", inputs, attributes, opset=14)
    with pytest.raises(Unsupported, match=reason):
        harness.graph_of(case)
