"""Input data and reference outputs of the test models, made by ONNX Runtime and kept beside them.

``python -m tests.models.references [MODEL ...]`` fetches and makes all of it, so that the folder
can be carried to a machine without network or ONNX Runtime.

``cases.json`` lists, per model, cases with the number of ``steps`` (calls of one case) and what
each input is made of (see :mod:`tests.models.generators`); a list gives each step its own kind of
data, in turn. An input is drawn anew at every step, unless it says

* ``feedback``: from the second step on it is the named output of the step before;
* ``append``: from the second step on it grows by the argmax of that output (greedy decoding);
* ``kept``: it stays what it was in the first step;
* ``bound``: it stays, and is given to ``capture_graph`` as a constant input.

``oracle_error`` names an output whose reference is known to be off: by how much, and why.

The reference is ONNX Runtime on the CPU with its graph optimizations off, which follows the
operator definitions most literally. Its products of uint8 by int8 saturate in 16 bits on processors
without VNNI, so int8 weights are given to it as uint8 with a zero point moved by 128: the same
numbers. ``noise`` is, per output, the largest absolute difference between the reference and (a) the
same model with every weight matrix and every float input scaled element by element by
``1 +- 1e-6``, and (b), unless the model is quantised, ONNX Runtime with all optimizations on. No
fair absolute tolerance is below it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tests.models.files import (
    HERE,
    file_md5,
    model_path,
    models_dir,
    one_at_a_time,
    replacing,
)
from tests.models.generators import Spec, draw

if TYPE_CHECKING:
    from pathlib import Path

    import onnx
    import onnxruntime

Array = npt.NDArray[Any]
Case = Mapping[str, Any]
SEED = 20240607
RELATIVE_JITTER = 1e-6
MIN_JITTERED = 64
"""Elements; smaller arrays are rather settings than data, and stay as they are."""
FORMAT = 3
"""Raised whenever the same case would give other references."""
INTEGER_WEIGHTS = {
    "MatMulInteger": ((1, 3),),
    "ConvInteger": ((1, 3),),
    "DynamicQuantizeLSTM": ((1, 9), (2, 11)),
}
"""Operator -> positions of its weights, each with that of their zero point."""
QUANTISED = {
    *INTEGER_WEIGHTS,
    "QuantizeLinear",
    "DequantizeLinear",
    "DynamicQuantizeLinear",
    "QLinearMatMul",
    "QLinearConv",
}

CASES: dict[str, dict[str, Case]] = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))
"""Model -> case -> what it is made of."""


@dataclass(frozen=True, eq=False)
class Step:
    """One set of inputs (by name, in the order of ``cases.json``) and the outputs it must give."""

    inputs: dict[str, Array]
    outputs: dict[str, Array]


@dataclass(frozen=True, eq=False)
class Reference:
    """What a case must give.

    Attributes:
        steps: data of calls that follow each other.
        bound: the inputs that ``capture_graph`` is to fix.
        feedback: input name -> name of the output that it is in the next step.
        noise: output name -> largest difference that rounding noise makes.
        mean_noise: output name -> largest mean of that difference, over the steps.
        oracle_error: output name -> how far the reference itself is off.
        labels: output name -> class labels of its columns, for a ZipMap.
    """

    steps: tuple[Step, ...]
    bound: dict[str, Array]
    feedback: dict[str, str]
    noise: dict[str, float]
    mean_noise: dict[str, float]
    oracle_error: dict[str, float]
    labels: dict[str, tuple[str | int, ...]]


def load_reference(model: str, case: str) -> Reference:
    """The data of one case, computed if it is not there or was made for something else."""
    made = CASES[model][case]
    names = list(made["inputs"])
    bound = [name for name in names if "bound" in _first_spec(made, name)]
    with np.load(reference_path(model, case)) as arrays:
        meta = json.loads(str(arrays["meta"]))
        steps = tuple(
            Step(
                {name: arrays[f"{k}.in.{name}"] for name in names if name not in bound},
                {name: arrays[f"{k}.out.{name}"] for name in meta["noise"]},
            )
            for k in range(made["steps"])
        )
        fixed = {name: arrays[f"0.in.{name}"] for name in bound}
    specs = {name: _first_spec(made, name) for name in names}
    return Reference(
        steps,
        fixed,
        {name: spec["feedback"] for name, spec in specs.items() if "feedback" in spec},
        meta["noise"],
        meta["mean_noise"],
        {name: error for name, (error, _) in made.get("oracle_error", {}).items()},
        {name: tuple(labels) for name, labels in meta["labels"].items()},
    )


def reference_path(model: str, case: str) -> Path:
    """The case's ``.npz``, made if needed."""
    path = models_dir() / f"{model}.{case}.npz"
    source = model_path(model)
    recipe = [FORMAT, SEED, _recipe(CASES[model][case]), file_md5(source)]
    fingerprint = hashlib.sha256(json.dumps(recipe).encode()).hexdigest()
    if _is_of(path, fingerprint):
        return path
    with one_at_a_time(f"{model}.{case}"):
        if not _is_of(path, fingerprint):
            arrays = _compute(source, f"{model}/{case}", CASES[model][case])
            with replacing(path) as part, part.open("wb") as sink:
                np.savez(sink, fingerprint=np.array(fingerprint), **arrays)
    return path


