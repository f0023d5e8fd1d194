"""``cugraphmodel run``: run a model once on arrays from files, or on random ones."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraphmodel.cli.arrays import (
    UnnamedInputError,
    fill_inputs,
    read_inputs,
    write_outputs,
)
from cugraphmodel.cli.escape import escaped
from cugraphmodel.cli.progress import progress_bar
from cugraphmodel.cli.report import graph_facts, graph_text
from cugraphmodel.model import LoadedModel, load

__all__ = ["execute"]

Array = npt.NDArray[Any]


def execute(options: argparse.Namespace) -> None:
    """Load, capture, run, report, and write the outputs if asked to."""
    model = load(options.model, device=options.device)
    arrays = _given_arrays(model, options)
    shapes = {name: array.shape for name, array in arrays.items()}
    with progress_bar() as progress:
        graph = model.capture_graph(
            options.batch,
            options.output_nodes,
            dims=dict(options.dims),
            input_shapes={**shapes, **dict(options.shapes)},
            bounded_outputs=options.bounded_outputs,
            progress=progress,
        )
    with graph:
        outputs, elapsed_ms = graph.run_timed(
            fill_inputs(graph.plan.inputs, arrays, options.random)
        )
        by_name = dict(zip(graph.output_names, outputs, strict=True))
        facts = {
            "model": options.model,
            "inputs": _tensors(graph.input_names, graph.input_dtypes, graph.input_shapes),
            "outputs": [
                {**tensor, **_range(by_name[tensor["name"]])}
                for tensor in _tensors(graph.output_names, graph.output_dtypes, graph.output_shapes)
            ],
            "kernels_ms": elapsed_ms,
            **graph_facts(graph),
        }
    if options.output is not None:
        write_outputs(Path(options.output), by_name)
    print(json.dumps(facts) if options.json else _text(facts))


def _given_arrays(model: LoadedModel, options: argparse.Namespace) -> dict[str, Array]:
    names = [info.name for info in model.inputs]
    arrays = read_inputs(options.inputs, names)
    missing = [name for name in names if name not in arrays]
    if missing and options.random is None:
        raise UnnamedInputError(
            f"no array for {missing}; pass --input NAME=FILE.npy, or --random SEED to make some up."
        )
    return arrays


def _tensors(
    names: tuple[str, ...], dtypes: tuple[np.dtype, ...], shapes: tuple[tuple[int, ...], ...]
) -> list[dict[str, Any]]:
    return [
        {"name": name, "dtype": dtype.name, "shape": list(shape)}
        for name, dtype, shape in zip(names, dtypes, shapes, strict=True)
    ]


def _range(array: Array) -> dict[str, Any]:
    """Least and greatest element. JSON has no number for NaN and infinities: they are text."""
    if not array.size:
        return {"min": None, "max": None}
    ends = {"min": array.min().item(), "max": array.max().item()}
    return {name: end if np.isfinite(end) else str(end) for name, end in ends.items()}


def _text(facts: dict[str, Any]) -> str:
    lines = [graph_text(facts), f"kernels   {facts['kernels_ms']:.4g} ms"]
    for kind in ("input", "output"):
        for tensor in facts[f"{kind}s"]:
            sizes = ",".join(map(str, tensor["shape"]))
            line = f"{kind:9} {tensor['name']}: {tensor['dtype']}[{sizes}]"
            if "min" in tensor:
                line += f" from {tensor['min']} to {tensor['max']}"
            lines.append(escaped(line))
    return "\n".join(lines)
