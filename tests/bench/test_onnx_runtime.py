"""ONNX Runtime as a contender: right outputs, and no other provider than the one asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from cugraphmodel.bench import onnx_runtime
from cugraphmodel.bench.onnx_runtime import OrtBound, OrtGraph, OrtRun, open_session
from cugraphmodel.bench.task import Maker, Task
from cugraphmodel.ir import TensorType
from tests.api.builders import build, normal

X = normal(3, 2, 4)
FLOAT, INT64 = np.dtype(np.float32), np.dtype(np.int64)


@pytest.fixture
def task(tmp_path: Path) -> Task:
    """Twice x[2, 4], and the place of the greatest of each row; on a GPU."""
    model = build(
        "(float[N,4] x) => (float[N,4] y, int64[N,1] i)", "y = Add(x, x) i = ArgMax<axis=1>(x)"
    )
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    outputs = {"y": TensorType(FLOAT, (2, 4)), "i": TensorType(INT64, (2, 1))}
    return Task(str(path), "cuda:1", {"x": X.copy()}, outputs, "tf32")


def assert_right(outputs: list[np.ndarray], x: np.ndarray) -> None:
    np.testing.assert_array_equal(outputs[0], 2 * x)
    np.testing.assert_array_equal(outputs[1], x.argmax(axis=1)[:, None])


def test_on_the_cpu(task: Task) -> None:
    contender = OrtRun(task)
    assert_right(contender.run(), X)
    assert contender.kernels_ms() is None
    assert contender.facts["prepare_seconds"] > 0


@pytest.mark.parametrize("maker", [OrtBound, OrtGraph])
def test_bound_memory(task: Task, maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """With memory of the CPU in the place of that of a GPU: each run copies in and out."""
    asked: list[dict[str, str]] = []

    def on_the_cpu(model: str, provider: str, options: dict[str, str]) -> Any:
        assert provider == "CUDAExecutionProvider"
        asked.append(options)
        return open_session(model, "CPUExecutionProvider", {})

    class Value:
        @staticmethod
        def ortvalue_from_numpy(array: np.ndarray, device: str, number: int) -> Any:
            assert (device, number) == ("cuda", 1)
            return made.ortvalue_from_numpy(array.copy(), "cpu", 0)

        @staticmethod
        def ortvalue_from_shape_and_type(shape: Any, kind: Any, device: str, number: int) -> Any:
            assert (device, number) == ("cuda", 1)
            return made.ortvalue_from_shape_and_type(shape, kind, "cpu", 0)

    made = onnxruntime.OrtValue
    monkeypatch.setattr(onnxruntime, "OrtValue", Value)
    monkeypatch.setattr(onnx_runtime, "open_session", on_the_cpu)
    contender = maker(task)
    assert_right(contender.run(), X)
    task.inputs["x"][...] *= -1
    assert_right(contender.run(), -X)
    assert contender.kernels_ms() is None
    [options] = asked
    assert (options["device_id"], options["use_tf32"]) == ("1", "1")
    assert options["enable_cuda_graph"] == str(int(maker is OrtGraph))


def test_another_provider_is_an_error(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX Runtime takes the CPU and goes on where a GPU's libraries are missing."""
    session = onnxruntime.InferenceSession
    monkeypatch.setattr(
        onnxruntime,
        "InferenceSession",
        lambda model, settings, **_: session(model, settings, providers=["CPUExecutionProvider"]),
    )
    with pytest.raises(RuntimeError, match=r"onnxruntime [\d.]+ cannot use CUDAExecutionProvider"):
        open_session(task.model, "CUDAExecutionProvider", {})
