"""Real models under about 2 GFLOP have no finding, and give the same in the check mode."""

from __future__ import annotations

import pytest

import cugraphmodel
from tests.models.files import model_path
from tests.models.references import load_reference
from tests.models.test_models import assert_right

# The smallest case of each; the layers of larger models are checked through operator cases.
MODELS = {
    "mtcnn-pnet": "b2h37w53",
    "mtcnn-rnet": "b1",
    "mtcnn-onet": "b1",
    "oww-alexa": "noise",
    "oww-embed": "b1",
    "minilm-l3": "b1s7",
    "pplcnet-orient": "b1",
    "rand-shufflenet": "b1",
}


@pytest.mark.parametrize("model", MODELS)
def test_model_has_no_finding(model: str) -> None:
    reference = load_reference(model, MODELS[model])
    draw = reference.draws[0]
    shapes = {name: value.shape for name, value in draw.inputs.items()}
    loaded = cugraphmodel.load(model_path(model), device="cpu:check")
    with loaded.capture_graph(input_shapes=shapes) as graph:
        assert_right(graph.run(draw.inputs), draw, reference)


@pytest.mark.parametrize("model", ["mtcnn-onet", "minilm-l3", "pplcnet-orient"])
def test_unfused_kernels_have_no_finding(model: str) -> None:
    reference = load_reference(model, MODELS[model])
    draw = reference.draws[0]
    loaded = cugraphmodel.load(model_path(model), device="cpu:check")
    assert_right(loaded.forward(draw.inputs), draw, reference)
