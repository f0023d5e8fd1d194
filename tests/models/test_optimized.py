"""Models as ONNX Runtime's optimizers leave them, with its own operators, give what they gave."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import cugraphmodel
from tests.models.files import model_path
from tests.models.references import CASES, load_reference
from tests.models.test_models import assert_right, captured

EXTENDED = {
    "captcha-crnn": {"FusedConv"},
    "frspell-lemma": {"DynamicQuantizeMatMul", "MatMulIntegerToFloat"},
    "minilm-l3": {"BiasGelu", "FusedMatMul"},
    "oww-alexa": {"FusedGemm"},
    "oww-embed": {"FusedConv"},
    "oww-jarvis": {"FusedGemm"},
    "oww-mycroft": {"FusedGemm"},
    "pplcnet-orient": {"FusedConv"},
    "ppocr2-cls": {"FusedConv"},
    "ppocr6-det": {"FusedConv", "Gelu"},
    "ppocr6-rec": {"FusedConv", "FusedMatMul", "Gelu", "QuickGelu", "SkipLayerNormalization"},
    "silero-vad-seq": {"FusedConv"},
    "style-transform": {"QLinearAdd", "QLinearGlobalAveragePool", "QLinearMul"},
}
"""Model -> operators of ``com.microsoft`` that the optimized file holds."""


def own_operators(path: Path) -> set[str]:
    return {node.op_type for node in onnx.load(path).graph.node if node.domain == "com.microsoft"}


def run_first_case(model: str, path: Path, device: str) -> None:
    reference = load_reference(model, next(iter(CASES[model])))
    loaded = cugraphmodel.load(path, device=device)
    step = reference.steps[0]
    with captured(loaded, reference, step) as graph:
        assert_right(graph.run(step.inputs), step, reference)


@pytest.mark.parametrize("model", EXTENDED)
def test_a_model_that_onnxruntime_optimized(model: str, tmp_path: Path, device: str) -> None:
    import onnxruntime

    path = tmp_path / "optimized.onnx"
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(model_path(model), options, providers=["CPUExecutionProvider"])
    assert own_operators(path) >= EXTENDED[model]
    run_first_case(model, path, device)


def test_a_transformer_that_onnxruntime_fused(tmp_path: Path, device: str) -> None:
    from onnxruntime.transformers import optimizer

    path = tmp_path / "fused.onnx"
    fused = optimizer.optimize_model(
        str(model_path("minilm-l3")), "bert", num_heads=12, hidden_size=384, opt_level=0
    )
    fused.save_model_to_file(str(path))
    wanted = {"Attention", "BiasGelu", "EmbedLayerNormalization", "SkipLayerNormalization"}
    assert own_operators(path) >= wanted
    run_first_case("minilm-l3", path, device)