def _is_of(path: Path, fingerprint: str) -> bool:
    """Whether the file is there and was made by that recipe."""
    if not path.is_file():
        return False
    with np.load(path) as arrays:
        return str(arrays["fingerprint"]) == fingerprint


def _recipe(case: Case) -> Any:
    """What the data of a case hangs on."""
    return {key: value for key, value in case.items() if key != "oracle_error"}


def _specs_of(case: Case, name: str) -> Sequence[Spec]:
    """How an input is made, one entry a step, in turn."""
    found = case["inputs"][name]
    return found if isinstance(found, list) else [found]


def _first_spec(case: Case, name: str) -> Spec:
    return _specs_of(case, name)[0]


def _compute(source: Path, tag: str, case: Case) -> dict[str, Any]:
    reference, *others = _sessions(source)
    found = {value.name for value in reference.get_inputs()}
    if found != set(case["inputs"]):
        raise RuntimeError(
            f"{tag}: the model takes {sorted(found)}, cases.json {sorted(case['inputs'])}"
        )
    names = [value.name for value in reference.get_outputs()]
    noise, mean_noise = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    labels: dict[str, list[str | int]] = {}
    arrays: dict[str, Array] = {}
    feed: dict[str, Array] = {}
    right: dict[str, Array] = {}
    for k in range(case["steps"]):
        feed = {name: _input(case, name, k, tag, feed, right) for name in case["inputs"]}
        results = reference.run(None, feed)
        labels |= {
            name: sorted(value[0])
            for name, value in zip(names, results, strict=True)
            if isinstance(value, list)
        }
        right = {name: _array(value) for name, value in zip(names, results, strict=True)}
        for session, data in zip(others, (_jittered(feed), feed), strict=False):
            for name, near in zip(names, session.run(None, data), strict=True):
                gap = _gap(right[name], _array(near))
                noise[name] = max(noise[name], float(gap.max(initial=0)))
                mean_noise[name] = max(mean_noise[name], float(gap.mean()) if gap.size else 0.0)
        arrays |= {f"{k}.in.{name}": value for name, value in feed.items()}
        arrays |= {f"{k}.out.{name}": value for name, value in right.items()}
    meta = {"noise": noise, "mean_noise": mean_noise, "labels": labels}
    return arrays | {"meta": np.array(json.dumps(meta))}


def _input(
    case: Case, name: str, k: int, tag: str, last: Mapping[str, Array], outputs: Mapping[str, Array]
) -> Array:
    """An input of step k, given the inputs and outputs of the step before."""
    specs = _specs_of(case, name)
    spec = specs[k % len(specs)]
    if k and "feedback" in spec:
        return outputs[spec["feedback"]]
    if k and "append" in spec:
        scores = outputs[spec["append"]]  # [batch, length, token]
        token = scores[:, -1].argmax(-1).astype(last[name].dtype)
        return np.concatenate([last[name], token[:, None]], axis=1)
    if k and ("kept" in spec or "bound" in spec):
        return last[name]
    if spec["gen"] == "output_of":
        other = load_reference(spec["model"], spec["case"])
        return other.steps[k].outputs[spec["output"]]
    return draw(spec, f"{tag}/{name}/{k}", SEED)


