"""Input data and reference outputs of the test models, made by ONNX Runtime and kept beside them.

``python -m tests.models.references [MODEL ...]`` fetches and makes all of it, so that the folder
can be carried to a machine without network or ONNX Runtime.

The reference is ONNX Runtime on the CPU with its graph optimizations off, which follows the
operator definitions most literally. ``noise`` is, per output, the largest absolute difference
between the reference and (a) the same model with every weight matrix and every float input scaled
element by element by ``1 +- 1e-6``, and (b) ONNX Runtime with all optimizations on. No fair
absolute tolerance is below it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tests.models.files import HERE, file_md5, model_path, models_dir, replacing
from tests.models.generators import Spec, draw

if TYPE_CHECKING:
    import onnx
    import onnxruntime

Array = npt.NDArray[Any]
SEED = 20240607
NUM_DRAWS = 2
RELATIVE_JITTER = 1e-6
FORMAT = 1
"""Raised whenever the same case would give other references."""

CASES: dict[str, dict[str, dict[str, Spec]]] = json.loads(
    (HERE / "cases.json").read_text(encoding="utf-8")
)
"""Model -> case -> input name -> how its data is made."""


@dataclass(frozen=True, eq=False)
class Draw:
    """One set of inputs (by name, in the file's order) and the outputs it must give."""

    inputs: dict[str, Array]
    outputs: dict[str, Array]


@dataclass(frozen=True, eq=False)
class Reference:
    """What a case must give.

    Attributes:
        draws: different data of the same shapes.
        noise: output name -> largest difference that rounding noise makes.
    """

    draws: tuple[Draw, ...]
    noise: dict[str, float]


def load_reference(model: str, case: str) -> Reference:
    """The data of one case, computed if it is not there or was made for something else."""
    with np.load(reference_path(model, case)) as arrays:
        noise: dict[str, float] = json.loads(str(arrays["noise"]))
        draws = tuple(
            Draw(
                {name: arrays[f"{k}.in.{name}"] for name in CASES[model][case]},
                {name: arrays[f"{k}.out.{name}"] for name in noise},
            )
            for k in range(NUM_DRAWS)
        )
    return Reference(draws, noise)


def reference_path(model: str, case: str) -> Path:
    """The case's ``.npz``, made if needed."""
    path = models_dir() / f"{model}.{case}.npz"
    source = model_path(model)
    recipe = [FORMAT, SEED, NUM_DRAWS, CASES[model][case], file_md5(source)]
    fingerprint = hashlib.sha256(json.dumps(recipe).encode()).hexdigest()
    if path.is_file():
        with np.load(path) as arrays:
            if str(arrays["fingerprint"]) == fingerprint:
                return path
    arrays = _compute(source, f"{model}/{case}", CASES[model][case])
    with replacing(path) as part, part.open("wb") as sink:
        np.savez(sink, fingerprint=np.array(fingerprint), **arrays)
    return path


def _compute(source: Path, tag: str, specs: Mapping[str, Spec]) -> dict[str, Any]:
    reference, *others = _sessions(source)
    found = {value.name for value in reference.get_inputs()}
    if found != set(specs):
        raise RuntimeError(f"{tag}: the model takes {sorted(found)}, cases.json {sorted(specs)}")
    names = [value.name for value in reference.get_outputs()]
    noise = dict.fromkeys(names, 0.0)
    arrays: dict[str, Array] = {}
    for k in range(NUM_DRAWS):
        feed = {name: draw(spec, f"{tag}/{name}/{k}", SEED) for name, spec in specs.items()}
        right = reference.run(None, feed)
        for session, data in zip(others, (feed, _jittered(feed)), strict=True):
            for name, value, near in zip(names, right, session.run(None, data), strict=True):
                noise[name] = max(noise[name], _largest_gap(value, near))
        arrays |= {f"{k}.in.{name}": value for name, value in feed.items()}
        arrays |= {f"{k}.out.{name}": value for name, value in zip(names, right, strict=True)}
    return arrays | {"noise": np.array(json.dumps(noise))}


def _sessions(source: Path) -> Sequence[onnxruntime.InferenceSession]:
    """Reference, optimized, jittered."""
    import onnx
    import onnxruntime

    levels = onnxruntime.GraphOptimizationLevel

    def start(data: bytes, level: Any) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])

    data = source.read_bytes()
    jittered = onnx.load_from_string(data)
    _jitter_weights(jittered)
    return (
        start(data, levels.ORT_DISABLE_ALL),
        start(data, levels.ORT_ENABLE_ALL),
        start(jittered.SerializeToString(), levels.ORT_DISABLE_ALL),
    )


def _jitter_weights(model: onnx.ModelProto) -> None:
    from onnx import TensorProto, numpy_helper

    rng = np.random.default_rng(1)
    tensors = list(model.graph.initializer)
    for node in model.graph.node:
        tensors += [attribute.t for attribute in node.attribute if attribute.name == "value"]
    for tensor in tensors:
        if tensor.data_type == TensorProto.FLOAT and len(tensor.dims) >= 2:
            value = _scaled(rng, numpy_helper.to_array(tensor))
            tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))


def _jittered(feed: Mapping[str, Array]) -> dict[str, Array]:
    rng = np.random.default_rng(2)
    return {
        name: _scaled(rng, value) if value.dtype == np.float32 else value
        for name, value in feed.items()
    }


def _scaled(rng: np.random.Generator, value: Array) -> Array:
    factor = 1 + RELATIVE_JITTER * rng.uniform(-1, 1, value.shape)
    return (value * factor).astype(np.float32)


def _largest_gap(left: Array, right: Array) -> float:
    return float(np.max(np.abs(left.astype(np.float64) - right.astype(np.float64)), initial=0.0))


def main(models: Sequence[str]) -> None:
    """Fetch the named models, or all, and make their references."""
    for model in models or CASES:
        for case in CASES[model]:
            path = reference_path(model, case)
            print(f"{path.name}  {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
