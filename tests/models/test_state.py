"""Models that feed state back, with the state kept on the device, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

from tests.models.references import CASES, load_reference
from tests.models.test_models import assert_right, loaded, shapes_of

STATEFUL = [
    (model, case)
    for model, cases in CASES.items()
    for case, made in cases.items()
    if any("feedback" in spec for spec in made["inputs"].values() if isinstance(spec, dict))
]


@pytest.mark.parametrize(("model", "case"), STATEFUL, ids=map("-".join, STATEFUL))
def test_state_kept_on_the_device_is_that_fed_by_hand(model: str, case: str, device: str) -> None:
    reference = load_reference(model, case)
    state, names = reference.feedback, list(reference.steps[0].outputs)
    capture = loaded(model, device).capture_graph
    shapes = shapes_of(reference.steps[0])
    with (
        capture(input_shapes=shapes, constant_inputs=reference.bound) as by_hand,
        capture(
            output_node_indices=names,
            input_shapes=shapes,
            constant_inputs=reference.bound,
            state=state,
        ) as graph,
    ):
        assert not set(graph.input_names) & set(state)
        fed = {name: reference.steps[0].inputs[name] for name in state}
        assert not any(array.any() for array in fed.values()), "the state begins with zeros"
        for step in reference.steps:
            data = {name: array for name, array in step.inputs.items() if name not in state}
            results = graph.run(data)
            assert_right(results, step, reference)
            other = dict(zip(by_hand.output_names, by_hand.run({**data, **fed}), strict=True))
            for name, result in zip(names, results, strict=True):
                np.testing.assert_array_equal(result, other[name], err_msg=name)
            fed = {name: other[output] for name, output in state.items()}
        graph.reset_state()
        first = {k: v for k, v in reference.steps[0].inputs.items() if k not in state}
        assert_right(graph.run(first), reference.steps[0], reference)