def _array(value: Any) -> Array:
    """An output; a ZipMap's list of dicts as a matrix, its columns sorted by key."""
    if isinstance(value, list):
        return np.array([[row[key] for key in sorted(row)] for row in value], np.float32)
    return np.asarray(value)


def _sessions(source: Path) -> Sequence[onnxruntime.InferenceSession]:
    """Reference, jittered, and optimized unless the model is quantised."""
    import onnx
    import onnxruntime

    levels = onnxruntime.GraphOptimizationLevel

    def start(model: onnx.ModelProto, level: Any) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    model = onnx.load(str(source))
    _use_unsigned_weights(model)
    sessions = [start(model, levels.ORT_DISABLE_ALL)]
    if not QUANTISED & {node.op_type for graph in _graphs(model.graph) for node in graph.node}:
        sessions.append(start(model, levels.ORT_ENABLE_ALL))
    _jitter_weights(model)
    sessions.insert(1, start(model, levels.ORT_DISABLE_ALL))
    return sessions


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """A graph and all those inside it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)


def _use_unsigned_weights(model: onnx.ModelProto) -> None:
    """Give the weights of integer products as uint8 where they are int8."""
    from onnx import TensorProto

    held = {t.name: t for graph in _graphs(model.graph) for t in graph.initializer}
    for graph in _graphs(model.graph):
        for node in graph.node:
            for weight, zero in INTEGER_WEIGHTS.get(node.op_type, ()):
                tensor = held.get(node.input[weight])
                if tensor is not None and tensor.data_type == TensorProto.INT8:
                    node.input.extend([""] * (zero + 1 - len(node.input)))
                    _shift_weights(graph, node, tensor, held, weight, zero)


def _shift_weights(
    graph: onnx.GraphProto,
    node: onnx.NodeProto,
    tensor: onnx.TensorProto,
    held: Mapping[str, onnx.TensorProto],
    weight: int,
    zero: int,
) -> None:
    from onnx import numpy_helper

    point = np.zeros((), np.int8)
    if node.input[zero]:
        if node.input[zero] not in held:
            return  # computed in the run
        point = numpy_helper.to_array(held[node.input[zero]])
    for position, array in ((weight, numpy_helper.to_array(tensor)), (zero, point)):
        name = f"{node.output[0]}/unsigned/{position}"
        moved = (array.astype(np.int16) + 128).astype(np.uint8)
        graph.initializer.append(numpy_helper.from_array(moved, name))
        node.input[position] = name


def _jitter_weights(model: onnx.ModelProto) -> None:
    from onnx import TensorProto, numpy_helper

    rng = np.random.default_rng(1)
    for graph in _graphs(model.graph):
        tensors = list(graph.initializer)
        for node in graph.node:
            tensors += [attribute.t for attribute in node.attribute if attribute.name == "value"]
        for tensor in tensors:
            if tensor.data_type == TensorProto.FLOAT and len(tensor.dims) >= 2:
                value = _scaled(rng, numpy_helper.to_array(tensor))
                tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))


def _jittered(feed: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs with noise, but for whole numbers: a step there is no rounding error."""
    rng = np.random.default_rng(2)
    return {
        name: _scaled(rng, value)
        if value.dtype == np.float32 and (value != np.rint(value)).any()
        else value
        for name, value in feed.items()
    }


def _scaled(rng: np.random.Generator, value: Array) -> Array:
    if value.size < MIN_JITTERED:
        return value
    factor = 1 + RELATIVE_JITTER * rng.uniform(-1, 1, value.shape)
    return (value * factor).astype(np.float32)


def _gap(left: Array, right: Array) -> Array:
    gap: Array = np.abs(left.astype(np.float64) - right.astype(np.float64))
    return gap


def main(models: Sequence[str]) -> None:
    """Fetch the named models, or all, and make their references."""
    for model in models or CASES:
        for case in CASES[model]:
            path = reference_path(model, case)
            print(f"{path.name}  {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
