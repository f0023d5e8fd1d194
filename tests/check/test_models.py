"""Real models under about 2 GFLOP have no finding, and give the same in the check mode."""

from __future__ import annotations

import pytest

import cugraphmodel
from tests.models.files import model_path
from tests.models.references import load_reference
from tests.models.test_models import assert_right, captured

# The smallest case of each; the layers of larger models are checked through operator cases.
MODELS = {
    "mtcnn-pnet": "b2h37w53",
    "mtcnn-rnet": "b1",
    "mtcnn-onet": "b1",
    "oww-alexa": "noise",
    "oww-embed": "b1",
    "oww-jarvis": "turns",
    "oww-melspec": "n1760",
    "oww-mycroft": "b1",
    "silero-vad": "8k",
    "silero-vad-ifless": "8kb2",
    "silero-vad-seq": "s1",
    "frspell-derive": "b3",
    "frspell-lemma": "b3",
    "ppocr2-cls": "b1",
    "ppocr6-det": "b2",
    "ppocr6-rec": "w101",
    "captcha-crnn": "b1",
    "style-multi26": "h61w75",
    "style-predict": "one",
    "surf-gbr": "b1",
    "surf-valid": "b64",
    "logreg-iris": "b3",
    "minilm-l3": "b1s7",
    "pplcnet-orient": "b1",
    "rand-shufflenet": "b1",
}


@pytest.mark.parametrize("model", MODELS)
def test_model_has_no_finding(model: str) -> None:
    reference = load_reference(model, MODELS[model])
    step = reference.steps[0]
    loaded = cugraphmodel.load(model_path(model), device="cpu:check")
    with captured(loaded, reference, step) as graph:
        assert_right(graph.run(step.inputs), step, reference)


@pytest.mark.parametrize("model", ["mtcnn-onet", "minilm-l3", "pplcnet-orient"])
def test_unfused_kernels_have_no_finding(model: str) -> None:
    reference = load_reference(model, MODELS[model])
    step = reference.steps[0]
    loaded = cugraphmodel.load(model_path(model), device="cpu:check")
    assert_right(loaded.forward(step.inputs), step, reference)
